import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bucketStart, cutOf, findDominant, weightedMedian } from '../../../src/control/scaling/split-point.ts';
import { LOAD_BUCKETS, PARTITIONS } from '../../../src/model/limits.ts';
import type { Range } from '../../../src/model/topic.ts';
import { loadBuckets } from '../../../src/publish/slice.ts';

const range = fc
  .tuple(fc.nat({ max: PARTITIONS - 1 }), fc.nat({ max: PARTITIONS - 1 }))
  .map(([a, b]) => ({ lo: Math.min(a, b), hi: Math.max(a, b) }));
const narrow = fc.tuple(fc.nat({ max: PARTITIONS - 200 }), fc.nat({ max: 40 })).map(([lo, width]) => ({ lo, hi: lo + width }));
const buckets = fc.array(fc.oneof(fc.constant(0), fc.nat({ max: 10_000 })), { minLength: LOAD_BUCKETS, maxLength: LOAD_BUCKETS });
const WHOLE: Range = { lo: 0, hi: PARTITIONS - 1 };

/** Only buckets that have a partition can have messages. */
const possible = (of: Range, counts: readonly number[]): number[] =>
  counts.map((count, bucket) => (bucketStart(of, bucket + 1) > bucketStart(of, bucket) ? count : 0));

test('buckets begin where commits begin to count for them', () => {
  fc.assert(
    fc.property(fc.oneof(range, narrow), fc.nat({ max: PARTITIONS }), (of, some) => {
      const partition = of.lo + (some % (of.hi - of.lo + 1));
      const bucket = loadBuckets([partition], of).indexOf(1);
      expect(partition).toBeGreaterThanOrEqual(bucketStart(of, bucket));
      expect(partition).toBeLessThan(bucketStart(of, bucket + 1));
    }),
  );
});

test('a split point lies inside its range, unless that is one partition', () => {
  fc.assert(
    fc.property(fc.oneof(range, narrow), buckets, fc.double({ min: 1, max: 100, noNaN: true }), (of, counts, load) => {
      for (const at of [weightedMedian(of, counts), weightedMedian(of, possible(of, counts)), cutOf(of, possible(of, counts), load)]) {
        if (at === undefined) continue;
        expect(Number.isInteger(at)).toBe(true);
        expect(at).toBeGreaterThan(of.lo);
        expect(at).toBeLessThanOrEqual(of.hi);
      }
      expect(weightedMedian(of, counts) === undefined).toBe(of.lo === of.hi);
    }),
  );
});

test('messages that lie evenly within their buckets are halved, to one partition', () => {
  fc.assert(
    fc.property(fc.oneof(range, narrow), buckets, (of, counts) => {
      const some = possible(of, counts);
      const total = some.reduce((sum, count) => sum + count, 0);
      const at = weightedMedian(of, some);
      if (at === undefined || total === 0) return;
      const widths = some.map((_, bucket) => bucketStart(of, bucket + 1) - bucketStart(of, bucket));
      const below = some.reduce((sum, count, bucket) => {
        const inside = Math.min(widths[bucket] as number, Math.max(0, at - bucketStart(of, bucket)));
        return sum + (inside === 0 ? 0 : (count * inside) / (widths[bucket] as number));
      }, 0);
      const onePartition = Math.max(...some.map((count, bucket) => (count === 0 ? 0 : count / (widths[bucket] as number))));
      expect(Math.abs(below - total / 2)).toBeLessThanOrEqual(onePartition + 1e-6 * total);
    }),
  );
});

test('known cases: even, skewed, nothing at all', () => {
  const even = Array.from({ length: LOAD_BUCKETS }, () => 5);
  expect(weightedMedian(WHOLE, even)).toBe(32_768);
  expect(weightedMedian(WHOLE, [])).toBe(32_768);
  // Two in bucket 0, one each in 1 and 2: the end of the first.
  expect(weightedMedian(WHOLE, [2, 1, 1, ...even.slice(3).map(() => 0)])).toBe(4_096);
  // A fifth, then three fifths: half of it lies in the middle of the second.
  expect(weightedMedian(WHOLE, [1, 3, 1, ...even.slice(3).map(() => 0)])).toBe(6_144);
  expect(weightedMedian({ lo: 7, hi: 8 }, [])).toBe(8);
});

test('a bucket with more than half is found with its partitions; with exactly half it is not', () => {
  const quiet = Array.from({ length: LOAD_BUCKETS }, () => 0);
  expect(findDominant(WHOLE, quiet.with(2, 6).with(5, 4))).toEqual({ lo: 8_192, hi: 12_287, share: 0.6 });
  expect(findDominant(WHOLE, quiet.with(2, 5).with(5, 5))).toBeUndefined();
  expect(findDominant(WHOLE, quiet)).toBeUndefined();
  expect(findDominant({ lo: 30, hi: 45 }, quiet.with(15, 6).with(5, 4))).toEqual({ lo: 45, hi: 45, share: 0.6 });
});

test('what a bucket without partitions says is not believed', () => {
  const nowhere = Array.from({ length: LOAD_BUCKETS }, () => 0).with(15, 9);
  expect(findDominant({ lo: 0, hi: 1 }, nowhere)).toBeUndefined();
  expect(cutOf({ lo: 0, hi: 1 }, nowhere, 5)).toBe(1);
});

test('one hot partition is cut out of any range, until its neighbours are not worth it', () => {
  const load = 6;
  fc.assert(
    fc.property(fc.nat({ max: PARTITIONS - 1 }), (hot) => {
      let of = WHOLE;
      let cuts = 0;
      for (let at = cutOf(of, hotBuckets(of, hot), load); at !== undefined; at = cutOf(of, hotBuckets(of, hot), load)) {
        of = hot < at ? { lo: of.lo, hi: at - 1 } : { lo: at, hi: of.hi };
        cuts += 1;
      }
      // Two cuts for each sixteenth.
      expect(cuts).toBeLessThanOrEqual(8);
      expect(findDominant(of, hotBuckets(of, hot))).toMatchObject({ lo: hot, hi: hot });
    }),
  );
});

/** One partition with everything but a tenth, which lies evenly over all partitions there are. */
function hotBuckets(of: Range, hot: number): number[] {
  const counts = Array.from(
    { length: LOAD_BUCKETS },
    (_, bucket) => (bucketStart(of, bucket + 1) - bucketStart(of, bucket)) / PARTITIONS / 10,
  );
  const [bucket] = loadBuckets([hot], of).flatMap((count, n) => (count === 1 ? [n] : []));
  return counts.map((count, n) => (n === bucket ? count + 0.9 : count));
}

test('beside a hot partition is cut what is an eighth of the load, or half a target', () => {
  const of = { lo: 100, hi: 115 };
  const quiet = Array.from({ length: LOAD_BUCKETS }, () => 0);
  expect(cutOf(of, quiet.with(4, 84).with(9, 16), 2)).toBe(105);
  expect(cutOf(of, quiet.with(4, 84).with(2, 16), 2)).toBe(104);
  expect(cutOf(of, quiet.with(4, 95).with(9, 5), 2)).toBeUndefined();
  expect(cutOf(of, quiet.with(4, 95).with(9, 5), 12)).toBe(105);
  expect(cutOf(of, quiet.with(4, 100), 100)).toBeUndefined();
});
