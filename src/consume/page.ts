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
  /** Absent: as many as there are. */
  readonly batchesMax?: number;
  readonly waitMs: number;
  readonly wholeBatches?: boolean;
};

/** A stored batch, and which of its messages belong to the page: offsets `from` to `to` − 1, all within `baseOffset` … `baseOffset + count − 1`. */
export type BatchSpan = {
  readonly segment: SegmentId;
  readonly baseOffset: number;
  readonly count: number;
  readonly from: number;
  readonly to: number;
};

/** Such a batch with its bytes, whose checksum is right; of old messages, which are in files, one that is made of them when it is asked for. */
export type BatchSlice = BatchSpan & {
  readonly bytes: Bytes;
  /** When it was committed, by its broker's wall clock. */
  readonly committedMs: number;
};

/** Such a batch by where it lies, and what its header says; nobody has read more of it. `to` is its end. */
export type BatchPlace = BatchSpan & {
  /** The object's key; `start` and `bytes` are those of the batch within. */
  readonly object: string;
  readonly start: number;
  readonly bytes: number;
  /** CRC-32C, as its header says. */
  readonly crc: number;
};

export type SegmentPage<S extends BatchSpan = BatchSlice> = {
  /** Not all of what lies between `offset` and `nextOffset`, where batches are quarantined; there may even be none. */
  readonly slices: readonly S[];
  /** Where the page begins: what was asked for. */
  readonly offset: number;
  readonly nextOffset: number;
  readonly tail: number;
  readonly sealed: boolean;
  readonly successors: readonly SegmentRange[];
  /** Some of it was uploaded and not looked at yet: it may be quarantined, and then the page is another one. */
  readonly unchecked: boolean;
};

/** `cursor`: where the next read goes on; opaque and authenticated. */
export type TopicPage<S extends BatchSpan = BatchSlice> = {
  readonly slices: readonly S[];
  readonly cursor: string;
  /** The cursor behind the first `messages` of the page: for streams, which may be cut after any of them. */
  cursorAt(messages: number): Promise<string>;
};

type SegmentWanted = { readonly segment: SegmentId; readonly from: ReadFrom } & ReadBounds;
type TopicWanted = { readonly cursor: string } & ReadBounds;

export type Consumer = {
  /**
   * Errors: `not-found`/`segment-not-found`, `topic-replaced` (a segment of a former life of the name), `topic-not-found`
   * (deleted, perhaps while waiting) and `truncated` (extra: start); `invalid`/`beyond-tail` (extra: tail); `corrupt`
   * (extra: topic, segment, offset, nextOffset, object); `unavailable`. The first three may mean that `topic` is an old
   * answer: resolved afresh, it may be another one.
   */
  readSegment(topic: Topic, read: SegmentWanted, signal: AbortSignal): Promise<SegmentPage>;
  /**
   * `cursor`: `earliest`, `latest`, `timestamp:<ms>`, or what an earlier page gave. Also throws `invalid-cursor` (forged,
   * damaged), `topic-replaced` (a cursor of a former life).
   */
  readTopic(topic: Topic, read: TopicWanted, signal: AbortSignal): Promise<TopicPage>;
  /**
   * The same by where the batches lie, whole ones: no more than their headers is read, but for finding a timestamp. Error
   * `not-found`/`archived` (extra: segment, nextOffset) where the messages are in files.
   */
  locateSegment(topic: Topic, read: SegmentWanted, signal: AbortSignal): Promise<SegmentPage<BatchPlace>>;
  locateTopic(topic: Topic, read: TopicWanted, signal: AbortSignal): Promise<TopicPage<BatchPlace>>;
  /** The offset at which a read of the segment from that time on begins. Errors as of `readSegment`. */
  offsetAt(topic: Topic, at: { readonly segment: SegmentId; readonly timestampMs: number }, signal: AbortSignal): Promise<number>;
  /** The messages of a slice, `from` to `to` − 1. Error `corrupt` as above. The slice's bytes are shared: never write to them. */
  decode(slice: BatchSlice): Promise<readonly StoredMessage[]>;
};
