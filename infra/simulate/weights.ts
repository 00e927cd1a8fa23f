import { PARTITIONS } from '../../src/model/limits.ts';
import type { Range } from '../../src/model/topic.ts';
import type { SeededRandom } from '../../test/simulation/seeded-random.ts';

/** How a load lies over the partitions; all of it is 1. */
export type Weights = {
  /** The share of a range. */
  of(range: Range): number;
  /** The share of the hottest single partition in a range. */
  hottest(range: Range): number;
};

/** Further partitions than that are never what makes a segment hot. */
const HOT_PARTITIONS = 256;

export function createWeights(perPartition: Float64Array): Weights {
  const below = new Float64Array(PARTITIONS + 1);
  for (let partition = 0; partition < PARTITIONS; partition += 1)
    below[partition + 1] = (below[partition] ?? 0) + (perPartition[partition] ?? 0);
  const total = below[PARTITIONS] ?? 1;
  const order = Array.from({ length: PARTITIONS }, (_, partition) => partition)
    .toSorted((a, b) => (perPartition[b] ?? 0) - (perPartition[a] ?? 0))
    .slice(0, HOT_PARTITIONS);
  return {
    of: ({ lo, hi }) => ((below[hi + 1] ?? 0) - (below[lo] ?? 0)) / total,
    hottest: ({ lo, hi }) => (perPartition[order.find((partition) => partition >= lo && partition <= hi) ?? -1] ?? 0) / total,
  };
}

/** Keys at random partitions, as a hash puts them; `weightOf` the `n`th, from 0. */
export function keyWeights(random: SeededRandom, count: number, weightOf: (n: number) => number): Float64Array {
  const weights = new Float64Array(PARTITIONS);
  for (let n = 0; n < count; n += 1) {
    const partition = random.integer(PARTITIONS);
    weights[partition] = (weights[partition] ?? 0) + weightOf(n);
  }
  return weights;
}

/** The sum of several, each with the share that it is to have. */
export function mixWeights(parts: readonly (readonly [Float64Array, number])[]): Float64Array {
  const mixed = new Float64Array(PARTITIONS);
  for (const [weights, share] of parts) {
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (const [partition, weight] of weights.entries()) mixed[partition] = (mixed[partition] ?? 0) + (weight / total) * share;
  }
  return mixed;
}
