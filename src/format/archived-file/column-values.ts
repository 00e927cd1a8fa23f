import { deltaBinaryUnpack } from 'hyparquet/src/delta.js';
import type { Bytes } from '../../model/message.ts';
import { damagedFile } from './damaged-file.ts';
import type { Writer } from '../varint.ts';
import type { ColumnPage } from './read-page.ts';

const LENGTH_BYTES = 4;
const INT32_BYTES = 4;
const INT64_BYTES = 8;

/** Byte strings of one column, by entry. */
export type ByteColumn = {
  /** A view of memory that all of them share; null: there is none. */
  at(entry: number): Bytes | null;
  /** −1: there is none. */
  lengthAt(entry: number): number;
  /** Writes the bytes, if there are any. */
  copy(entry: number, into: Writer): void;
  readonly entries: number;
};

/** `highest`: the definition level of an entry that has a value. */
export function byteColumn({ entries, definition, valueCount, values }: ColumnPage, highest: number): ByteColumn {
  const view = new DataView(values.buffer, values.byteOffset, values.length);
  const starts = new Int32Array(entries);
  const ends = new Int32Array(entries);
  let at = 0;
  let count = 0;
  for (let entry = 0; entry < entries; entry += 1) {
    if (definition !== undefined && definition[entry] !== highest) {
      ends[entry] = -1;
      continue;
    }
    const length = view.getUint32(at, true);
    starts[entry] = at + LENGTH_BYTES;
    at += LENGTH_BYTES + length;
    ends[entry] = at;
    count += 1;
  }
  if (count !== valueCount || at !== values.length) throw damagedFile('a column has other values than it says');
  return {
    at(entry) {
      const end = ends[entry] ?? -1;
      return end < 0 ? null : values.subarray(starts[entry], end);
    },
    lengthAt: (entry) => Math.max(-1, (ends[entry] ?? -1) - (starts[entry] ?? 0)),
    copy(entry, into) {
      const start = starts[entry] ?? 0;
      copyBytes(values, { from: start, to: ends[entry] ?? start }, into);
    },
    entries,
  };
}

/** Up to here, a loop copies faster than a call into the runtime with a view made for it. */
const LOOP_BYTES_MAX = 48;

function copyBytes(bytes: Bytes, { from, to }: { readonly from: number; readonly to: number }, into: Writer): void {
  if (to - from <= LOOP_BYTES_MAX) {
    for (let at = from; at < to; at += 1) into.bytes[into.at++] = bytes[at] ?? 0;
    return;
  }
  into.bytes.set(bytes.subarray(from, to), into.at);
  into.at += to - from;
}

export function int32Column({ valueCount, values }: ColumnPage): Int32Array {
  checkLength(values, valueCount * INT32_BYTES);
  return new Int32Array(aligned(values));
}

/** Integers between ±2^53, times among them. */
export function int64Column({ valueCount, values }: ColumnPage): Float64Array {
  checkLength(values, valueCount * INT64_BYTES);
  const halves = aligned(values);
  const low = new Uint32Array(halves);
  const high = new Int32Array(halves);
  const numbers = new Float64Array(valueCount);
  for (let at = 0; at < valueCount; at += 1) numbers[at] = (high[2 * at + 1] ?? 0) * 2 ** 32 + (low[2 * at] ?? 0);
  return numbers;
}

export function deltaColumn({ valueCount, values }: ColumnPage): Float64Array {
  const numbers = new BigInt64Array(valueCount);
  deltaBinaryUnpack({ view: new DataView(values.buffer, values.byteOffset, values.length), offset: 0 }, valueCount, numbers);
  return Float64Array.from(numbers, Number);
}

function checkLength(values: Bytes, length: number): void {
  if (values.length !== length) throw damagedFile('a column has other values than it says');
}

/** Numbers are read where their own size divides the address. */
const aligned = (values: Bytes): ArrayBuffer => new Uint8Array(values).buffer;
