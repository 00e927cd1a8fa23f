import { READ_RANGE_BYTES_MAX } from '../model/limits.ts';
import type { ByteRange } from './object-ranges.ts';

export type RangePlan = {
  /** What to get, in the order in which the first of their runs is wanted. */
  readonly ranges: readonly ByteRange[];
  /** For each wanted run, the index of the range that holds it. */
  readonly rangeOf: readonly number[];
};

/** Runs with no more than `gapBytesMax` between them in one object come with one GET, of whichever segments they are. */
export function planRanges(wanted: readonly ByteRange[], gapBytesMax: number): RangePlan {
  const sorted = wanted.map((range, index) => ({ range, index })).toSorted((a, b) => byPlace(a.range, b.range));
  const groups: { range: ByteRange; first: number; members: number[] }[] = [];
  for (const { range, index } of sorted) {
    const last = groups.at(-1);
    const joined = last === undefined ? undefined : join(last.range, range, gapBytesMax);
    if (last === undefined || joined === undefined) {
      groups.push({ range, first: index, members: [index] });
    } else {
      last.range = joined;
      last.first = Math.min(last.first, index);
      last.members.push(index);
    }
  }
  const ordered = groups.toSorted((a, b) => a.first - b.first);
  const rangeOf: number[] = [];
  ordered.forEach((group, at) => {
    for (const member of group.members) rangeOf[member] = at;
  });
  return { ranges: ordered.map((group) => group.range), rangeOf };
}

function byPlace(a: ByteRange, b: ByteRange): number {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  return a.start - b.start || a.length - b.length;
}

function join(a: ByteRange, b: ByteRange, gapBytesMax: number): ByteRange | undefined {
  if (a.key !== b.key) return undefined;
  const end = Math.max(a.start + a.length, b.start + b.length);
  const near = b.start - (a.start + a.length) <= gapBytesMax;
  const contained = end === a.start + a.length;
  const length = end - a.start;
  return contained || (near && length <= READ_RANGE_BYTES_MAX) ? { key: a.key, start: a.start, length } : undefined;
}
