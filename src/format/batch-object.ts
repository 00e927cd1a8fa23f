import { crc32c } from '#crc32c';
import { KelpError } from '../model/errors.ts';
import { isSegmentId, isTopicId, type SegmentId, type TopicId } from '../model/ids.ts';
import { SEGMENTS_OPEN_MAX } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import { decodeUtf8, writeUtf8 } from './utf8.ts';

// A batch object: this header, then whole record batches, one behind the other. Which of them belong to which segment, and
// under which offsets, stands in the heads and pages; the header only says where to look for that.

const MAGIC = 'KLPO';
const VERSION = 1;
const AT_VERSION = 4;
const AT_SEGMENT_COUNT = 6;
const AT_TOPIC = 8;
const AT_SEGMENTS = 24;
const SEGMENT_BYTES = 8;
const CRC_BYTES = 4;

export type BatchObjectHeader = {
  readonly topic: TopicId;
  /** All segments that have batches in the object: a sweeper looks at their heads before it deletes it. */
  readonly segments: readonly SegmentId[];
};

/** Where the first batch begins. */
export const batchObjectHeaderBytes = (segmentCount: number): number => AT_SEGMENTS + segmentCount * SEGMENT_BYTES + CRC_BYTES;

/** No header is longer, so this many bytes from the front of an object are enough to read it. */
export const BATCH_OBJECT_HEADER_BYTES_MAX = batchObjectHeaderBytes(SEGMENTS_OPEN_MAX);

/** The object is this and then the batches: nothing of them is copied. */
export function encodeBatchObjectHeader({ topic, segments }: BatchObjectHeader): Bytes {
  if (segments.length === 0 || segments.length > SEGMENTS_OPEN_MAX) throw new RangeError(`${segments.length} segments in one object`);
  const bytes = new Uint8Array(batchObjectHeaderBytes(segments.length));
  const view = new DataView(bytes.buffer);
  writeUtf8(MAGIC, MAGIC.length, { bytes, at: 0 });
  view.setUint8(AT_VERSION, VERSION);
  view.setUint16(AT_SEGMENT_COUNT, segments.length);
  writeUtf8(topic, topic.length, { bytes, at: AT_TOPIC });
  segments.forEach((segment, index) => writeUtf8(segment, SEGMENT_BYTES, { bytes, at: AT_SEGMENTS + index * SEGMENT_BYTES }));
  view.setUint32(bytes.length - CRC_BYTES, crc32c(bytes.subarray(0, -CRC_BYTES)));
  return bytes;
}

/**
 * The header of the object that begins with `bytes` ({@link BATCH_OBJECT_HEADER_BYTES_MAX} of them, or all that it has).
 * Error `corrupt`: not a batch object, damaged, or written by a newer program; nobody may delete an object on such a ground.
 */
export function decodeBatchObjectHeader(bytes: Bytes): BatchObjectHeader {
  if (bytes.length < AT_SEGMENTS || decodeUtf8(bytes.subarray(0, AT_VERSION)) !== MAGIC) throw damaged('it is no batch object');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (view.getUint8(AT_VERSION) !== VERSION) throw damaged(`its version is ${view.getUint8(AT_VERSION)}`);
  const count = view.getUint16(AT_SEGMENT_COUNT);
  const length = batchObjectHeaderBytes(count);
  if (length > bytes.length) throw damaged(`its header has ${length} bytes, ${bytes.length} are there`);
  const crcAt = length - CRC_BYTES;
  if (crc32c(bytes.subarray(0, crcAt)) !== view.getUint32(crcAt)) throw damaged('the checksum is wrong');
  const topic = decodeUtf8(bytes.subarray(AT_TOPIC, AT_SEGMENTS)) ?? '';
  const segments = Array.from({ length: count }, (_, index) => AT_SEGMENTS + index * SEGMENT_BYTES).map(
    (at) => decodeUtf8(bytes.subarray(at, at + SEGMENT_BYTES)) ?? '',
  );
  if (!isTopicId(topic) || !segments.every(isSegmentId)) throw damaged('its ids are not well-formed');
  return { topic, segments };
}

const damaged = (what: string): KelpError => new KelpError('corrupt', 'corrupt', `the header of a batch object is damaged: ${what}`);
