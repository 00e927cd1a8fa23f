import { invalid } from '../model/errors.ts';
import { REQUEST_BYTES_MAX, REQUEST_MESSAGES_MAX } from '../model/limits.ts';
import { type Bytes, type Header, KIND_HEADER } from '../model/message.ts';
import { partitionOf } from '../model/partition.ts';
import type { Compression } from '../ports/compression.ts';
import { inField } from './field-path.ts';
import { saysUpload } from './message-kind.ts';
import { checkHeaders, checkKey, checkTimestamp, checkValue } from './message-limits.ts';
import { batchRecords } from './record-batch-decode.ts';
import { type BatchHeader, type BatchPart, damagedBatch, splitBatches, withBaseOffset } from './record-batch-header.ts';
import { forEachRecord, readHeaders } from './record-batch-records.ts';

/** A batch as it is stored: the bytes that were sent, with base offset 0. `partitions`: of each record, in order. */
export type CheckedBatch = {
  readonly bytes: Bytes;
  readonly partitions: readonly number[];
  readonly highestTimestampMs: number;
};

/**
 * The record batches of a request's body, one after the other, checked in full. Errors `invalid-batch`, `too-large`,
 * `invalid-key`, `invalid-headers`, `invalid-timestamp`, `invalid-compression`, `invalid-messages`; the field names the
 * place, as in `batches[2].records[5].key`. What is refused, and why, is in FORMAT.md.
 */
export async function checkSentBatches(body: Bytes, compression: Compression): Promise<CheckedBatch[]> {
  const checked: CheckedBatch[] = [];
  // Bounds what all batches together may unpack to: each alone may be small and still be a bomb in company.
  let bytesLeft = REQUEST_BYTES_MAX;
  for (const [index, part] of withinCount(body).entries()) {
    try {
      const records = await batchRecords(part.bytes, { header: checkHeader(part.header), compression, bytesMax: bytesLeft });
      bytesLeft -= records.length;
      checked.push(checkRecords(part, records));
    } catch (error) {
      throw inField(`batches[${index}]`, error);
    }
  }
  if (checked.length === 0) throw invalid('invalid-batch', 'batches', 'the body holds no record batch');
  return checked;
}

function withinCount(body: Bytes): BatchPart[] {
  const parts: BatchPart[] = [];
  let count = 0;
  for (const part of splitBatches(body)) {
    count += part.header.count;
    if (count > REQUEST_MESSAGES_MAX)
      throw invalid('invalid-messages', 'batches', `a request has at most ${REQUEST_MESSAGES_MAX} messages`);
    parts.push(part);
  }
  return parts;
}

function checkHeader(header: BatchHeader): BatchHeader {
  // A transaction's end, a control record or a delete horizon mean something that Kelp doesn't do; a time set 'by the log'
  // can't come from a sender. Flags that nobody has defined yet may change the meaning of everything else.
  if (header.flags !== 0)
    throw damagedBatch('attributes', 'transactions, control records, log append time and unknown flags are not supported');
  checkTimestamp(header.baseTimestampMs, 'baseTimestamp');
  checkTimestamp(header.maxTimestampMs, 'maxTimestamp');
  return header;
}

function checkRecords(part: BatchPart, records: Bytes): CheckedBatch {
  const { header } = part;
  const partitions: number[] = [];
  let highestTimestampMs = 0;
  forEachRecord(records, header.count, (record) => {
    const timestampMs = header.baseTimestampMs + record.timestampDeltaMs;
    checkTimestamp(timestampMs);
    checkKey(record.key);
    checkValue(record.value);
    if (record.headers.count > 0) checkSentHeaders(readHeaders(records, record));
    if (timestampMs > highestTimestampMs) highestTimestampMs = timestampMs;
    partitions.push(partitionOf(record.key));
  });
  // Reads by time go by this field alone: a wrong one would hide messages.
  if (highestTimestampMs !== header.maxTimestampMs)
    throw damagedBatch('maxTimestamp', `the records' highest time is ${highestTimestampMs}`);
  return { bytes: storedForm(part.bytes), partitions, highestTimestampMs };
}

function checkSentHeaders(headers: readonly Header[]): void {
  checkHeaders(headers);
  if (headers.some(saysUpload)) throw invalid('invalid-headers', 'headers', `${KIND_HEADER}: upload is set by Kelp alone`);
}

/** A batch that was read from a log carries that log's offset, outside the checksum. */
function storedForm(bytes: Bytes): Bytes {
  return bytes.subarray(0, 8).every((byte) => byte === 0) ? bytes : withBaseOffset(bytes, 0);
}
