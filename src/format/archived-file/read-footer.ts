import { type FileMetaData, parquetMetadata, type RowGroup } from 'hyparquet';
import { FILE_TAIL_BYTES } from '../../model/archive-limits.ts';
import type { ArchivedFile } from '../../model/archived-file.ts';
import type { Bytes } from '../../model/message.ts';
import { damagedFile } from './damaged-file.ts';
import { checkFooter, FOOTER_FRAME_BYTES, parseMetadata } from './file-metadata.ts';
import { FILE_SCHEMA } from './file-schema.ts';

/** Bytes `[start, start + length)` of an object. */
export type ByteRange = { readonly start: number; readonly length: number };

/** Where a row group is, and which messages are in it. `checksum`: eight hex digits, CRC-32C. */
export type ArchivedGroup = {
  readonly index: number;
  readonly first: number;
  readonly count: number;
  readonly range: ByteRange;
  readonly checksum: string;
  readonly highestTimestampMs: number;
};

/** `metadata` is the format's own; `groups` are in the order of offsets and leave none out. */
export type FileFooter = {
  readonly file: ArchivedFile;
  readonly groups: readonly ArchivedGroup[];
  readonly metadata: FileMetaData;
};

const MARK = 0x31524150; // PAR1
const MARK_BYTES = 4;
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
  if (JSON.stringify(named(metadata.schema)) !== JSON.stringify(named(FILE_SCHEMA))) throw damagedFile('it has other columns');
  const { file, checksums } = parseMetadata(metadata.key_value_metadata ?? []);
  const groups = listGroups(file, metadata.row_groups, checksums);
  const end = groups.at(-1);
  const rightEnd =
    end !== undefined && end.first + end.count === file.last + 1 && end.range.start + end.range.length === fileBytes - length;
  if (!rightEnd) throw damagedFile('its row groups end elsewhere');
  return { file, groups, metadata };
}

function parse(footer: Bytes): FileMetaData {
  try {
    return parquetMetadata(footer, { geoparquet: false });
  } catch (error) {
    throw damagedFile('its footer cannot be read', error);
  }
}

const named = (schema: FileMetaData['schema'] | typeof FILE_SCHEMA): unknown[] =>
  schema.map(({ name, type, repetition_type, num_children }) => [name, type ?? '', repetition_type ?? '', num_children ?? 0]);

function listGroups(file: ArchivedFile, rowGroups: readonly RowGroup[], checksums: readonly string[]): ArchivedGroup[] {
  let { first } = file;
  let start = MARK_BYTES;
  return rowGroups.map((rowGroup, index) => {
    const count = Number(rowGroup.num_rows);
    const length = Number(rowGroup.total_compressed_size);
    const chunk = rowGroup.columns[0]?.meta_data;
    const highest = rowGroup.columns[TIMESTAMP_CHUNK]?.meta_data?.statistics?.max_value;
    const checksum = checksums[index];
    if (chunk?.data_page_offset !== BigInt(start) || !(highest instanceof Date) || checksum === undefined) {
      throw damagedFile('a row group is not where it should be');
    }
    const group = { index, first, count, range: { start, length }, checksum, highestTimestampMs: highest.getTime() };
    first += count;
    start += length;
    return group;
  });
}
