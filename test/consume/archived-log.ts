import zlib from 'node:zlib';
import { createFileCompression } from '../../src/adapters/system/file-compression.ts';
import { writeFile } from '../../src/archive/files/write-file.ts';
import { footerBytes } from '../../src/format/archived-file/read-footer.ts';
import { encodeArchive } from '../../src/format/archive-item.ts';
import { encodeFileRecord } from '../../src/format/file-record-item.ts';
import { archiveKey, fileRecordKey, pageKey } from '../../src/format/item-key.ts';
import { archivedFileKey, entryObjectKey } from '../../src/format/object-key.ts';
import { decodePage } from '../../src/format/page-item.ts';
import type { Archive, FileRecord } from '../../src/model/archive.ts';
import { type ArchivedFile, type ArchivedMessage, dateOf } from '../../src/model/archived-file.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import type { Bytes } from '../../src/model/message.ts';
import type { FileCompression } from '../../src/ports/file-compression.ts';
import { nothingArchived } from '../../src/protocol/archive.ts';
import { readArchive } from '../../src/state/archives.ts';
import { calm, EVERYTHING, type Log } from './fixture.ts';

const compression = createFileCompression();
/** As another version of zstd packs. */
const other: FileCompression = { ...compression, compress: (bytes) => zlib.zstdCompressSync(bytes) };

type Stored = Pick<Log, 'table' | 'store'> & { readonly topic: Pick<Log['topic'], 'id'> };

export type ArchiveStep = {
  /** First offset that stays where it is. */
  readonly next: number;
  readonly state?: 'written' | 'dropped';
  /** Offsets whose rows are left out, as those of quarantined batches are. */
  readonly gaps?: readonly number[];
};

/** Moves messages of a log into a file, or drops them, as an archiver does, whatever a head has spilled. Answers record and key. */
export async function archive(log: Log, segment: SegmentId, { next, state = 'written', gaps = [] }: ArchiveStep) {
  const before = await archiveOf(log, segment);
  const messages = (await storedMessages(log, segment, before.through)).filter(({ offset }) => offset < next);
  const rows = messages.filter(({ offset }) => !gaps.includes(offset));
  const date = dateOf(messages[0]?.committedMs ?? 0);
  const file = { topic: log.topic.id, segment, date, first: before.through, last: next - 1 };
  const key = archivedFileKey(log.topic.name, file);
  const object = state === 'written' && rows.length > 0 ? await fileBytes(file, rows) : undefined;
  if (object !== undefined) await log.store.put(key, [object], calm());
  const record: FileRecord = {
    ...file,
    state,
    guard: '',
    highestTimestampMs: messages.reduce((highest, { timestampMs }) => Math.max(highest, timestampMs), before.highestTimestampMs),
    bytes: 0,
    columns: [],
    atMs: 0,
    ...(state === 'written'
      ? { file: { rows: rows.length, misfits: 0, bytes: object?.length ?? 0, footerBytes: object === undefined ? 0 : footerBytes(object) } }
      : {}),
  };
  await log.table.put(fileRecordKey(log.topic.id, segment, record.first), encodeFileRecord(record), [], calm());
  const after = { ...before, through: next, highestTimestampMs: record.highestTimestampMs };
  await putArchive(log, state === 'dropped' ? { ...after, start: next } : after);
  return { record, key, object };
}

async function fileBytes(file: ArchivedFile, rows: readonly ArchivedMessage[], packing = compression): Promise<Bytes> {
  const parts: Bytes[] = [];
  async function* pieces(): AsyncGenerator<readonly ArchivedMessage[]> {
    yield rows;
  }
  for await (const part of writeFile(packing, file, pieces())) parts.push(part);
  return Buffer.concat(parts);
}

/** The same rows, packed by another archiver. */
export async function repacked(log: Log, segment: SegmentId, { date, first, last }: FileRecord): Promise<Bytes> {
  const rows = (await storedMessages(log, segment, first)).filter(({ offset }) => offset <= last);
  return fileBytes({ topic: log.topic.id, segment, date, first, last }, rows, other);
}

/** What another instance reads, with the times of committing. */
async function storedMessages(log: Log, segment: SegmentId, from: number): Promise<ArchivedMessage[]> {
  const { consumer } = log.instance();
  const messages: ArchivedMessage[] = [];
  for (let offset = from; ;) {
    const page = await consumer.readSegment(log.topic, { segment, from: { offset }, ...EVERYTHING }, calm());
    for (const slice of page.slices) {
      for (const message of await consumer.decode(slice)) messages.push({ ...message, committedMs: slice.committedMs });
    }
    offset = page.nextOffset;
    if (offset === page.tail) return messages;
  }
}

/** What is before `start` can't be read any more. */
export async function cutOff(log: Log, segment: SegmentId, start: number): Promise<void> {
  await putArchive(log, { ...(await archiveOf(log, segment)), start });
}

/** Deletes index pages that end where the archive does or before, and their objects, as garbage collection does an hour later. */
export async function cleanUp(log: Stored, segment: SegmentId): Promise<void> {
  const { through } = await archiveOf(log, segment);
  const { items } = await log.table.query({ pk: `p#${log.topic.id}#${segment}`, from: 'p', limit: 1_000 }, calm());
  for (const page of items.map(decodePage)) {
    if (page.next > through) continue;
    for (const { object } of page.entries) await log.store.delete(entryObjectKey(log.topic.id, object), calm());
    await log.table.delete(pageKey(log.topic.id, segment, page.first), [], calm());
  }
}

export const archiveOf = (log: Stored, segment: SegmentId): Promise<Archive> => readArchive(log, { topic: log.topic.id, segment }, calm());

async function putArchive(log: Log, state: Archive): Promise<void> {
  await log.table.put(
    archiveKey(log.topic.id, state.segment),
    encodeArchive({ ...nothingArchived(state.topic, state.segment), ...state }),
    [],
    calm(),
  );
}
