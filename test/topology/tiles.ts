import { PARTITIONS } from '../../src/model/limits.ts';
import type { Range } from '../../src/model/topic.ts';

/** Invariant 4: whether the ranges, in order, cover every partition exactly once. */
export function tiles(ranges: readonly Range[]): boolean {
  let next = 0;
  for (const { lo, hi } of ranges) {
    if (lo !== next || hi < lo) return false;
    next = hi + 1;
  }
  return next === PARTITIONS;
}
