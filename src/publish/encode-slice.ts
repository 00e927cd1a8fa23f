import { encodeBatch } from '../format/record-batch-encode.ts';
import type { Compression } from '../ports/compression.ts';
import type { Part, Recorded } from './part.ts';
import type { ProducerStamp } from './request.ts';
import { loadBuckets, type Slice } from './slice.ts';

/** What a part carries besides its messages. */
export type PartOptions = {
  readonly producer?: ProducerStamp;
  readonly matchTail?: number;
  readonly recorded?: Recorded;
};

/** A slice as record batches: one for its messages, or the client's own as they were sent. */
export async function encodeSlice(compression: Compression, slice: Slice, options: PartOptions): Promise<Part> {
  const { content, range, partitions } = slice;
  const batches =
    content.kind === 'messages' ? [await encodeBatch(content.messages, compression)] : content.batches.map((batch) => batch.bytes);
  const timestamps =
    content.kind === 'messages'
      ? content.messages.map((message) => message.timestampMs)
      : content.batches.map((batch) => batch.highestTimestampMs);
  return {
    segment: range.segment,
    batches,
    bytes: batches.reduce((sum, batch) => sum + batch.length, 0),
    count: partitions.length,
    buckets: loadBuckets(partitions, range),
    highestTimestampMs: timestamps.reduce((highest, timestamp) => Math.max(highest, timestamp), 0),
    ...options,
  };
}
