import { archivedFileKey } from '../format/object-key.ts';
import { FILE_PUTS_MAX } from '../model/archive-limits.ts';
import type { Archive, FileRecord, WrittenFile } from '../model/archive.ts';
import type { ArchivedFile, ArchivedMessage } from '../model/archived-file.ts';
import { KelpError } from '../model/errors.ts';
import type { Head } from '../model/head.ts';
import type { Bytes } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import { isTransient } from '../state/ask-again.ts';
import { backoff } from '../state/retry.ts';
import type { ArchiveDeps } from './archive-deps.ts';
import { archivedRows, readMarks } from './archived-rows.ts';
import { checkFile } from './check-file.ts';
import { writeFile } from './files/write-file.ts';

/** `head`: a strong read that came after the record. */
export type RecordToWrite = { readonly topic: Topic; readonly archive: Archive; readonly head: Head; readonly record: FileRecord };

const NO_FILE: WrittenFile = { rows: 0, misfits: 0, bytes: 0, footerBytes: 0 };

/**
 * Has the file of a record in the store, whole: what is there already is read, and written again only where it is damaged; what is written
 * is read back. Nothing is written where all of its messages are quarantined. Error `corrupt`: the messages can't be read.
 */
export async function writeRecord(
  deps: ArchiveDeps,
  { topic, archive, head, record }: RecordToWrite,
  signal: AbortSignal,
): Promise<WrittenFile> {
  const { date, first, last } = record;
  const file: ArchivedFile = { topic: topic.id, segment: head.segment, date, first, last };
  const key = archivedFileKey(topic.name, file);
  let parts: readonly Bytes[] | undefined;
  for (let puts = 0; ; puts += 1) {
    const written = await checkFile(deps, { key, file }, signal);
    if (written !== undefined) return written;
    if (puts === FILE_PUTS_MAX) throw new KelpError('unavailable', 'file-damaged', `${key} does not come back as it was stored`);
    parts ??= await encode(deps, { topic, archive, head, record }, file, signal);
    if (parts.length === 0) return NO_FILE;
    await put(deps, { key, parts }, signal);
  }
}

async function encode(
  deps: ArchiveDeps,
  { topic, archive, head, record: { last, columns } }: RecordToWrite,
  file: ArchivedFile,
  signal: AbortSignal,
): Promise<readonly Bytes[]> {
  const marks = await readMarks(deps, { archive, head, last }, signal);
  const rows = archivedRows(deps.messages.read(topic, file, signal), file, marks);
  const first = await firstOf(rows);
  const parts: Bytes[] = [];
  if (first === undefined) return parts;
  for await (const part of writeFile(deps.compression, { ...file, columns }, joined(first, rows))) parts.push(part);
  return parts;
}

type Rows = AsyncGenerator<readonly ArchivedMessage[], void, undefined>;

/** The first of them that has messages; undefined: none has. */
async function firstOf(rows: Rows): Promise<readonly ArchivedMessage[] | undefined> {
  for (;;) {
    const { done, value } = await rows.next();
    if (done === true) return undefined;
    if (value.length > 0) return value;
  }
}

async function* joined(first: readonly ArchivedMessage[], rows: Rows): Rows {
  yield first;
  yield* rows;
}

/** The name is the record's and the bytes are its messages': whoever puts it twice puts the same. */
async function put(
  deps: ArchiveDeps,
  { key, parts }: { readonly key: string; readonly parts: readonly Bytes[] },
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await deps.store.put(key, parts, signal);
    } catch (error) {
      if (!isTransient(error) || signal.aborted || attempt === FILE_PUTS_MAX) throw error;
    }
    await backoff(deps, attempt, signal);
  }
}
