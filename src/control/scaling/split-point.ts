import { LOAD_BUCKETS } from '../../model/limits.ts';
import { HOT_NEIGHBOUR_LOAD_MIN, HOT_RELIEF_MIN } from '../../model/scaling-limits.ts';
import type { Range } from '../../model/topic.ts';

/** Partitions that carry more than half of a range's messages. */
export type Dominant = Range & { readonly share: number };

/** First partition of bucket `bucket`, by the rule by which commits count; of bucket 16, what comes behind the range. */
export function bucketStart({ lo, hi }: Range, bucket: number): number {
  return lo + Math.ceil((bucket * (hi - lo + 1)) / LOAD_BUCKETS);
}

/** The bucket with more than half, as a range of partitions; undefined: there is none. */
export function findDominant(range: Range, histogram: readonly number[]): Dominant | undefined {
  const buckets = possible(range, histogram);
  const total = sum(buckets);
  const bucket = buckets.findIndex((count) => count > total / 2);
  if (bucket === -1) return undefined;
  return { lo: bucketStart(range, bucket), hi: bucketStart(range, bucket + 1) - 1, share: (buckets[bucket] ?? 0) / total };
}

/**
 * Where a range is cut so that both parts carry the same: first partition of the upper part, above `lo`. Within a bucket the
 * messages are taken to lie evenly. Without any, the middle. Undefined: one partition can't be cut.
 */
export function weightedMedian(range: Range, histogram: readonly number[]): number | undefined {
  const { lo, hi } = range;
  const buckets = possible(range, histogram);
  if (lo >= hi) return undefined;
  const total = sum(buckets);
  if (total <= 0) return lo + Math.ceil((hi - lo) / 2);
  let below = 0;
  let bucket = 0;
  while (bucket < LOAD_BUCKETS - 1 && below + (buckets[bucket] ?? 0) < total / 2) below += buckets[bucket++] ?? 0;
  const start = bucketStart(range, bucket);
  const part = (total / 2 - below) / (buckets[bucket] ?? 1);
  const at = start + Math.round(part * (bucketStart(range, bucket + 1) - start));
  return Math.min(hi, Math.max(lo + 1, at));
}

/**
 * The cut of a range that is over its target by `load` times. Where one bucket carries more than half, and it is wider than a
 * partition, nobody knows yet whether that is one key or many: the cut goes beside the bucket, so that the next histogram
 * has a sixteenth of the width, until one partition is left. Beside that one only what is worth it is cut off.
 */
export function cutOf(range: Range, histogram: readonly number[], load: number): number | undefined {
  const buckets = possible(range, histogram);
  const dominant = findDominant(range, buckets);
  if (dominant === undefined) return weightedMedian(range, buckets);
  const beside = cutBeside(range, buckets, dominant);
  if (beside === undefined) return undefined;
  const isOnePartition = dominant.lo === dominant.hi;
  const isWorth = beside.share >= HOT_RELIEF_MIN || beside.share * load >= HOT_NEIGHBOUR_LOAD_MIN;
  return isOnePartition && !isWorth ? undefined : beside.at;
}

/** Below or above it: where more goes away; of the same, where more partitions do. */
function cutBeside(range: Range, buckets: readonly number[], { lo, hi }: Dominant): { at: number; share: number } | undefined {
  const total = sum(buckets);
  const sides = [
    { at: lo, width: lo - range.lo, share: sum(buckets.filter((_, bucket) => bucketStart(range, bucket) < lo)) / total },
    { at: hi + 1, width: range.hi - hi, share: sum(buckets.filter((_, bucket) => bucketStart(range, bucket) > hi)) / total },
  ];
  const [best] = sides.filter(({ width }) => width > 0).toSorted((a, b) => b.share - a.share || b.width - a.width);
  return best;
}

/** Of fewer partitions than buckets, some buckets have none: what an item says of these can't be. */
function possible(range: Range, histogram: readonly number[]): readonly number[] {
  return histogram.map((count, bucket) => (bucketStart(range, bucket + 1) > bucketStart(range, bucket) ? count : 0));
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
