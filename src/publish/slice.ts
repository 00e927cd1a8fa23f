import { invalid } from '../model/errors.ts';
import { LOAD_BUCKETS } from '../model/limits.ts';
import { partitionOf } from '../model/partition.ts';
import type { Range, SegmentRange } from '../model/topic.ts';
import type { PublishContent } from './request.ts';

/** What of a request's content goes to one segment. `positions`: where its results stand in the request. */
export type Slice = {
  readonly range: SegmentRange;
  readonly positions: readonly number[];
  /** Of each message. */
  readonly partitions: readonly number[];
  readonly content: PublishContent;
};

/** A message or a batch that finds its segment. */
type Unit = { readonly position: number; readonly partitions: readonly number[] };

/** The content as one slice for the whole range of partitions, each key hashed. */
export function wholeContent(content: PublishContent, range: SegmentRange): Slice {
  const units = content.kind === 'messages' ? content.messages : content.batches;
  const partitions =
    content.kind === 'messages'
      ? content.messages.map((message) => partitionOf(message.key))
      : content.batches.flatMap((batch) => batch.partitions);
  return { range, positions: units.map((_, position) => position), partitions, content };
}

/**
 * Cuts a slice by the ranges (in order, tiling the slice's range). Pure. Error `invalid-batch`: a batch has keys of several
 * of them; `invalid-segment`: a key lies in none. Of what is uploaded either is `invalid-batches`.
 */
export function cut(slice: Slice, ranges: readonly SegmentRange[]): Slice[] {
  const [only] = ranges;
  if (ranges.length === 1 && only !== undefined && covers(only, slice.range)) return [{ ...slice, range: only }];
  const byRange = new Map<SegmentRange, number[]>();
  const units = unitsOf(slice);
  for (const [index, unit] of units.entries()) {
    const range = rangeOf(unit, ranges, slice.content.kind);
    const indexes = byRange.get(range);
    if (indexes === undefined) byRange.set(range, [index]);
    else indexes.push(index);
  }
  return [...byRange].map(([range, indexes]) => pick(slice, units, { range, indexes }));
}

function unitsOf(slice: Slice): Unit[] {
  const { content, positions, partitions } = slice;
  if (content.kind !== 'messages') {
    return content.batches.map((batch, index) => ({ position: positions[index] ?? 0, partitions: batch.partitions }));
  }
  return content.messages.map((_, index) => ({ position: positions[index] ?? 0, partitions: [partitions[index] ?? 0] }));
}

function rangeOf(unit: Unit, ranges: readonly SegmentRange[], kind: PublishContent['kind']): SegmentRange {
  const [first = 0] = unit.partitions;
  const range = findRange(ranges, first);
  if (kind === 'uploaded') return wholeIn(unit, range);
  if (range === undefined) throw invalid('invalid-segment', `${kind}[${unit.position}].key`, 'the key is not of this segment');
  if (!unit.partitions.every((partition) => partition >= range.lo && partition <= range.hi)) {
    throw invalid('invalid-batch', `${kind}[${unit.position}]`, 'the batch has keys of several segments');
  }
  return range;
}

function wholeIn({ position, partitions }: Unit, range: SegmentRange | undefined): SegmentRange {
  if (range !== undefined && partitions.every((partition) => partition >= range.lo && partition <= range.hi)) return range;
  throw invalid('invalid-batches', `batches[${position}].partitions`, 'a key is not of this segment');
}

/** Binary search: a topic has up to a thousand open segments. */
function findRange(ranges: readonly SegmentRange[], partition: number): SegmentRange | undefined {
  let low = 0;
  let high = ranges.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const range = ranges[middle];
    if (range === undefined) return undefined;
    if (partition < range.lo) high = middle - 1;
    else if (partition > range.hi) low = middle + 1;
    else return range;
  }
  return undefined;
}

function pick(slice: Slice, units: readonly Unit[], { range, indexes }: Picked): Slice {
  const chosen = indexes.flatMap((index) => units[index] ?? []);
  const { content } = slice;
  return {
    range,
    positions: chosen.map((unit) => unit.position),
    partitions: chosen.flatMap((unit) => unit.partitions),
    content: pickContent(content, indexes),
  };
}

function pickContent(content: PublishContent, indexes: readonly number[]): PublishContent {
  switch (content.kind) {
    case 'messages':
      return { ...content, messages: indexes.flatMap((index) => content.messages[index] ?? []) };
    case 'batches':
      return { ...content, batches: indexes.flatMap((index) => content.batches[index] ?? []) };
    case 'uploaded':
      return { ...content, batches: indexes.flatMap((index) => content.batches[index] ?? []) };
  }
}

/** Messages of a slice's unit: of a message, or of a batch. */
export function unitCount({ content }: Slice, index: number): number {
  return content.kind === 'messages' ? 1 : (content.batches[index]?.partitions.length ?? 0);
}

type Picked = { readonly range: SegmentRange; readonly indexes: readonly number[] };

const covers = (outer: Range, inner: Range): boolean => outer.lo <= inner.lo && inner.hi <= outer.hi;

/** Messages by 16th of the range: what a split is planned from. */
export function loadBuckets(partitions: readonly number[], range: Range): number[] {
  const buckets = Array.from({ length: LOAD_BUCKETS }, () => 0);
  const width = range.hi - range.lo + 1;
  for (const partition of partitions) {
    const bucket = Math.floor(((partition - range.lo) * LOAD_BUCKETS) / width);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  return buckets;
}
