import type { BrokerId, CommitId, Minute, ObjectId, SegmentId, TopicId } from './ids.ts';
import type { Bytes } from './message.ts';
import type { Range, SegmentRange } from './topic.ts';

/** A stretch of one batch object with whole batches, one after the other, of one segment. */
export type Run = { readonly start: number; readonly bytes: number; readonly count: number };

export type ObjectRef = { readonly minute: Minute; readonly id: ObjectId };

/** What one commit put into a segment: the index of its messages. */
export type Entry = {
  readonly cid: CommitId;
  /** Offset of its first message; its messages are contiguous. */
  readonly offset: number;
  readonly object: ObjectRef;
  readonly runs: readonly Run[];
  /** Which members of the group are in; absent: all of them. */
  readonly mask?: Bytes;
  readonly highestTimestampMs: number;
};

/** A producer's batch that a line remembers; its first offset is the entry's offset + `delta`. */
export type LineBatch = {
  readonly sequence: number;
  readonly count: number;
  readonly cid: CommitId;
  readonly delta: number;
};

/** The state of one producer in one segment. `next` is the sequence that the next message must have. */
export type Line = { readonly epoch: number; readonly next: number; readonly batches: readonly LineBatch[] };

export type SegmentState = 'pending' | 'open' | 'sealed';

/** A segment's head: everything a commit decides on. Its stored form is in FORMAT.md. */
export type Head = Range & {
  readonly topic: TopicId;
  readonly segment: SegmentId;
  readonly state: SegmentState;
  /** Whether the topic was deleted: sealed, without successors. */
  readonly deleted: boolean;
  /** Offset of the next message. */
  readonly tail: number;
  /** Entries below this offset have left the head for pages. */
  readonly spilled: number;
  /** Guard: no commit id at or below it can land any more. `''` at first. */
  readonly guard: CommitId | '';
  /** Floor: no object of an earlier minute can be committed any more. `''` at first. */
  readonly floor: Minute | '';
  /** Highest timestamp of all messages below `spilled`; −1 if there are none. */
  readonly spilledTimestampMs: number;
  /** Newest entries, by offset, from `spilled` to `tail`. */
  readonly entries: readonly Entry[];
  readonly lines: ReadonlyMap<string, Line>;
  /** Lines that were moved out of the head so far. */
  readonly evictions: number;
  readonly load: Load;
  /** Who serves it; empty until that is decided, and then for ever the same. */
  readonly brokers: readonly BrokerId[];
  readonly predecessors: readonly SegmentId[];
  /** Who continues the range; empty while open, and for ever after a deletion. */
  readonly successors: readonly SegmentRange[];
  /** Wall clock of whoever opened it, and of whoever sealed it, for people; absent before, and in heads of older brokers. */
  readonly openedMs?: number;
  readonly endedMs?: number;
  /** The change that sealed it; absent while open. */
  readonly change?: string;
};

/** Cumulative since the segment was made. `buckets`: messages by 16th of the segment's range of partitions. */
export type Load = {
  readonly messages: number;
  readonly bytes: number;
  readonly commits: number;
  readonly buckets: readonly number[];
};

/** Entries that left the head: `[first, next)`, immutable. */
export type Page = {
  readonly first: number;
  readonly next: number;
  readonly guard: CommitId | '';
  /** Highest timestamp of all messages below `next`. */
  readonly highestTimestampMs: number;
  readonly entries: readonly Entry[];
};

export const entryCount = (entry: Entry): number => entry.runs.reduce((sum, run) => sum + run.count, 0);
