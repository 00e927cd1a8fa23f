import type { SegmentId, TopicId } from './ids.ts';
import type { StoredMessage } from './message.ts';

declare const brand: unique symbol;
/** A day in UTC, `YYYY-MM-DD`. */
export type UtcDate = string & { readonly [brand]: 'UtcDate' };

/** A file of committed messages of one segment, `first` to `last`, both inside, all committed on that date. */
export type ArchivedFile = {
  readonly topic: TopicId;
  readonly segment: SegmentId;
  readonly date: UtcDate;
  readonly first: number;
  readonly last: number;
};

/** `committedMs`: the time in its entry's commit id, or in an earlier entry's of the segment if that is later. So it never falls. */
export type ArchivedMessage = StoredMessage & { readonly committedMs: number };

/** The date of a wall-clock time in milliseconds. */
export const dateOf = (timeMs: number): UtcDate => new Date(timeMs).toISOString().slice(0, 10) as UtcDate;
