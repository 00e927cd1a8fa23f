import type { SegmentId } from '../model/ids.ts';
import { PARTITIONS } from '../model/limits.ts';
import type { Range, SegmentRange } from '../model/topic.ts';

/**
 * How far a reader is in one range of partitions. `finished`: its segment is sealed and read to the end, both in one read of
 * the head. `segment` `''`: nothing was read yet.
 */
export type Position = Range & { readonly segment: SegmentId | ''; readonly offset: number; readonly finished: boolean };

/** What a read of a segment's head says. `absent`: listed, but not made yet. */
export type SegmentFacts = { readonly sealed: boolean; readonly start: number; readonly tail: number } | 'absent';

export const BEGINNING: readonly Position[] = [{ lo: 0, hi: PARTITIONS - 1, segment: '', offset: 0, finished: true }];

export type Opening = {
  readonly positions: readonly Position[];
  readonly opened: readonly SegmentId[];
  /** Whose facts are needed to go on. */
  readonly unknown: readonly SegmentId[];
};

/**
 * Opens the segments that a reader may go on to. What comes next for a range is the oldest newer segment that covers it and
 * has messages or isn't sealed; a segment opens only when it is next for its whole range and all of that is finished: so
 * nothing is read before any of its predecessors' messages (C1). Segment ids of a range count up along its lineage.
 * `segments`: all that are newer than the oldest finished position, in order of their ids.
 */
export function openNext(
  positions: readonly Position[],
  segments: readonly SegmentRange[],
  factsOf: (segment: SegmentId) => SegmentFacts | undefined,
): Opening {
  let current = positions;
  const opened: SegmentId[] = [];
  const unknown: SegmentId[] = [];
  /** Ranges for which nothing newer can be next: still being read, or an older segment is. */
  const taken: Range[] = positions.filter((position) => !position.finished);
  for (const segment of segments) {
    const under = current.filter((position) => overlap(position, segment));
    const ahead = under.filter((position) => position.segment < segment.segment);
    const facts = factsOf(segment.segment);
    if (ahead.length === 0 || isPassedOver(facts)) continue;
    const isFree = (range: Range): boolean => !taken.some((other) => overlap(other, range));
    if (facts === undefined && ahead.some((position) => isFree(intersection(position, segment)))) unknown.push(segment.segment);
    if (facts !== undefined && facts !== 'absent' && ahead.length === under.length && isFree(segment)) {
      const { lo, hi } = segment;
      current = replace(current, { lo, hi, segment: segment.segment, offset: facts.start, finished: false });
      opened.push(segment.segment);
    }
    taken.push(...ahead.map((position) => intersection(position, segment)));
  }
  return { positions: current, opened, unknown };
}

/** Puts a position in place of what its range had; what sticks out stays. */
export function replace(positions: readonly Position[], position: Position): Position[] {
  const rest = positions.flatMap((other) => {
    if (!overlap(other, position)) return [other];
    const below = { ...other, hi: position.lo - 1 };
    const above = { ...other, lo: position.hi + 1 };
    return [below, above].filter((piece) => piece.lo <= piece.hi);
  });
  return [...rest, position].toSorted((a, b) => a.lo - b.lo);
}

export type Newest = {
  readonly positions: readonly Position[];
  readonly unknown: readonly SegmentId[];
};

/**
 * The positions at the end of the newest segments that exist: what is published from now on comes after them. A child that
 * is still pending doesn't count, and its parents do. `unknown` ones are taken for existing until their facts are there.
 */
export function newestPositions(
  segments: readonly SegmentRange[],
  factsOf: (segment: SegmentId) => { readonly pending: boolean; readonly sealed: boolean; readonly tail: number } | 'absent' | undefined,
): Newest {
  let positions: Position[] = [...BEGINNING];
  const unknown: SegmentId[] = [];
  for (const segment of segments.toReversed()) {
    const pieces = positions.filter((position) => position.segment === '' && overlap(position, segment));
    const facts = factsOf(segment.segment);
    if (pieces.length === 0 || facts === 'absent' || facts?.pending === true) continue;
    if (facts === undefined) unknown.push(segment.segment);
    for (const piece of pieces) {
      const range = intersection(piece, segment);
      positions = replace(positions, { ...range, segment: segment.segment, offset: facts?.tail ?? 0, finished: facts?.sealed ?? false });
    }
  }
  return { positions, unknown };
}

/** Sealed and empty: nothing can ever be read there. */
const isPassedOver = (facts: SegmentFacts | undefined): boolean =>
  facts !== undefined && facts !== 'absent' && facts.sealed && facts.tail <= facts.start;

const overlap = (a: Range, b: Range): boolean => a.lo <= b.hi && b.lo <= a.hi;
const intersection = (a: Range, b: Range): Range => ({ lo: Math.max(a.lo, b.lo), hi: Math.min(a.hi, b.hi) });
