import { crc32c } from '#crc32c';
import { type FileMetaData, parquetScan } from 'hyparquet';
import { decodeUtf8 } from '../utf8.ts';
import type { ArchivedMessage } from '../../model/archived-file.ts';
import type { Bytes } from '../../model/message.ts';
import type { FileCompression } from '../../ports/file-compression.ts';
import { damagedFile } from './damaged-file.ts';
import { toHex } from './file-metadata.ts';
import type { ArchivedGroup, FileFooter } from './read-footer.ts';

type Stored = { readonly group: ArchivedGroup; readonly bytes: Bytes };
type MaybeBytes = Bytes | null | undefined;
/** One entry a message. Offsets only where they have gaps. */
type Columns = {
  readonly kelp_offset?: ArrayLike<bigint>;
  readonly kelp_partition: ArrayLike<number>;
  readonly kelp_key: ArrayLike<Bytes>;
  readonly kelp_value: ArrayLike<MaybeBytes>;
  readonly kelp_headers: ArrayLike<readonly { readonly name: string; readonly value: MaybeBytes }[]>;
  readonly kelp_timestamp: ArrayLike<number>;
  readonly kelp_committed: ArrayLike<number>;
};

/** Without those that have no gap: they follow from the group's first one, and the checksum covers them. */
const COLUMNS = ['kelp_partition', 'kelp_key', 'kelp_value', 'kelp_headers', 'kelp_timestamp', 'kelp_committed'];

/** Numbers and texts as the messages have them: a mark at the start of a text is part of it. */
const PARSERS = {
  timestampFromMilliseconds: Number as unknown as (milliseconds: bigint) => Date,
  stringFromBytes: textOf,
};

/** The messages of a row group, of which `bytes` are those of its range. Their parts are views of shared memory. Error `corrupt`. */
export async function readGroup(compression: FileCompression, { metadata }: FileFooter, stored: Stored): Promise<ArchivedMessage[]> {
  const { group, bytes } = stored;
  if (bytes.length !== group.range.length || toHex(crc32c(bytes)) !== group.checksum) throw damagedFile('a row group has another checksum');
  const columns = await readColumns(compression, metadata, stored);
  const messages = Array.from({ length: group.count }, (_, at) => messageAt(columns, at, offsetAt(columns, at, group.first)));
  const isWhole = messages[0]?.offset === group.first && messages.at(-1)?.offset === group.last;
  if (!isWhole || messages.some(({ offset }, at) => offset <= (messages[at - 1]?.offset ?? -1))) {
    throw damagedFile('a row group has other offsets than its statistics');
  }
  return messages;
}

const hasGaps = ({ first, last, count }: ArchivedGroup): boolean => last - first >= count;

const offsetAt = ({ kelp_offset: offsets }: Columns, at: number, first: number): number =>
  offsets === undefined ? first + at : Number(offsets[at]);

async function readColumns(compression: FileCompression, metadata: FileMetaData, stored: Stored): Promise<Columns> {
  const { group, bytes } = stored;
  const rowStart = metadata.row_groups.slice(0, group.index).reduce((rows, one) => rows + Number(one.num_rows), 0);
  const rows = { rowStart, rowEnd: rowStart + group.count };
  const file = { byteLength: group.range.start + bytes.length, slice: sliceOf(stored) };
  const compressors = { ZSTD: compression.decompress };
  const columns = hasGaps(group) ? ['kelp_offset', ...COLUMNS] : COLUMNS;
  try {
    // A scan keeps what it has read, so each row group gets one of its own.
    const scan = await parquetScan({ file, metadata, ...rows, columns, utf8: false, parsers: PARSERS, compressors });
    const data = await Promise.all(columns.map(async (column) => [column, await scan.readColumn({ column, ...rows })] as const));
    return Object.fromEntries(data) as unknown as Columns;
  } catch (error) {
    throw damagedFile('a row group with a right checksum does not decode', error);
  }
}

function messageAt(columns: Columns, at: number, offset: number): ArchivedMessage {
  const partition = columns.kelp_partition[at];
  const key = columns.kelp_key[at];
  const headers = columns.kelp_headers[at];
  const timestampMs = columns.kelp_timestamp[at];
  const committedMs = columns.kelp_committed[at];
  if (partition === undefined || !key || !headers || timestampMs === undefined || committedMs === undefined) {
    throw damagedFile('a column is shorter than its row group');
  }
  return {
    offset,
    partition,
    key,
    value: columns.kelp_value[at] ?? null,
    headers: headers.map(({ name, value }) => ({ name, value: value ?? null })),
    timestampMs,
    committedMs,
  };
}

function textOf(bytes: Bytes): string {
  const text = decodeUtf8(bytes);
  if (text === undefined) throw damagedFile('a name is not valid UTF-8');
  return text;
}

/** The format's library asks for ranges of the file; all of them lie in this group. */
function sliceOf({ group, bytes }: Stored): (start: number, end?: number) => ArrayBuffer {
  return (start, end = group.range.start + bytes.length) => {
    const from = start - group.range.start;
    if (from < 0 || end - group.range.start > bytes.length) throw damagedFile('a column lies outside of its row group');
    return new Uint8Array(bytes.subarray(from, end - group.range.start)).buffer;
  };
}
