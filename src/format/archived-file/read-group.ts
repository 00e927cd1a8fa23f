import { crc32c } from '#crc32c';
import type { ArchivedMessage } from '../../model/archived-file.ts';
import { KelpError } from '../../model/errors.ts';
import type { Bytes } from '../../model/message.ts';
import { byteColumn, deltaColumn, int32Column, int64Column } from './column-values.ts';
import { damagedFile } from './damaged-file.ts';
import { toHex } from './file-metadata.ts';
import { headerColumn } from './header-column.ts';
import type { ArchivedGroup } from './read-footer.ts';
import { rowsToBatch, type RecordColumns } from './rows-to-batch.ts';
import { type ColumnPage, DELTA_BINARY_PACKED, PLAIN, readPage, type Unpack } from './read-page.ts';

/** The messages of a row group, by row: made when they are asked for, of columns whose bytes they share. */
export type GroupRows = {
  readonly count: number;
  offsetAt(row: number): number;
  timestampAt(row: number): number;
  committedAt(row: number): number;
  /** Of key, value and headers, as a record batch has them, at most. */
  bytesAt(row: number): number;
  messageAt(row: number): ArchivedMessage;
  /** Rows whose offsets have no gap, as a record batch that is not compressed. */
  toBatch(first: number, count: number): Bytes;
};

/** What a record takes at most beside its key, value and headers, and a header beside its name and value. */
const RECORD_MARKS_BYTES = 40;
const HEADER_MARKS_BYTES = 10;

const REQUIRED = { levels: { repetition: 0, definition: 0 }, encoding: PLAIN } as const;
const OFFSETS = { ...REQUIRED, encoding: DELTA_BINARY_PACKED } as const;
const VALUES = { levels: { repetition: 0, definition: 1 }, encoding: PLAIN } as const;
const HEADER_NAMES = { levels: { repetition: 1, definition: 1 }, encoding: PLAIN } as const;
const HEADER_VALUES = { levels: { repetition: 1, definition: 2 }, encoding: PLAIN } as const;

/**
 * The row group of which `bytes` are those of its range. The format's library reads headers, levels and deltas of its pages; values are
 * plain, and stay where they are until their message is asked for. Error `corrupt`.
 */
export async function readGroup(
  unpack: Unpack,
  { group, bytes }: { readonly group: ArchivedGroup; readonly bytes: Bytes },
): Promise<GroupRows> {
  if (bytes.length !== group.range.length || toHex(crc32c(bytes)) !== group.checksum) throw damagedFile('a row group has another checksum');
  try {
    return await readColumns(unpack, group, bytes);
  } catch (error) {
    if (error instanceof KelpError && error.kind === 'corrupt') throw error;
    throw damagedFile('a row group with a right checksum does not decode', error);
  }
}

async function readColumns(unpack: Unpack, group: ArchivedGroup, bytes: Bytes): Promise<GroupRows> {
  function page(chunk: number, form: Parameters<typeof readPage>[2]): Promise<ColumnPage> {
    const { start, length } = group.chunks[chunk] ?? { start: 0, length: 0 };
    const from = start - group.range.start;
    return readPage(unpack, bytes.subarray(from, from + length), form);
  }
  const hasGaps = group.last - group.first >= group.count;
  const [offsets, partitions, keys, values, names, headerValues, timestamps, committed] = await Promise.all([
    hasGaps ? page(0, OFFSETS) : undefined,
    page(1, REQUIRED),
    page(2, REQUIRED),
    page(3, VALUES),
    page(4, HEADER_NAMES),
    page(5, HEADER_VALUES),
    page(6, REQUIRED),
    page(7, REQUIRED),
  ]);
  return rowsOf(group, {
    ...(offsets === undefined ? {} : { offsets: deltaColumn(offsets) }),
    partitions: int32Column(partitions),
    keys: byteColumn(keys, 0),
    values: byteColumn(values, 1),
    headers: headerColumn(names, headerValues),
    timestamps: int64Column(timestamps),
    committed: int64Column(committed),
  });
}

type Columns = RecordColumns & {
  /** Absent where there are no gaps. */
  readonly offsets?: Float64Array;
  readonly partitions: Int32Array;
  readonly committed: Float64Array;
};

function rowsOf(group: ArchivedGroup, columns: Columns): GroupRows {
  const { offsets, partitions, keys, values, headers, timestamps, committed } = columns;
  const { first, count } = group;
  const lengths = [partitions, timestamps, committed].map(({ length }) => length);
  if ([...lengths, keys.entries, values.entries, headers.rows].some((length) => length !== count)) {
    throw damagedFile('a column is longer or shorter than its row group');
  }
  if (offsets !== undefined) checkOffsets(offsets, group);
  const offsetAt = (row: number): number => (offsets === undefined ? first + row : at(offsets, row));
  return {
    count,
    offsetAt,
    timestampAt: (row) => at(timestamps, row),
    committedAt: (row) => at(committed, row),
    bytesAt(row) {
      let bytes = RECORD_MARKS_BYTES + keys.lengthAt(row) + values.lengthAt(row);
      for (let entry = headers.firstOf(row), end = headers.endOf(row); entry < end; entry += 1) {
        bytes += HEADER_MARKS_BYTES + headers.names.lengthAt(entry) + headers.values.lengthAt(entry);
      }
      return bytes;
    },
    toBatch: (start, size) => rowsToBatch(columns, start, size),
    messageAt: (row) => ({
      offset: offsetAt(row),
      partition: at(partitions, row),
      key: keys.at(row) ?? NO_BYTES,
      value: values.at(row),
      headers: headers.at(row),
      timestampMs: at(timestamps, row),
      committedMs: at(committed, row),
    }),
  };
}

const at = (numbers: Float64Array | Int32Array, row: number): number => numbers[row] ?? 0;

const NO_BYTES = new Uint8Array(0);

function checkOffsets(offsets: Float64Array, { first, last, count }: ArchivedGroup): void {
  const rises = offsets.every((offset, row) => row === 0 || offset > (offsets[row - 1] ?? Infinity));
  if (!rises || offsets.length !== count || offsets[0] !== first || offsets.at(-1) !== last) {
    throw damagedFile('a row group has other offsets than its statistics');
  }
}
