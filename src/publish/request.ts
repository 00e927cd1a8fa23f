import type { KelpError } from '../model/errors.ts';
import type { SegmentId, UploadId } from '../model/ids.ts';
import type { Bytes, Message } from '../model/message.ts';
import type { UploadedBatch } from '../model/upload.ts';

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
  | { readonly kind: 'batches'; readonly batches: readonly SentBatch[] }
  /** An upload that is committed as it is: its batches, one behind the other, all of the segment that the request names. */
  | { readonly kind: 'uploaded'; readonly upload: UploadId; readonly batches: readonly UploadedBatch[] };

/** `producer` and `matchTail` need `segment`; all of the content must then lie in that segment's range. */
export type PublishRequest = {
  readonly content: PublishContent;
  readonly segment?: SegmentId;
  readonly producer?: ProducerStamp;
  /** Stored only where the segment's tail is this offset. */
  readonly matchTail?: number;
  /** `requestHash`: of all that makes the request the same one. */
  readonly idempotency?: { readonly key: string; readonly requestHash: string };
  /** How long the caller will wait, for whoever these messages are handed to; the signal alone ends it here. */
  readonly timeoutMs?: number;
};

/** Where a message is, or where a batch begins. `offset` null: stored earlier, and too long ago to say where. */
export type Placed = { readonly segment: SegmentId; readonly offset: number | null; readonly duplicate: boolean };

/** One result for each message, or for each batch, at its position in the request. */
export type PublishResult = readonly (Placed | KelpError)[];
