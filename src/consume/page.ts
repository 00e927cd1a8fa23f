import type { SegmentId } from '../model/ids.ts';
import type { Bytes, StoredMessage } from '../model/message.ts';
import type { SegmentRange, Topic } from '../model/topic.ts';

/** Where a read begins. A timestamp: the lowest offset whose message has this timestamp or a later one. */
export type ReadFrom = { readonly offset: number } | { readonly timestampMs: number } | 'earliest' | 'latest';

/** `messagesMax` and `bytesMax` bound the page; at least one message comes while there is one. `waitMs` 0: no waiting. */
export type ReadBounds = { readonly messagesMax: number; readonly bytesMax: number; readonly waitMs: number };

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
export type TopicPage = { readonly slices: readonly BatchSlice[]; readonly cursor: string };

export type Consumer = {
  /**
   * Errors: `segment-not-found`, `topic-replaced` (a segment of a former life of the name), `topic-not-found` (deleted
   * while waiting), `truncated` (extra: start), `beyond-tail` (extra: tail), `corrupt` (extra: topic, segment, offset,
   * object), `unavailable`.
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
  /** The messages of a slice, `from` to `to` − 1. Error `corrupt` as above. */
  decode(slice: BatchSlice): Promise<readonly StoredMessage[]>;
};
