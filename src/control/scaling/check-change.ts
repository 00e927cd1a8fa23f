import { invalid, KelpError } from '../../model/errors.ts';
import type { SegmentId } from '../../model/ids.ts';
import { SEGMENTS_OPEN_MAX } from '../../model/limits.ts';
import type { PlannedMerge, PlannedSplit } from '../../model/scaling.ts';
import type { Range, SegmentRange, Topic } from '../../model/topic.ts';

/** What is to become of segments; a planned change is one. */
export type SegmentChange = Pick<PlannedSplit, 'kind' | 'segment' | 'at'> | Pick<PlannedMerge, 'kind' | 'segments'>;

/** The parents in order of partitions, and what their children get of it. */
export type Replaced = { readonly parents: readonly SegmentId[]; readonly ranges: readonly Range[] };

/** The segments that it replaces, as they were named. */
export const segmentsOf = (change: SegmentChange): readonly SegmentId[] => (change.kind === 'split' ? [change.segment] : change.segments);

/**
 * What a change makes of segments that are open, in a topic that may have `room` more of them. Throws the errors `invalid-at`,
 * `invalid-segments`, `not-splittable`, `not-neighbours`.
 */
export function checkChange(change: SegmentChange, ranges: readonly SegmentRange[], room: number): Replaced {
  const [lower, upper] = ranges.toSorted((a, b) => a.lo - b.lo);
  if (lower === undefined) throw new Error('a change of no segment');
  if (change.kind === 'split') return split(lower, change.at, room);
  if (upper === undefined || upper.segment === lower.segment) throw invalid('invalid-segments', 'segments', 'two segments');
  if (lower.hi + 1 !== upper.lo) {
    throw new KelpError('conflict', 'not-neighbours', `other partitions lie between ${lower.segment} and ${upper.segment}`);
  }
  return { parents: [lower.segment, upper.segment], ranges: [{ lo: lower.lo, hi: upper.hi }] };
}

function split({ segment, lo, hi }: SegmentRange, at: number, room: number): Replaced {
  if (lo === hi) throw notSplittable(`segment ${segment} has one partition`);
  if (!Number.isInteger(at) || at <= lo || at > hi) throw invalid('invalid-at', 'at', `an integer from ${lo + 1} to ${hi}`);
  if (room < 1) throw notSplittable(`the topic has ${SEGMENTS_OPEN_MAX} segments`);
  const parts = [
    { lo, hi: at - 1 },
    { lo: at, hi },
  ];
  return { parents: [segment], ranges: parts };
}

const notSplittable = (message: string): KelpError => new KelpError('conflict', 'not-splittable', message);

/** How many segments more the topic may have, once all that is pending is done. */
export function roomOf({ open, changes }: Topic): number {
  const coming = changes.reduce((sum, { parents, children }) => sum + Math.max(0, children.length - parents.length), 0);
  return SEGMENTS_OPEN_MAX - open.length - coming;
}
