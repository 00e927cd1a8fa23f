import { BATCH_RECORDS_BYTES_MAX } from '../model/limits.ts';
import type { Bytes, StoredMessage } from '../model/message.ts';
import { partitionOf } from '../model/partition.ts';
import type { Compression } from '../ports/compression.ts';
import { BATCH_HEADER_BYTES, type BatchHeader, damagedBatch, readBatchHeader } from './record-batch-header.ts';
import { forEachRecord, readHeaders } from './record-batch-records.ts';

/**
 * What stands behind the header of this one batch, uncompressed. Errors: `invalid-batch` (a codec that is not supported),
 * `invalid-compression`, `too-large` (more than `bytesMax` would come out).
 */
export async function batchRecords(
  bytes: Bytes,
  options: { readonly header: BatchHeader; readonly compression: Compression; readonly bytesMax: number },
): Promise<Bytes> {
  const { codec } = options.header;
  if (codec === undefined) throw damagedBatch('attributes', 'only gzip, zstd and no compression are supported');
  const records = bytes.subarray(BATCH_HEADER_BYTES);
  return codec === 'none' ? records : options.compression.decompress(codec, records, options.bytesMax);
}

/**
 * The messages of one batch that {@link verifyBatch} has found whole; `baseOffset` is its first message's offset in the
 * segment. Keys and values are views. Errors `invalid` as above and in {@link forEachRecord}: a batch is stored only after
 * the same checks, so the reader makes `corrupt` of them.
 */
export async function decodeBatch(bytes: Bytes, baseOffset: number, compression: Compression): Promise<StoredMessage[]> {
  const header = readBatchHeader(bytes);
  const records = await batchRecords(bytes, { header, compression, bytesMax: BATCH_RECORDS_BYTES_MAX });
  const messages: StoredMessage[] = [];
  forEachRecord(records, header.count, (record, index) => {
    messages.push({
      offset: baseOffset + index,
      partition: partitionOf(record.key),
      key: record.key,
      value: record.value,
      headers: record.headers.count === 0 ? [] : readHeaders(records, record),
      timestampMs: header.baseTimestampMs + record.timestampDeltaMs,
    });
  });
  return messages;
}
