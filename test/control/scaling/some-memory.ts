import type { LoadWindows } from '../../../src/control/scaling/load-windows.ts';
import type { TopicMemory } from '../../../src/control/scaling/scaling-memory.ts';
import { type SegmentId, segmentId } from '../../../src/model/ids.ts';
import { LOAD_BUCKETS } from '../../../src/model/limits.ts';
import { LOAD_WINDOWS_MS } from '../../../src/model/scaling-limits.ts';

/** Numbers that 32 bits hold as they are, so that what comes back is the same. */
function someWindows(atMs: number, messages: number): LoadWindows {
  const rates = { messages: messages / 8, bytes: messages, commits: 0.5 };
  const buckets = Array.from({ length: LOAD_BUCKETS }, (_, bucket) => bucket);
  return {
    bornMs: atMs - 60_000,
    sinceMs: atMs - 30_000,
    sample: { atMs, load: { messages, bytes: messages * 10, commits: 3, buckets } },
    latest: rates,
    averages: LOAD_WINDOWS_MS.map((_, window) => ({ weight: 1 / (window + 1) === 1 ? 1 : 0.25, rates, buckets })),
  };
}

/** Of segments `first` to `first + count - 1`, each with windows and an origin. */
export function someMemory(atMs: number, { first = 0, count }: { readonly first?: number; readonly count: number }): TopicMemory {
  const segments = Array.from({ length: count }, (_, n) => segmentId(first + n));
  return {
    windows: new Map(segments.map((segment, n): [SegmentId, LoadWindows] => [segment, someWindows(atMs, n + 1)])),
    origins: new Map(segments.map((segment, n) => [segment, n % 2 === 0 ? { cameBy: 'split', parentCommits: 2.5 } : { cameBy: 'merge' }])),
    state: { throttling: { load: 1.1, atMs } },
    hotKeys: segments.slice(0, 1).map((segment) => ({ segment, lo: 3, hi: 4, share: 0.51, load: 1.3 })),
  };
}
