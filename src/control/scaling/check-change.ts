import { invalid, KelpError } from '../../model/errors.ts';
import type { SegmentId } from '../../model/ids.ts';
import { SEGMENTS_OPEN_MAX } from '../../model/limits.ts';
import type { PlannedMerge, PlannedSplit } from '../../model/scaling.ts';
import { type Range, scalingOf, type SegmentRange, type Topic } from '../../model/topic.ts';
import { keptMin } from './schedule.ts';

/** What is to become of segments; a planned change is one. */
export type SegmentChange = Pick<PlannedSplit, 'kind' | 'segment' | 'at'> | Pick<PlannedMerge, 'kind' | 'segments'>;

/** The parents in order of partitions, and what their children get of it. */
export type Replaced = { readonly parents: readonly SegmentId[]; readonly ranges: readonly Range[] };

/** The segments that it replaces, as they were named. */
export const segmentsOf = (change: SegmentChange): readonly SegmentId[] => (change.kind === 'split' ? [change.segment] : change.segments);

/** How many segments more the topic may have, and how many fewer. */
export type Room = { readonly more: number; readonly fewer: number };

/**
 * What a change makes of segments that are open. Throws the errors `invalid-at`, `invalid-segments`, `not-splittable`,
 * `not-neighbours`, `not-mergeable`.
 */
export function checkChange(change: SegmentChange, ranges: readonly SegmentRange[], room: Room): Replaced {
  const [lower, upper] = ranges.toSorted((a, b) => a.lo - b.lo);
  if (lower === undefined) throw new Error('a change of no segment');
  if (change.kind === 'split') return split(lower, change.at, room);
  if (upper === undefined || upper.segment === lower.segment) throw invalid('invalid-segments', 'segments', 'two segments');
  if (lower.hi + 1 !== upper.lo) {
    throw new KelpError('conflict', 'not-neighbours', `other partitions lie between ${lower.segment} and ${upper.segment}`);
  }
  if (room.fewer < 1) throw new KelpError('conflict', 'not-mergeable', 'the topic has no more segments than it is to have');
  return { parents: [lower.segment, upper.segment], ranges: [{ lo: lower.lo, hi: upper.hi }] };
}

function split({ segment, lo, hi }: SegmentRange, at: number, room: Room): Replaced {
  if (lo === hi) throw notSplittable(`segment ${segment} has one partition`);
  if (!Number.isInteger(at) || at <= lo || at > hi) throw invalid('invalid-at', 'at', `an integer from ${lo + 1} to ${hi}`);
  if (room.more < 1) throw notSplittable('the topic has all segments that it may have');
  const parts = [
    { lo, hi: at - 1 },
    { lo: at, hi },
  ];
  return { parents: [segment], ranges: parts };
}

const notSplittable = (message: string): KelpError => new KelpError('conflict', 'not-splittable', message);

/**
 * Whichever of the pending changes are done first. By the calendar, what an expected flood asks for counts as the settings' own:
 * the planner would split it again.
 */
export function roomOf({ open, changes, settings }: Topic, wallMs: number): Room {
  const { minSegments, maxSegments, schedule } = scalingOf(settings);
  const floor = Math.max(1, minSegments, keptMin(schedule, wallMs));
  const grown = changes.map(({ parents, children }) => children.length - parents.length);
  const coming = grown.reduce((sum, by) => sum + Math.max(0, by), 0);
  const going = grown.reduce((sum, by) => sum + Math.max(0, -by), 0);
  return { more: Math.min(maxSegments, SEGMENTS_OPEN_MAX) - open.length - coming, fewer: open.length - going - floor };
}
