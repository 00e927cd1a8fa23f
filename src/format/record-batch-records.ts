import type { Bytes, Header } from '../model/message.ts';
import { inField } from './field-path.ts';
import { damagedBatch } from './record-batch-header.ts';
import { decodeUtf8 } from './utf8.ts';
import { type Cursor, nextByte, readVarint, readVarlong } from './varint.ts';

/** Smallest record: length, attributes, two deltas, lengths of key and value, count of headers. */
const RECORD_BYTES_MIN = 7;
/** Smallest header: two lengths. */
const HEADER_BYTES_MIN = 2;
const NO_VALUE = -1;

/** One record: views into the batch's records, and where its headers are, for those who need them. */
export type BatchRecord = {
  readonly key: Bytes;
  readonly value: Bytes | null;
  /** Relative to the batch's base timestamp. */
  readonly timestampDeltaMs: number;
  readonly headers: { readonly from: number; readonly to: number; readonly count: number };
};

/**
 * Visits the records of a batch in order: `records` is what stands behind the batch's header, uncompressed. Nothing is
 * believed: each length is checked against what is left, offsets are 0 … count − 1, and nothing is left over. Error
 * `invalid-batch`, its field naming the record as in `records[5].key`; errors of `visit` get the same prefix.
 */
export function forEachRecord(records: Bytes, count: number, visit: (record: BatchRecord, index: number) => void): void {
  if (count * RECORD_BYTES_MIN > records.length) throw damagedBatch('recordsCount', `${count} records don't fit ${records.length} bytes`);
  const cursor: Cursor = { bytes: records, at: 0, end: records.length };
  for (let index = 0; index < count; index += 1) {
    try {
      visit(readRecord(cursor, index), index);
    } catch (error) {
      throw inField(`records[${index}]`, error);
    }
  }
  if (cursor.at !== cursor.end) throw damagedBatch('recordsCount', `${cursor.end - cursor.at} bytes are left behind the last record`);
}

function readRecord(cursor: Cursor, index: number): BatchRecord {
  const length = readVarint(cursor);
  const end = cursor.at + length;
  if (length < 0 || end > cursor.end) throw damagedBatch('length', `the length says ${length} bytes`);
  nextByte(cursor); // Attributes: none are defined; kept as they are.
  const timestampDeltaMs = readVarlong(cursor);
  const offsetDelta = readVarint(cursor);
  if (offsetDelta !== index) throw damagedBatch('offsetDelta', `offsets must count from 0: expected ${index}, got ${offsetDelta}`);
  const key = readBytes(cursor, 'key');
  if (key === null) throw damagedBatch('key', 'a record needs a key; an empty one is a key, none is not');
  const value = readBytes(cursor, 'value');
  const count = readVarint(cursor);
  const from = cursor.at;
  if (count < 0 || from > end || count * HEADER_BYTES_MIN > end - from)
    throw damagedBatch('headers', `the record says it has ${count} headers`);
  if (count === 0 && from !== end) throw damagedBatch('length', 'the record is longer than its parts');
  cursor.at = end;
  return { key, value, timestampDeltaMs, headers: { from, to: end, count } };
}

/** The headers of a record that came from these `records`. */
export function readHeaders(records: Bytes, { headers }: BatchRecord): Header[] {
  const cursor: Cursor = { bytes: records, at: headers.from, end: headers.to };
  const list: Header[] = [];
  for (let index = 0; index < headers.count; index += 1) {
    const name = readBytes(cursor, `headers[${index}]`);
    if (name === null) throw damagedBatch(`headers[${index}]`, 'a header needs a name');
    list.push({ name: readName(name, index), value: readBytes(cursor, `headers[${index}]`) });
  }
  if (cursor.at !== cursor.end) throw damagedBatch('length', 'the record is longer than its parts');
  return list;
}

function readName(name: Bytes, index: number): string {
  const text = decodeUtf8(name);
  // Names are text everywhere else: replacing what is wrong would store another name than the one that was sent.
  if (text === undefined) throw damagedBatch(`headers[${index}]`, 'the name is not valid UTF-8');
  return text;
}

function readBytes(cursor: Cursor, field: string): Bytes | null {
  const length = readVarint(cursor);
  if (length === NO_VALUE) return null;
  if (length < 0 || length > cursor.end - cursor.at) throw damagedBatch(field, `the length says ${length} bytes`);
  cursor.at += length;
  return cursor.bytes.subarray(cursor.at - length, cursor.at);
}
