import type { CommitId, Minute, SegmentId, UploadId } from '../model/ids.ts';
import type { Run } from '../model/head.ts';
import type { Bytes } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import type { KelpError } from '../model/errors.ts';
import type { Hold } from './admit.ts';
import type { MemberOutcome } from './commit-outcome.ts';
import type { ProducerStamp } from './request.ts';

/**
 * The one attempt that may land, kept where every handler of the request finds it; the tail is as before the first send.
 * `minute`: that of every object which it may commit, where a floor is to end it: whoever sends it has claimed uploads.
 */
export type Recorded = { readonly cid: CommitId; readonly tail: number; readonly minute?: Minute };

/** What is in the store before it is published. `runs`: as they lie in the upload. */
export type UploadedPart = { readonly upload: UploadId; readonly runs: readonly Run[] };

/** One request's messages for one segment, encoded: what a group gathers. */
export type Part = {
  readonly segment: SegmentId;
  /** Whole record batches, one after the other; none where they are uploaded. */
  readonly batches: readonly Bytes[];
  /** Its batches are in an object of their own: such a part is a group of its own, and recorded with a minute. */
  readonly uploaded?: UploadedPart;
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
