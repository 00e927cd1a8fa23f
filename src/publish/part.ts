import type { CommitId, SegmentId } from '../model/ids.ts';
import type { Bytes } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import type { KelpError } from '../model/errors.ts';
import type { Hold } from './admit.ts';
import type { MemberOutcome } from './commit-outcome.ts';
import type { ProducerStamp } from './request.ts';

/** The one attempt that may land, kept where every handler of the request finds it; the tail is as before the first send. */
export type Recorded = { readonly cid: CommitId; readonly tail: number };

/** One request's messages for one segment, encoded: what a group gathers. */
export type Part = {
  readonly segment: SegmentId;
  /** Whole record batches, one after the other. */
  readonly batches: readonly Bytes[];
  readonly bytes: number;
  readonly count: number;
  readonly buckets: readonly number[];
  readonly highestTimestampMs: number;
  readonly producer?: ProducerStamp;
  readonly matchTail?: number;
  readonly recorded?: Recorded;
};

/** All parts of one request go into one group, and so into one object. `alone`: and nothing else does. */
export type Submission = {
  readonly topic: Topic;
  readonly parts: readonly Part[];
  readonly alone: boolean;
  /** The request's memory, which a group in flight keeps though its caller has gone. */
  readonly hold: Hold;
  /** When its caller stops waiting, on the monotonic clock; unknown: as callers do that don't say. */
  readonly endsMs?: number | undefined;
};

/** `dead`: as a whole group, surely not stored; see CommitOutcome. */
export type PartOutcome =
  | MemberOutcome
  | { readonly outcome: 'dead'; readonly because: 'guard' | 'floor'; readonly guard: CommitId | ''; readonly tail: number }
  | { readonly outcome: 'failed'; readonly error: KelpError };
