import { type FileMetaData, parquetMetadata, type RowGroup } from 'hyparquet';
import { FILE_TAIL_BYTES } from '../../model/archive-limits.ts';
import type { ArchivedFile } from '../../model/archived-file.ts';
import type { Bytes } from '../../model/message.ts';
import { damagedFile } from './damaged-file.ts';
import { checkFooter, FOOTER_FRAME_BYTES, parseMetadata } from './file-metadata.ts';
import { hasFileSchema } from './file-schema.ts';

/** Bytes `[start, start + length)` of an object. */
export type ByteRange = { readonly start: number; readonly length: number };

/**
 * Where a row group is, and which messages are in it: `count` of them from offset `first` to `last`, both inside, which are fewer where some
 * were quarantined. `checksum`: eight hex digits, CRC-32C.
 */
export type ArchivedGroup = {
  readonly index: number;
  readonly first: number;
  readonly last: number;
  readonly count: number;
  /** One behind the other, in the order of the columns. */
  readonly chunks: readonly ByteRange[];
  readonly range: ByteRange;
  /** What the chunks unpack to. */
  readonly plainBytes: number;
  readonly checksum: string;
  readonly highestTimestampMs: number;
};

/** `groups` are in the order of offsets, and what is in none of them was quarantined. */
export type FileFooter = {
  readonly file: ArchivedFile;
  /** Messages that the topic's schema does not fit. */
  readonly misfits: number;
  readonly groups: readonly ArchivedGroup[];
};

const MARK = 0x31524150; // PAR1
const MARK_BYTES = 4;
const OFFSET_CHUNK = 0;
const TIMESTAMP_CHUNK = 6;

/** What to read first: the end of the object, with its whole footer if `tailBytes` is at least its length. */
export function tailRange(fileBytes: number, tailBytes = FILE_TAIL_BYTES): ByteRange {
  const length = Math.min(fileBytes, tailBytes);
  return { start: fileBytes - length, length };
}

/** How long a footer is, with the mark at its end, by the last bytes of the object. Error `corrupt`. */
export function footerBytes(tail: Bytes): number {
  const view = new DataView(tail.buffer, tail.byteOffset, tail.length);
  if (tail.length < FOOTER_FRAME_BYTES || view.getUint32(tail.length - MARK_BYTES, true) !== MARK)
    throw damagedFile('it has no mark at its end');
  return view.getUint32(tail.length - FOOTER_FRAME_BYTES, true) + FOOTER_FRAME_BYTES;
}

/** `tail`: the last bytes of an object of `fileBytes`, at least {@link footerBytes} of them. Error `corrupt`. */
export function decodeFooter(tail: Bytes, fileBytes: number): FileFooter {
  const length = footerBytes(tail);
  if (length > tail.length) throw damagedFile('its footer is longer than what was read of it');
  const footer = tail.subarray(tail.length - length);
  checkFooter(footer);
  const metadata = parse(footer);
  if (!hasFileSchema(metadata.schema)) throw damagedFile('it has other columns');
  const { file, misfits, checksums } = parseMetadata(metadata.key_value_metadata ?? []);
  const groups = listGroups(file, metadata.row_groups, checksums);
  const end = groups.at(-1);
  if (end === undefined || end.last > file.last || end.range.start + end.range.length !== fileBytes - length)
    throw damagedFile('its row groups end elsewhere');
  return { file, misfits, groups };
}

function parse(footer: Bytes): FileMetaData {
  try {
    return parquetMetadata(footer, { geoparquet: false });
  } catch (error) {
    throw damagedFile('its footer cannot be read', error);
  }
}

function listGroups(file: ArchivedFile, rowGroups: readonly RowGroup[], checksums: readonly string[]): ArchivedGroup[] {
  let next = file.first;
  let start = MARK_BYTES;
  return rowGroups.map((rowGroup, index) => {
    const count = Number(rowGroup.num_rows);
    const chunks = listChunks(rowGroup, start);
    const end = chunks.at(-1);
    const offsets = rowGroup.columns[OFFSET_CHUNK]?.meta_data?.statistics;
    const highest = rowGroup.columns[TIMESTAMP_CHUNK]?.meta_data?.statistics?.max_value;
    const checksum = checksums[index];
    if (end === undefined || !(highest instanceof Date) || checksum === undefined) throw damagedFile('a row group is described otherwise');
    const first = Number(offsets?.min_value);
    const last = Number(offsets?.max_value);
    // Also where one of them is no number.
    if (!(first >= next && count > 0 && last - first >= count - 1)) throw damagedFile('a row group has other offsets');
    next = last + 1;
    const range = { start, length: end.start + end.length - start };
    start += range.length;
    const plainBytes = Number(rowGroup.total_byte_size);
    return { index, first, last, count, chunks, range, plainBytes, checksum, highestTimestampMs: highest.getTime() };
  });
}

function listChunks({ columns }: RowGroup, start: number): ByteRange[] {
  let next = start;
  return columns.map(({ meta_data: chunk }) => {
    const length = Number(chunk?.total_compressed_size);
    if (chunk?.data_page_offset !== BigInt(next)) throw damagedFile('a column is not where it should be');
    next += length;
    return { start: next - length, length };
  });
}
