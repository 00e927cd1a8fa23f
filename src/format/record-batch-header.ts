import { crc32c } from '#crc32c';
import { type KelpError, invalid } from '../model/errors.ts';
import type { Bytes } from '../model/message.ts';
import type { Codec } from '../ports/compression.ts';
import { inField } from './field-path.ts';

// The first 61 bytes of a record batch (version 2 of Kafka's message format); FORMAT.md has the table.

export const BATCH_HEADER_BYTES = 61;
export const BATCH_MAGIC = 2;
/** Bytes before those that the length counts: the base offset and the length itself. */
export const BATCH_LENGTH_EXCLUDES = 12;
/** Where the checksummed part begins. Base offset and leader epoch are before it, so a reader may set them. */
export const BATCH_CRC_FROM = 21;

export const AT_BATCH_LENGTH = 8;
export const AT_MAGIC = 16;
export const AT_CRC = 17;
export const AT_ATTRIBUTES = 21;
export const AT_LAST_OFFSET_DELTA = 23;
export const AT_BASE_TIMESTAMP = 27;
export const AT_MAX_TIMESTAMP = 35;
export const AT_PRODUCER_ID = 43;
export const AT_PRODUCER_EPOCH = 51;
export const AT_BASE_SEQUENCE = 53;
export const AT_RECORDS_COUNT = 57;

const CODEC_BITS = 0b111;
const CODECS: readonly (Codec | undefined)[] = ['none', 'gzip', undefined, undefined, 'zstd'];
export const codecBits = (codec: Codec): number => CODECS.indexOf(codec);

export type BatchHeader = {
  /** Length of the whole batch. */
  readonly bytes: number;
  readonly crc: number;
  /** Undefined: one that is not supported (Snappy, LZ4, reserved numbers). */
  readonly codec: Codec | undefined;
  /** Attributes without the codec: timestamp type, transaction, control, delete horizon; Kelp writes and accepts none. */
  readonly flags: number;
  readonly count: number;
  readonly lastOffsetDelta: number;
  /** Milliseconds, −1 where none; beyond ±2^53 not exact, which no check lets through. */
  readonly baseTimestampMs: number;
  readonly maxTimestampMs: number;
};

export const damagedBatch = (field: string, message: string): KelpError => invalid('invalid-batch', field, message);

/**
 * The header of the batch at `at`, looked at but for magic and length not believed: {@link verifyBatch} does that.
 * Error `invalid-batch` where the bytes can't be a batch that lies wholly in `bytes`.
 */
export function readBatchHeader(bytes: Bytes, at = 0): BatchHeader {
  const header = readHeaderAlone(bytes, at);
  const left = bytes.length - at;
  if (header.bytes > left) throw damagedBatch('batchLength', `the length says ${header.bytes} bytes, ${left} are left`);
  return header;
}

/** The same of a batch of which no more than the header need be in `bytes`. Error `invalid-batch` where it is not, or none at all. */
export function readHeaderAlone(bytes: Bytes, at = 0): BatchHeader {
  const left = bytes.length - at;
  if (left < BATCH_HEADER_BYTES) throw damagedBatch('', `a batch has at least ${BATCH_HEADER_BYTES} bytes, ${left} are left`);
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, BATCH_HEADER_BYTES);
  const magic = view.getInt8(AT_MAGIC);
  if (magic !== BATCH_MAGIC) throw damagedBatch('magic', `only version 2 of the format is supported, this says ${magic}`);
  const length = view.getInt32(AT_BATCH_LENGTH) + BATCH_LENGTH_EXCLUDES;
  if (length < BATCH_HEADER_BYTES) throw damagedBatch('batchLength', `the length says ${length} bytes`);
  const attributes = view.getUint16(AT_ATTRIBUTES);
  return {
    bytes: length,
    crc: view.getUint32(AT_CRC),
    codec: CODECS[attributes & CODEC_BITS],
    flags: attributes & ~CODEC_BITS,
    count: view.getInt32(AT_RECORDS_COUNT),
    lastOffsetDelta: view.getInt32(AT_LAST_OFFSET_DELTA),
    baseTimestampMs: readInt64(view, AT_BASE_TIMESTAMP),
    maxTimestampMs: readInt64(view, AT_MAX_TIMESTAMP),
  };
}

/** Error `invalid-batch`: gaps in the offsets (a compacted log has them) would make offsets of Kelp's gapless segments wrong. */
export function checkBatchCount({ count, lastOffsetDelta }: BatchHeader): void {
  if (count >= 1 && lastOffsetDelta === count - 1) return;
  throw damagedBatch('recordsCount', `${count} records with a last offset delta of ${lastOffsetDelta}`);
}

/**
 * The header of `bytes`, which is exactly one batch with the right checksum and a count that fits its offsets.
 * Error `invalid-batch` otherwise; for a batch that was stored, the reader makes `corrupt` of it.
 */
export function verifyBatch(bytes: Bytes): BatchHeader {
  const header = readBatchHeader(bytes);
  if (header.bytes !== bytes.length) throw damagedBatch('batchLength', `the length says ${header.bytes} of ${bytes.length} bytes`);
  if (crc32c(bytes.subarray(BATCH_CRC_FROM)) !== header.crc) throw damagedBatch('crc', 'the checksum is wrong');
  checkBatchCount(header);
  return header;
}

export type BatchPart = { readonly start: number; readonly bytes: Bytes; readonly header: BatchHeader };

/** The batches that `bytes` consists of, each verified as it comes. An error's field names the batch, as in `batches[2].crc`. */
export function* splitBatches(bytes: Bytes): Generator<BatchPart> {
  for (let start = 0, index = 0; start < bytes.length; index += 1) {
    const part = batchAt(bytes, start, index);
    yield part;
    start += part.header.bytes;
  }
}

function batchAt(bytes: Bytes, start: number, index: number): BatchPart {
  try {
    const part = bytes.subarray(start, start + readBatchHeader(bytes, start).bytes);
    return { start, bytes: part, header: verifyBatch(part) };
  } catch (error) {
    throw inField(`batches[${index}]`, error);
  }
}

/** A copy with this base offset, which is outside the checksum. Offsets up to 2^53 − 1. */
export function withBaseOffset(bytes: Bytes, baseOffset: number): Bytes {
  // Not `slice`, which on Node's own kind of bytes is a view: it would write into an object that others read.
  const copy = new Uint8Array(bytes);
  writeInt64(new DataView(copy.buffer), 0, baseOffset);
  return copy;
}

function readInt64(view: DataView, at: number): number {
  return view.getInt32(at) * 2 ** 32 + view.getUint32(at + 4);
}

/** Integers between ±2^53. */
export function writeInt64(view: DataView, at: number, value: number): void {
  view.setInt32(at, Math.floor(value / 2 ** 32));
  view.setUint32(at + 4, value >>> 0);
}
