import type { SegmentId } from '../model/ids.ts';
import type { Bytes, StoredMessage } from '../model/message.ts';
import type { SegmentRange, Topic } from '../model/topic.ts';

/** Where a read begins. A timestamp: the lowest offset whose message has this timestamp or a later one. */
export type ReadFrom = { readonly offset: number } | { readonly timestampMs: number } | 'earliest' | 'latest';

/**
 * `messagesMax` and `bytesMax` bound the page; at least one message comes while there is one. `waitMs` 0: no waiting.
 * `wholeBatches` is for whoever hands out batches as they are stored: slices then go to their batch's end, and `bytesMax`
 * counts stored bytes; otherwise it counts keys, values and headers.
 */
export type ReadBounds = {
  readonly messagesMax: number;
  readonly bytesMax: number;
  readonly waitMs: number;
  readonly wholeBatches?: boolean;
};

/**
 * A stored batch whose checksum is right, and which of its messages belong to the page: offsets `from` to `to` − 1, all
 * within `baseOffset` … `baseOffset + count − 1`.
 */
export type BatchSlice = {
  readonly segment: SegmentId;
  readonly bytes: Bytes;
  readonly baseOffset: number;
  readonly count: number;
  readonly from: number;
  readonly to: number;
  /** When it was committed, by its broker's wall clock. */
  readonly committedMs: number;
};

export type SegmentPage = {
  readonly slices: readonly BatchSlice[];
  readonly start: number;
  readonly nextOffset: number;
  readonly tail: number;
  readonly sealed: boolean;
  readonly successors: readonly SegmentRange[];
};

/** `cursor`: where the next read goes on; opaque and authenticated. */
export type TopicPage = {
  readonly slices: readonly BatchSlice[];
  readonly cursor: string;
  /** The cursor behind the first `messages` of the page: for streams, which may be cut after any of them. */
  cursorAt(messages: number): Promise<string>;
};

export type Consumer = {
  /**
   * Errors: `not-found`/`segment-not-found`, `topic-replaced` (a segment of a former life of the name), `topic-not-found`
   * (deleted, perhaps while waiting) and `truncated` (extra: start); `invalid`/`beyond-tail` (extra: tail); `corrupt`
   * (extra: topic, segment, offset, nextOffset, object); `unavailable`. The first three may mean that `topic` is an old
   * answer: resolved afresh, it may be another one.
   */
  readSegment(
    topic: Topic,
    read: { readonly segment: SegmentId; readonly from: ReadFrom } & ReadBounds,
    signal: AbortSignal,
  ): Promise<SegmentPage>;
  /**
   * `cursor`: `earliest`, `latest`, `timestamp:<ms>`, or what an earlier page gave. Also throws `invalid-cursor` (forged,
   * damaged), `topic-replaced` (a cursor of a former life).
   */
  readTopic(topic: Topic, read: { readonly cursor: string } & ReadBounds, signal: AbortSignal): Promise<TopicPage>;
  /** The messages of a slice, `from` to `to` − 1. Error `corrupt` as above. The slice's bytes are shared: never write to them. */
  decode(slice: BatchSlice): Promise<readonly StoredMessage[]>;
};
