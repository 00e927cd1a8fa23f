import { crc32c } from '#crc32c';
import type { Bytes, Header, Message } from '../model/message.ts';
import type { Codec, Compression } from '../ports/compression.ts';
import * as layout from './record-batch-header.ts';
import { utf8Bytes, writeUtf8 } from './utf8.ts';
import { type Writer, varintBytes, varlongBytes, writeVarint, writeVarlong } from './varint.ts';

/**
 * Records below this are stored as they are: compressing costs about 12 microseconds whatever the size, which storing a
 * kilobyte less wins back, and that much is saved only from about two kilobytes on.
 */
const COMPRESS_BYTES_MIN = 2_048;
/** Below this, a loop copies faster than a call into the runtime. */
const COPY_CALL_BYTES_MIN = 24;
const NO_VALUE = -1;
const NO_PRODUCER = -1;

/** The messages as one record batch with base offset 0 and no producer. Byte order and defaults are in FORMAT.md. */
export async function encodeBatch(messages: readonly Message[], compression: Compression): Promise<Bytes> {
  const plain = encodeRecords(messages);
  const records = plain.subarray(layout.BATCH_HEADER_BYTES);
  if (records.length < COMPRESS_BYTES_MIN) return finishBatch(plain, 'none', messages);
  const compressed = await compression.compress(records);
  if (compressed.codec === 'none') return finishBatch(plain, 'none', messages);
  const batch = new Uint8Array(layout.BATCH_HEADER_BYTES + compressed.bytes.length);
  batch.set(compressed.bytes, layout.BATCH_HEADER_BYTES);
  return finishBatch(batch, compressed.codec, messages);
}

/** The records behind room for the header, in the one allocation that an uncompressed batch needs. */
function encodeRecords(messages: readonly Message[]): Bytes {
  const base = baseTimestamp(messages);
  let total = layout.BATCH_HEADER_BYTES;
  const sizes = messages.map((message, index) => {
    const size = recordBytes(message, message.timestampMs - base, index);
    total += varintBytes(size) + size;
    return size;
  });
  const writer: Writer = { bytes: new Uint8Array(total), at: layout.BATCH_HEADER_BYTES };
  messages.forEach((message, index) => {
    writeVarint(writer, sizes[index] ?? 0);
    writer.at += 1; // The record's attributes: none are defined.
    writeVarlong(writer, message.timestampMs - base);
    writeVarint(writer, index);
    writeBytes(writer, message.key);
    writeBytes(writer, message.value);
    writeVarint(writer, message.headers.length);
    for (const header of message.headers) writeHeader(writer, header);
  });
  if (writer.at !== total) throw new RangeError(`records of ${writer.at} bytes were measured as ${total}`);
  return writer.bytes;
}

function recordBytes(message: Message, timestampDelta: number, offsetDelta: number): number {
  let size = 1 + varlongBytes(timestampDelta) + varintBytes(offsetDelta);
  size += fieldBytes(message.key.length) + (message.value === null ? 1 : fieldBytes(message.value.length));
  size += varintBytes(message.headers.length);
  for (const { name, value } of message.headers) size += fieldBytes(utf8Bytes(name)) + (value === null ? 1 : fieldBytes(value.length));
  return size;
}

const fieldBytes = (length: number): number => varintBytes(length) + length;

function writeBytes(writer: Writer, bytes: Bytes | null): void {
  if (bytes === null) {
    writeVarint(writer, NO_VALUE);
    return;
  }
  writeVarint(writer, bytes.length);
  if (bytes.length < COPY_CALL_BYTES_MIN) {
    for (let from = 0; from < bytes.length; from += 1) writer.bytes[writer.at + from] = bytes[from] ?? 0;
  } else {
    writer.bytes.set(bytes, writer.at);
  }
  writer.at += bytes.length;
}

function writeHeader(writer: Writer, header: Header): void {
  const length = utf8Bytes(header.name);
  writeVarint(writer, length);
  writeUtf8(header.name, length, writer);
  writer.at += length;
  writeBytes(writer, header.value);
}

function finishBatch(batch: Bytes, codec: Codec, messages: readonly Message[]): Bytes {
  let maxTimestampMs = 0;
  for (const { timestampMs } of messages) if (timestampMs > maxTimestampMs) maxTimestampMs = timestampMs;
  return writeBatchHeader(batch, { codec, count: messages.length, baseTimestampMs: baseTimestamp(messages), maxTimestampMs });
}

type Written = Pick<layout.BatchHeader, 'count' | 'baseTimestampMs' | 'maxTimestampMs'> & { readonly codec: Codec };

/** The batch whose records stand behind room for its header, with that. */
export function writeBatchHeader(batch: Bytes, { codec, count, baseTimestampMs, maxTimestampMs }: Written): Bytes {
  const view = new DataView(batch.buffer, batch.byteOffset, layout.BATCH_HEADER_BYTES);
  view.setInt32(layout.AT_BATCH_LENGTH, batch.length - layout.BATCH_LENGTH_EXCLUDES);
  view.setInt8(layout.AT_MAGIC, layout.BATCH_MAGIC);
  view.setUint16(layout.AT_ATTRIBUTES, layout.codecBits(codec));
  view.setInt32(layout.AT_LAST_OFFSET_DELTA, count - 1);
  layout.writeInt64(view, layout.AT_BASE_TIMESTAMP, baseTimestampMs);
  layout.writeInt64(view, layout.AT_MAX_TIMESTAMP, maxTimestampMs);
  layout.writeInt64(view, layout.AT_PRODUCER_ID, NO_PRODUCER);
  view.setInt16(layout.AT_PRODUCER_EPOCH, NO_PRODUCER);
  view.setInt32(layout.AT_BASE_SEQUENCE, NO_PRODUCER);
  view.setInt32(layout.AT_RECORDS_COUNT, count);
  view.setUint32(layout.AT_CRC, crc32c(batch.subarray(layout.BATCH_CRC_FROM)));
  return batch;
}

/** The first message's time, to which all others are relative. */
function baseTimestamp(messages: readonly Message[]): number {
  const first = messages[0];
  if (first === undefined) throw new RangeError('a batch has at least one message');
  return first.timestampMs;
}
