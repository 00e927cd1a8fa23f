import { invalid } from '../model/errors.ts';
import type { Bytes } from '../model/message.ts';

// Zigzag varints of the record batch: the sign goes to the lowest bit, then seven bits a byte, lowest first.

/** Where the next byte is written. */
export type Writer = { readonly bytes: Bytes; at: number };
/** Where the next byte is read; nothing at or behind `end` is. */
export type Cursor = { readonly bytes: Bytes; at: number; readonly end: number };

const VARINT_BYTES_MAX = 5;
/** 56 bits: more than any timestamp needs, and what a double can add up before it is checked. */
const VARLONG_BYTES_MAX = 8;
const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;

/** Bytes of a signed 32-bit integer. */
export function varintBytes(value: number): number {
  const zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  if (zigzag < 0x80) return 1;
  if (zigzag < 0x4000) return 2;
  if (zigzag < 0x20_0000) return 3;
  return zigzag < 0x1000_0000 ? 4 : 5;
}

export function writeVarint(writer: Writer, value: number): void {
  let zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  while (zigzag >= 0x80) {
    writer.bytes[writer.at++] = (zigzag & 0x7f) | 0x80;
    zigzag >>>= 7;
  }
  writer.bytes[writer.at++] = zigzag;
}

/** Error `invalid-batch` at the end of the input, or for more than 32 bits. */
export function readVarint(cursor: Cursor): number {
  const first = nextByte(cursor);
  if (first < 0x80) return (first >>> 1) ^ -(first & 1);
  let zigzag = first & 0x7f;
  for (let count = 1; count < VARINT_BYTES_MAX; count += 1) {
    const byte = nextByte(cursor);
    if (count === VARINT_BYTES_MAX - 1 && byte > 0x0f) break;
    zigzag |= (byte & 0x7f) << (7 * count);
    if (byte < 0x80) return (zigzag >>> 1) ^ -(zigzag & 1);
  }
  throw invalid('invalid-batch', '', 'an integer has more than 32 bits');
}

/** Bytes of an integer between ±2^51. */
export function varlongBytes(value: number): number {
  if (isInt32(value)) return varintBytes(value);
  let bytes = 1;
  for (let rest = Math.floor(zigzagOf(value) / 128); rest > 0; rest = Math.floor(rest / 128)) bytes += 1;
  return bytes;
}

export function writeVarlong(writer: Writer, value: number): void {
  if (isInt32(value)) {
    writeVarint(writer, value);
    return;
  }
  let zigzag = zigzagOf(value);
  while (zigzag >= 0x80) {
    writer.bytes[writer.at++] = (zigzag % 128) | 0x80;
    zigzag = Math.floor(zigzag / 128);
  }
  writer.bytes[writer.at++] = zigzag;
}

/** Error `invalid-batch` at the end of the input, or beyond ±2^52, where no timestamp lies. */
export function readVarlong(cursor: Cursor): number {
  let zigzag = 0;
  let scale = 1;
  for (let count = 0; count < VARLONG_BYTES_MAX; count += 1) {
    const byte = nextByte(cursor);
    zigzag += (byte & 0x7f) * scale;
    if (zigzag > Number.MAX_SAFE_INTEGER) break;
    if (byte < 0x80) return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    scale *= 128;
  }
  throw invalid('invalid-batch', '', 'a timestamp is out of range');
}

export function nextByte(cursor: Cursor): number {
  const byte = cursor.at < cursor.end ? cursor.bytes[cursor.at] : undefined;
  if (byte === undefined) throw invalid('invalid-batch', '', 'the records end too early');
  cursor.at += 1;
  return byte;
}

const isInt32 = (value: number): boolean => value >= INT32_MIN && value <= INT32_MAX;
const zigzagOf = (value: number): number => (value >= 0 ? value * 2 : -value * 2 - 1);
