import assert from 'node:assert/strict';
import { crc32c } from '#crc32c';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { encodeUtf8 } from '../../format/utf8.ts';
import type { TypedColumn } from '../../model/archive.ts';
import { type ArchivedFile, type ArchivedMessage, dateOf } from '../../model/archived-file.ts';
import type { Bytes } from '../../model/message.ts';
import type { FileCompression } from '../../ports/file-compression.ts';
import { cutRowGroups } from './cut-row-groups.ts';
import { fileMetadata, signFooter, toHex } from '../../format/archived-file/file-metadata.ts';
import { fileSchema } from '../../format/archived-file/file-schema.ts';
import { type TypedValue, typedValues } from './typed-values.ts';

/** `columns`: typed ones, beside those of every file. */
export type FileToWrite = ArchivedFile & { readonly columns?: readonly TypedColumn[] };
type Columns = Parameters<ParquetWriter['write']>[0]['columnData'];

/**
 * The bytes of a file, piece by piece: the mark at its start, each row group, the footer (the last piece). Holds one row group besides the
 * piece that comes in. `pieces` are the messages from `file.first` to `file.last`, in order, all committed on `file.date`: anything else
 * fails an assertion, before a footer makes a file of what was written. A row group is encoded without a pause: how long is in README.md, one
 * folder up.
 */
export async function* writeFile(
  compression: FileCompression,
  { columns = [], ...file }: FileToWrite,
  pieces: AsyncIterable<readonly ArchivedMessage[]>,
): AsyncGenerator<Bytes> {
  const sink = new ByteWriter();
  const compressors = { ZSTD: compression.compress };
  const parquet = new ParquetWriter({ writer: sink, schema: fileSchema(columns), codec: 'ZSTD', compressors, createdBy: 'kelp' });
  yield take(sink);

  const checksums: string[] = [];
  let next = file.first;
  let committedMs = 0;
  let misfits = 0;
  for await (const group of cutRowGroups(pieces)) {
    committedMs = checkRows(file, group, { next, committedMs });
    next = (group.at(-1)?.offset ?? next) + 1;
    const typed = typedValues(columns, group);
    misfits += typed.misfits;
    const columnData = [...columnsOf(group), ...typedColumns(columns, typed.values)];
    void parquet.write({ columnData, rowGroupSize: group.length, pageSize: 0 });
    const bytes = take(sink);
    checksums.push(toHex(crc32c(bytes)));
    yield bytes;
  }

  assert.ok(next > file.first && next <= file.last + 1, 'the file has rows, and none behind its last offset');
  parquet.kvMetadata = fileMetadata(file, { misfits, checksums });
  void parquet.finish();
  yield signFooter(take(sink));
}

/** What was written since the last time; the writer's own count of bytes goes on. */
function take(sink: ByteWriter): Bytes {
  const bytes = sink.getBytes().slice();
  sink.index = 0;
  return bytes;
}

/** Answers the time when the last of them was committed. */
function checkRows(
  file: ArchivedFile,
  group: readonly ArchivedMessage[],
  from: { readonly next: number; readonly committedMs: number },
): number {
  let { next, committedMs } = from;
  for (const message of group) {
    assert.ok(message.offset >= next, 'offsets rise, and what lies between them was quarantined');
    assert.ok(message.committedMs >= committedMs, 'times of committing never fall');
    ({ committedMs } = message);
    next = message.offset + 1;
  }
  // They never fall, so those between lie on the same date.
  assert.equal(dateOf(group[0]?.committedMs ?? 0), file.date, 'committed on the date of the file');
  assert.equal(dateOf(committedMs), file.date, 'committed on the date of the file');
  return committedMs;
}

function columnsOf(group: readonly ArchivedMessage[]): Columns {
  const plain = { encoding: 'PLAIN' } as const;
  // Nobody skips a row group by them: keys are spread over all of them by their hash.
  const bytes = { ...plain, statistics: false };
  const names = new Map<string, Bytes>();
  return [
    // The one encoding whose library takes numbers; plain ones have to be made BigInts.
    { name: 'kelp_offset', data: group.map((one) => one.offset), encoding: 'DELTA_BINARY_PACKED' },
    { name: 'kelp_partition', data: group.map((one) => one.partition), ...plain },
    { name: 'kelp_key', data: group.map((one) => one.key), ...bytes },
    { name: 'kelp_value', data: group.map((one) => one.value), ...bytes },
    { name: 'kelp_headers', data: group.map((one) => headerRows(one, names)), ...bytes },
    { name: 'kelp_timestamp', data: group.map((one) => BigInt(one.timestampMs)), ...plain },
    { name: 'kelp_committed', data: group.map((one) => BigInt(one.committedMs)), ...plain },
  ];
}

function typedColumns(columns: readonly TypedColumn[], values: readonly TypedValue[][]): Columns {
  return columns.map(({ column }, at) => ({ name: column, data: values[at] ?? [], encoding: 'PLAIN' }));
}

/** Names as bytes, each made once: most messages have the same few. */
function headerRows({ headers }: ArchivedMessage, names: Map<string, Bytes>): { name: Bytes; value: Bytes | null }[] {
  return headers.map(({ name, value }) => {
    let bytes = names.get(name);
    if (bytes === undefined) names.set(name, (bytes = encodeUtf8(name)));
    return { name: bytes, value };
  });
}
