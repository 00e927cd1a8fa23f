import fc from 'fast-check';
import type { LoadMemory, RememberedSegment } from '../../src/format/load-memory-item.ts';
import { LOAD_BUCKETS } from '../../src/model/limits.ts';
import { LOAD_WINDOWS_MS } from '../../src/model/scaling-limits.ts';
import type { HotKey } from '../../src/model/scaling.ts';
import { arbitrarySegment, arbitrarySegmentRange } from './arbitrary-head.ts';

/** A rate as 32 bits have it. */
const rate = fc.float({ min: 0, max: Math.fround(1e12), noNaN: true });
const rates = fc.record({ messages: rate, bytes: rate, commits: rate });
const timeMs = fc.double({ min: 0, max: 2 ** 43, noNaN: true });
const times = (value: fc.Arbitrary<number>, length: number) => fc.array(value, { minLength: length, maxLength: length });
const counter = fc.maxSafeNat();
const average = fc.record({ weight: fc.float({ min: 0, max: 1, noNaN: true }), rates, buckets: times(rate, LOAD_BUCKETS) });

const windows: fc.Arbitrary<Required<RememberedSegment>['windows']> = fc.record({
  bornMs: timeMs,
  sinceMs: timeMs,
  sample: fc.record({
    atMs: timeMs,
    load: fc.record({ messages: counter, bytes: counter, commits: counter, buckets: times(counter, LOAD_BUCKETS) }),
  }),
  latest: rates,
  averages: fc.array(average, { minLength: LOAD_WINDOWS_MS.length, maxLength: LOAD_WINDOWS_MS.length }),
});
const origin: fc.Arbitrary<Required<RememberedSegment>['origin']> = fc.oneof(
  fc.record({ cameBy: fc.constantFrom('split' as const, 'merge' as const, 'other' as const) }),
  fc.record({ cameBy: fc.constant('split' as const), parentCommits: rate }),
);
const segment: fc.Arbitrary<RememberedSegment> = fc.oneof(
  fc.record({ segment: arbitrarySegment, windows, origin }),
  fc.record({ segment: arbitrarySegment, windows }),
  fc.record({ segment: arbitrarySegment, origin }),
);
const load = fc.double({ min: 0, max: 1e9, noNaN: true });
const hotKey: fc.Arbitrary<HotKey> = fc
  .tuple(arbitrarySegmentRange, fc.record({ share: fc.double({ min: 0.5, max: 1, minExcluded: true, noNaN: true }), load }))
  .map(([range, rest]) => ({ ...range, ...rest }));

export const arbitraryLoadMemory: fc.Arbitrary<LoadMemory> = fc
  .record({
    version: fc.nat(),
    segments: fc.array(segment, { maxLength: 4 }),
    hotKeys: fc.array(hotKey, { maxLength: 2 }),
    throttling: fc.option(fc.record({ load, atMs: timeMs }), { nil: undefined }),
  })
  .map(({ throttling, ...rest }) => ({ ...rest, ...(throttling === undefined ? {} : { throttling }) }));
