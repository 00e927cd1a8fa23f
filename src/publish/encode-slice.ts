import { encodeBatch } from '../format/record-batch-encode.ts';
import type { Run } from '../model/head.ts';
import type { Bytes } from '../model/message.ts';
import type { UploadedBatch } from '../model/upload.ts';
import { UPLOAD_RUN_BYTES_MAX } from '../model/upload-limits.ts';
import type { Compression } from '../ports/compression.ts';
import type { Part, Recorded } from './part.ts';
import type { ProducerStamp, PublishContent } from './request.ts';
import { loadBuckets, type Slice } from './slice.ts';

/** What a part carries besides its messages. */
export type PartOptions = {
  readonly producer?: ProducerStamp;
  readonly matchTail?: number;
  readonly recorded?: Recorded;
};

/** A slice as record batches: one for its messages, or the client's own as they were sent, or as they lie in the store. */
export async function encodeSlice(compression: Compression, slice: Slice, options: PartOptions): Promise<Part> {
  const { content, range, partitions } = slice;
  const batches = await bodyOf(content, compression);
  const uploaded = content.kind === 'uploaded' ? { upload: content.upload, runs: uploadRuns(content.batches) } : undefined;
  const timestamps =
    content.kind === 'messages'
      ? content.messages.map((message) => message.timestampMs)
      : content.batches.map((batch) => batch.highestTimestampMs);
  return {
    segment: range.segment,
    batches,
    ...(uploaded === undefined ? {} : { uploaded }),
    bytes: uploaded === undefined ? byteSum(batches.map((batch) => batch.length)) : byteSum(uploaded.runs.map((run) => run.bytes)),
    count: partitions.length,
    buckets: loadBuckets(partitions, range),
    highestTimestampMs: timestamps.reduce((highest, timestamp) => Math.max(highest, timestamp), 0),
    ...options,
  };
}

async function bodyOf(content: PublishContent, compression: Compression): Promise<readonly Bytes[]> {
  if (content.kind === 'messages') return [await encodeBatch(content.messages, compression)];
  return content.kind === 'batches' ? content.batches.map((batch) => batch.bytes) : [];
}

/** An upload's batches as runs: a run is what a reader gets with one request, so neighbours are one up to a bound. */
export function uploadRuns(batches: readonly UploadedBatch[]): Run[] {
  const runs: Run[] = [];
  for (const { start, bytes, count } of batches) {
    const last = runs.at(-1);
    if (last !== undefined && last.start + last.bytes === start && last.bytes + bytes <= UPLOAD_RUN_BYTES_MAX) {
      runs[runs.length - 1] = { start: last.start, bytes: last.bytes + bytes, count: last.count + count };
    } else runs.push({ start, bytes, count });
  }
  return runs;
}

const byteSum = (lengths: readonly number[]): number => lengths.reduce((sum, length) => sum + length, 0);
