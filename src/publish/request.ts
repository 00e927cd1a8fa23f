import type { KelpError } from '../model/errors.ts';
import type { SegmentId } from '../model/ids.ts';
import type { Bytes, Message } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';

/** A record batch as the client sent it, checked. `partitions`: of each record, in order; all of one segment. */
export type SentBatch = {
  readonly bytes: Bytes;
  readonly partitions: readonly number[];
  readonly highestTimestampMs: number;
};

/** The sequence counts this producer's messages in this segment, from 0 for each epoch. */
export type ProducerStamp = { readonly producer: string; readonly epoch: number; readonly sequence: number };

export type PublishContent =
  | { readonly kind: 'messages'; readonly messages: readonly Message[] }
  | { readonly kind: 'batches'; readonly batches: readonly SentBatch[] };

/** `producer` and `matchTail` need `segment`; all of the content must then lie in that segment's range. */
export type PublishRequest = {
  readonly content: PublishContent;
  readonly segment?: SegmentId;
  readonly producer?: ProducerStamp;
  /** Stored only where the segment's tail is this offset. */
  readonly matchTail?: number;
  /** `requestHash`: of all that makes the request the same one. */
  readonly idempotency?: { readonly key: string; readonly requestHash: string };
};

/** Where a message is, or where a batch begins. `offset` null: stored earlier, and too long ago to say where. */
export type Placed = { readonly segment: SegmentId; readonly offset: number | null; readonly duplicate: boolean };

/** One result for each message, or for each batch, at its position in the request. */
export type PublishResult = readonly (Placed | KelpError)[];

export type Publisher = {
  /**
   * Stores the content; within a segment all of it or nothing. Errors that concern single segments stand in the result;
   * thrown are those of the whole request: `unavailable` (queue full, stopping), `topic-not-found`, `key-reused`, and the
   * signal's reason if nothing was sent yet.
   */
  publish(topic: Topic, request: PublishRequest, signal: AbortSignal): Promise<PublishResult>;
  /** Whether a publish would be refused now: worth knowing before a body is read. */
  isFull(): boolean;
  /** Refuses new publishes, and resolves when those in flight have ended or the signal aborts. */
  stop(signal: AbortSignal): Promise<void>;
};
