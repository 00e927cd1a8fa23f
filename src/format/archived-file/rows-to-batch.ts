import type { Bytes } from '../../model/message.ts';
import { BATCH_HEADER_BYTES } from '../record-batch-header.ts';
import { writeBatchHeader } from '../record-batch-encode.ts';
import { varintBytes, varlongBytes, type Writer, writeVarint, writeVarlong } from '../varint.ts';
import type { ByteColumn } from './column-values.ts';
import type { HeaderColumn } from './header-column.ts';

/** The columns that a record has parts of, by row. */
export type RecordColumns = {
  readonly keys: ByteColumn;
  readonly values: ByteColumn;
  readonly headers: HeaderColumn;
  readonly timestamps: Float64Array;
};

/** As FORMAT.md has records; see `record-batch-encode.ts`, which does the same for messages. This makes none, for speed. */
export function rowsToBatch(columns: RecordColumns, first: number, count: number): Bytes {
  const { timestamps } = columns;
  const base = timestamps[first] ?? 0;
  const sizes = new Int32Array(count);
  let total = BATCH_HEADER_BYTES;
  let maxTimestampMs = 0;
  for (let index = 0; index < count; index += 1) {
    const timestampMs = timestamps[first + index] ?? 0;
    const size = recordBytes(columns, { row: first + index, index, timestampDelta: timestampMs - base });
    sizes[index] = size;
    total += varintBytes(size) + size;
    maxTimestampMs = Math.max(maxTimestampMs, timestampMs);
  }
  const writer: Writer = { bytes: new Uint8Array(total), at: BATCH_HEADER_BYTES };
  for (let index = 0; index < count; index += 1) {
    writeVarint(writer, sizes[index] ?? 0);
    writeRecord(writer, columns, { row: first + index, index, timestampDelta: (timestamps[first + index] ?? 0) - base });
  }
  if (writer.at !== total) throw new RangeError(`records of ${writer.at} bytes were measured as ${total}`);
  return writeBatchHeader(writer.bytes, { codec: 'none', count, baseTimestampMs: base, maxTimestampMs });
}

type Place = { readonly row: number; readonly index: number; readonly timestampDelta: number };

function recordBytes({ keys, values, headers }: RecordColumns, { row, index, timestampDelta }: Place): number {
  let size = 1 + varlongBytes(timestampDelta) + varintBytes(index) + fieldBytes(keys, row) + fieldBytes(values, row);
  const firstHeader = headers.firstOf(row);
  const end = headers.endOf(row);
  for (let entry = firstHeader; entry < end; entry += 1) size += fieldBytes(headers.names, entry) + fieldBytes(headers.values, entry);
  return size + varintBytes(end - firstHeader);
}

function writeRecord(writer: Writer, { keys, values, headers }: RecordColumns, { row, index, timestampDelta }: Place): void {
  writer.at += 1; // The record's attributes: none are defined.
  writeVarlong(writer, timestampDelta);
  writeVarint(writer, index);
  writeField(writer, keys, row);
  writeField(writer, values, row);
  const firstHeader = headers.firstOf(row);
  const end = headers.endOf(row);
  writeVarint(writer, end - firstHeader);
  for (let entry = firstHeader; entry < end; entry += 1) {
    writeField(writer, headers.names, entry);
    writeField(writer, headers.values, entry);
  }
}

/** The length −1 is no value. */
const fieldBytes = (column: ByteColumn, entry: number): number => {
  const length = column.lengthAt(entry);
  return varintBytes(length) + Math.max(0, length);
};

function writeField(writer: Writer, column: ByteColumn, entry: number): void {
  const length = column.lengthAt(entry);
  writeVarint(writer, length);
  if (length > 0) column.copy(entry, writer);
}
