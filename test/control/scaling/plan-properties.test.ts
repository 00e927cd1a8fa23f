import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planScaling, type ScalingInput, type ScalingPlan } from '../../../src/control/scaling/plan-scaling.ts';
import { loadOf, type ScaledSegment } from '../../../src/control/scaling/segment-load.ts';
import { segmentId } from '../../../src/model/ids.ts';
import { PARTITIONS, SEGMENTS_OPEN_MAX } from '../../../src/model/limits.ts';
import type { Range } from '../../../src/model/topic.ts';
import { tiles } from '../../topology/tiles.ts';
import { applied, bucketsOfDensity, SETTINGS, viewOf } from './scaled-topic.ts';

const bucketArray = fc.array(fc.oneof(fc.constant(0), fc.nat({ max: 1_000 })), { minLength: 16, maxLength: 16 });
const rate = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1_500, noNaN: true }), fc.double({ min: 0, max: 100_000, noNaN: true }));
const age = fc.oneof(fc.nat({ max: 30_000 }), fc.nat({ max: 2_000_000 }));
/** What may well merge. */
const quiet = fc.nat({ max: 200 }).map((messages) => viewOf(messages));
const anyView = fc
  .record({
    windows: fc.oneof(
      fc.tuple(rate, rate, rate),
      rate.map((one) => [one, one, one] as const),
    ),
    ageMs: age,
    observedMs: age,
    sampleAgeMs: fc.oneof(fc.constant(0), fc.nat({ max: 400_000 })),
    buckets: fc.tuple(bucketArray, bucketArray, bucketArray, bucketArray),
  })
  .map((changes) => viewOf(0, changes));

const view = fc.oneof(quiet, anyView);

/** Any list that tiles, down to single partitions. */
const segments = fc
  .record({
    borders: fc.uniqueArray(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: PARTITIONS - 1 })), { maxLength: 60 }),
    some: fc.array(
      fc.record({
        view: fc.option(view, { nil: undefined, freq: 12 }),
        cameBy: fc.constantFrom('split', 'merge', 'other'),
        throttled: fc.boolean(),
        busy: fc.integer({ min: 0, max: 8 }).map((n) => n === 0),
      }),
      { minLength: 61, maxLength: 61 },
    ),
  })
  .map(({ borders, some }): ScaledSegment[] => {
    const starts = [0, ...borders.toSorted((a, b) => a - b)];
    return starts.map((lo, n) => ({ segment: segmentId(n), lo, hi: (starts[n + 1] ?? PARTITIONS) - 1, ...(some[n] as (typeof some)[0]) }));
  });

const input: fc.Arbitrary<ScalingInput> = fc
  .record({
    segments,
    minSegments: fc.integer({ min: 1, max: 70 }),
    maxSegments: fc.integer({ min: 1, max: 120 }),
    scheduledMin: fc.nat({ max: 80 }),
    keptMin: fc.nat({ max: 80 }),
    state: fc.oneof(
      fc.constant({}),
      fc.record({ throttling: fc.record({ load: fc.double({ min: 0.1, max: 5, noNaN: true }), atMs: fc.nat({ max: 10_000_000 }) }) }),
    ),
  })
  .map(({ minSegments, maxSegments, ...others }) => ({
    settings: { ...SETTINGS, minSegments, maxSegments },
    nowMs: 10_000_000,
    ...others,
  }));

const splitsOf = ({ changes }: ScalingPlan) => changes.flatMap((change) => (change.kind === 'split' ? [change] : []));
const mergesOf = ({ changes }: ScalingPlan) => changes.flatMap((change) => (change.kind === 'merge' ? [change] : []));

test('after any plan the ranges tile, each segment was in one change at most, and split points were inside', () => {
  fc.assert(
    fc.property(input, (given) => {
      // `applied` throws where a segment is in two changes, or where no neighbours merge.
      expect(tiles(applied(given.segments, planScaling(given), () => undefined))).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('splits alone never lead beyond the maximum, merges alone never below the minimum', () => {
  fc.assert(
    fc.property(input, (given) => {
      const plan = planScaling(given);
      const count = given.segments.length;
      const ceiling = Math.min(given.settings.maxSegments, SEGMENTS_OPEN_MAX);
      const floor = Math.min(ceiling, Math.max(given.settings.minSegments, given.scheduledMin));
      expect(count + splitsOf(plan).length).toBeLessThanOrEqual(Math.max(count, ceiling));
      expect(count - mergesOf(plan).length).toBeGreaterThanOrEqual(Math.min(count, Math.max(floor, given.keptMin)));
      expect(mergesOf(plan).length * 2).toBeLessThanOrEqual(Math.max(2, count / 3));
    }),
    { numRuns: 500 },
  );
});

test('what merges carries little in every window, is known and rested; what is busy is not touched', () => {
  fc.assert(
    fc.property(input, (given) => {
      const byId = new Map(given.segments.map((segment) => [segment.segment, segment]));
      const plan = planScaling(given);
      for (const { segments: pair } of mergesOf(plan)) {
        const [lower, upper] = pair.map((id) => byId.get(id)) as [ScaledSegment, ScaledSegment];
        for (const [window, rates] of (lower.view?.rates ?? []).entries()) {
          const other = upper.view?.rates[window];
          expect(loadOf(rates, SETTINGS) + loadOf(other ?? rates, SETTINGS)).toBeLessThanOrEqual(0.6 + 1e-9);
        }
        for (const { view: known, busy, cameBy } of [lower, upper]) {
          expect(busy).toBe(false);
          expect(known?.ageMs).toBeGreaterThanOrEqual(cameBy === 'merge' ? 60_000 : 600_000);
        }
      }
      for (const { segment } of splitsOf(plan)) expect(byId.get(segment)?.busy).toBe(false);
    }),
    { numRuns: 500 },
  );
});

test('the same input, the same plan; and the input is left as it was', () => {
  fc.assert(
    fc.property(input, (given) => {
      const before = structuredClone(given);
      expect(planScaling(given)).toEqual(planScaling(structuredClone(given)));
      expect(given).toEqual(before);
    }),
  );
});

/** A load that stays: a few hot partitions over a floor of even ones. `total`: of all messages a second. */
const steady = fc
  .record({
    total: fc.oneof(
      fc.double({ min: 0, max: 1_000, noNaN: true }),
      fc.double({ min: 0, max: 60_000, noNaN: true }),
      fc.constantFrom(600, 999, 1_000, 1_001, 2_000, 4_000),
    ),
    hot: fc.array(fc.tuple(fc.nat({ max: PARTITIONS - 1 }), fc.double({ min: 0, max: 1, noNaN: true })), { maxLength: 8 }),
    evenShare: fc.double({ min: 0.01, max: 1, noNaN: true }),
  })
  .map(({ total, hot, evenShare }) => {
    const hotTotal = hot.reduce((sum, [, weight]) => sum + weight, 0);
    const even = hotTotal === 0 ? 1 : evenShare;
    return ({ lo, hi }: Range): number => {
      const single = hot.reduce((sum, [partition, weight]) => (partition >= lo && partition <= hi ? sum + weight : sum), 0);
      return total * ((even * (hi - lo + 1)) / PARTITIONS + (hotTotal === 0 ? 0 : ((1 - even) * single) / hotTotal));
    };
  });
type Density = (range: Range) => number;

/** Each segment as old as it needs to be, so that only the load decides. */
function seen(density: Density, range: Range) {
  const buckets = bucketsOfDensity(range, density);
  return viewOf(density(range), { buckets: [buckets, buckets, buckets, buckets] });
}

function settle(density: Density, from: ScaledSegment[], ticksMax: number): { readonly segments: ScaledSegment[]; readonly ticks: number } {
  let current = from;
  for (let ticks = 0; ticks < ticksMax; ticks += 1) {
    const plan = planScaling({ settings: SETTINGS, scheduledMin: 0, keptMin: 0, segments: current, state: {}, nowMs: 0 });
    if (plan.changes.length === 0) return { segments: current, ticks };
    current = applied(current, plan, (range) => seen(density, range));
  }
  return { segments: current, ticks: ticksMax };
}

test('a steady load comes to rest, from any list of segments, and then nobody that could be relieved is over the target', () => {
  fc.assert(
    fc.property(steady, segments, (density, given) => {
      const begun = given.map((segment) => ({ ...segment, view: seen(density, segment), throttled: false, busy: false }));
      const { segments: rested, ticks } = settle(density, begun, 120);
      expect(ticks).toBeLessThan(120);
      for (const { lo, hi } of rested) {
        const partitions = hi - lo < 200 ? Array.from({ length: hi - lo + 1 }, (_, n) => density({ lo: lo + n, hi: lo + n })) : [0];
        const hottest = Math.max(...partitions);
        if (density({ lo, hi }) > 1_000) expect(hottest).toBeGreaterThan(density({ lo, hi }) / 2);
      }
      for (const [n, upper] of rested.slice(1).entries()) {
        const lower = rested[n] as ScaledSegment;
        expect(density({ lo: lower.lo, hi: upper.hi })).toBeGreaterThan(300 - 1e-6);
      }
    }),
    { numRuns: 300 },
  );
});

test('an idle topic shrinks to its minimum, however it looked', () => {
  fc.assert(
    fc.property(segments, fc.integer({ min: 1, max: 10 }), fc.boolean(), (given, minSegments, throttled) => {
      const silent = (): ScaledSegment['view'] => viewOf(0);
      let current = given.map((segment) => ({ ...segment, view: silent(), throttled, busy: false }));
      const settings = { ...SETTINGS, minSegments };
      for (let tick = 0; tick < 60 && current.length !== minSegments; tick += 1) {
        current = applied(current, planScaling({ settings, scheduledMin: 0, keptMin: 0, segments: current, state: {}, nowMs: 0 }), silent);
      }
      expect(current).toHaveLength(minSegments);
    }),
  );
});
