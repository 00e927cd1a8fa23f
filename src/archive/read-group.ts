import { crc32c } from '#crc32c';
import { parquetReadObjects } from 'hyparquet';
import { decodeUtf8 } from '../format/utf8.ts';
import type { ArchivedMessage } from '../model/archived-file.ts';
import type { Bytes, Header } from '../model/message.ts';
import type { FileCompression } from '../ports/file-compression.ts';
import { damagedFile } from './damaged-file.ts';
import { toHex } from './file-metadata.ts';
import type { ArchivedGroup, FileFooter } from './read-footer.ts';

/** Offsets follow from the group's first; the checksum covers those in the file. */
const COLUMNS = ['kelp_partition', 'kelp_key', 'kelp_value', 'kelp_headers', 'kelp_timestamp', 'kelp_committed'];

type Row = {
  readonly kelp_partition: number;
  readonly kelp_key: Bytes;
  readonly kelp_value: Bytes | null | undefined;
  readonly kelp_headers: readonly { readonly name: string; readonly value: Bytes | null | undefined }[];
  readonly kelp_timestamp: number;
  readonly kelp_committed: number;
};

/** The messages of a row group, of which `bytes` are those of its range. Their parts are views of shared memory. Error `corrupt`. */
export async function readGroup(
  compression: FileCompression,
  { metadata }: FileFooter,
  stored: { readonly group: ArchivedGroup; readonly bytes: Bytes },
): Promise<ArchivedMessage[]> {
  const { group, bytes } = stored;
  if (bytes.length !== group.range.length || toHex(crc32c(bytes)) !== group.checksum) throw damagedFile('a row group has another checksum');
  const rowStart = metadata.row_groups.slice(0, group.index).reduce((rows, one) => rows + Number(one.num_rows), 0);
  const options = { metadata, rowStart, rowEnd: rowStart + group.count, columns: COLUMNS, utf8: false, parsers: PARSERS };
  const file = { byteLength: group.range.start + bytes.length, slice: sliceOf(stored) };
  const rows = await parquetReadObjects({ ...options, file, compressors: { ZSTD: compression.decompress } });
  return rows.map((row, index) => toMessage(row as Row, group.first + index));
}

/** Numbers and texts as the messages have them: a mark at the start of a text is part of it. */
const PARSERS = {
  timestampFromMilliseconds: Number as unknown as (milliseconds: bigint) => Date,
  stringFromBytes: textOf,
};

function textOf(bytes: Bytes): string {
  const text = decodeUtf8(bytes);
  if (text === undefined) throw damagedFile('a name is not valid UTF-8');
  return text;
}

/** The format's library asks for ranges of the file; all of them lie in this group. */
function sliceOf({ group, bytes }: { readonly group: ArchivedGroup; readonly bytes: Bytes }): (start: number, end?: number) => ArrayBuffer {
  return (start, end = group.range.start + bytes.length) => {
    const from = start - group.range.start;
    if (from < 0 || end - group.range.start > bytes.length) throw damagedFile('a column lies outside of its row group');
    return new Uint8Array(bytes.subarray(from, end - group.range.start)).buffer;
  };
}

function toMessage(row: Row, offset: number): ArchivedMessage {
  return {
    offset,
    partition: row.kelp_partition,
    key: row.kelp_key,
    value: row.kelp_value ?? null,
    headers: row.kelp_headers.map(toHeader),
    timestampMs: row.kelp_timestamp,
    committedMs: row.kelp_committed,
  };
}

const toHeader = ({ name, value }: Row['kelp_headers'][number]): Header => ({ name, value: value ?? null });
