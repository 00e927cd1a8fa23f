import type { LoadView } from '../../../src/control/scaling/load-windows.ts';
import type { ScalingPlan } from '../../../src/control/scaling/plan-scaling.ts';
import type { ScaledSegment } from '../../../src/control/scaling/segment-load.ts';
import { bucketStart } from '../../../src/control/scaling/split-point.ts';
import { segmentId, segmentNumber } from '../../../src/model/ids.ts';
import { LOAD_BUCKETS } from '../../../src/model/limits.ts';
import { LOAD_WINDOWS_MS } from '../../../src/model/scaling-limits.ts';
import type { Rates, ScalingSettings } from '../../../src/model/scaling.ts';
import type { Range } from '../../../src/model/topic.ts';

/** Targets of 1,000 messages; nothing else binds. */
export const SETTINGS: ScalingSettings = {
  minSegments: 1,
  maxSegments: 1_024,
  targetMessagesPerSecond: 1_000,
  targetBytesPerSecond: 1e9,
  targetCommitsPerSecond: 1e6,
  schedule: [],
};

const DAY_MS = 86_400_000;
export const EVEN: readonly number[] = Array.from({ length: LOAD_BUCKETS }, () => 1);

export const ratesOf = (messages: number): Rates => ({ messages, bytes: messages * 100, commits: 0 });

/** A segment with so many messages a second in every window, for a day; `windows` says them one by one. */
export function viewOf(messages: number, changes: Partial<LoadView> & { readonly windows?: readonly number[] } = {}): LoadView {
  const { windows = LOAD_WINDOWS_MS.map(() => messages), ...others } = changes;
  return {
    ageMs: DAY_MS,
    observedMs: DAY_MS,
    sampleAgeMs: 0,
    latest: ratesOf(windows[0] ?? 0),
    latestMs: 5_000,
    rates: windows.map(ratesOf),
    buckets: [...LOAD_WINDOWS_MS, 'ever'].map(() => EVEN),
    ...others,
  };
}

/** Neighbours that tile all partitions, equally wide. */
export function segmentsOf(views: readonly (LoadView | undefined)[]): ScaledSegment[] {
  const starts = views.map((_, n) => Math.ceil((n * 65_536) / views.length));
  return views.map((view, n) => ({
    segment: segmentId(n),
    lo: starts[n] as number,
    hi: (starts[n + 1] ?? 65_536) - 1,
    view,
    cameBy: 'other',
    throttled: false,
    busy: false,
  }));
}

/** The topic after the plan: each child's view comes from `viewOfRange`. */
export function applied(
  segments: readonly ScaledSegment[],
  { changes }: ScalingPlan,
  viewOfRange: (range: Range, cameBy: ScaledSegment['cameBy']) => LoadView | undefined,
): ScaledSegment[] {
  let next = Math.max(...segments.map(({ segment }) => segmentNumber(segment))) + 1;
  const child = (range: Range, cameBy: 'split' | 'merge'): ScaledSegment => ({
    segment: segmentId(next++),
    ...range,
    view: viewOfRange(range, cameBy),
    cameBy,
    throttled: false,
    busy: false,
  });
  const byId = new Map(segments.map((segment) => [segment.segment, segment]));
  const take = (id: ScaledSegment['segment']): ScaledSegment => {
    const segment = byId.get(id);
    if (segment === undefined) throw new Error(`${id} is in two changes, or in no topic`);
    byId.delete(id);
    return segment;
  };
  const children = changes.flatMap((change) => {
    if (change.kind === 'split') {
      const { lo, hi } = take(change.segment);
      return [child({ lo, hi: change.at - 1 }, 'split'), child({ lo: change.at, hi }, 'split')];
    }
    const [lower, upper] = change.segments.map(take) as [ScaledSegment, ScaledSegment];
    if (upper.lo !== lower.hi + 1) throw new Error(`${lower.segment} and ${upper.segment} are no neighbours`);
    return [child({ lo: lower.lo, hi: upper.hi }, 'merge')];
  });
  return [...byId.values(), ...children].toSorted((a, b) => a.lo - b.lo);
}

/** What a histogram of this density over the partitions shows of a range. */
export function bucketsOfDensity(range: Range, sumOf: (range: Range) => number): number[] {
  return EVEN.map((_, bucket) => sumOf({ lo: bucketStart(range, bucket), hi: bucketStart(range, bucket + 1) - 1 }));
}
