import { decodeArchive, encodeArchive } from '../format/archive-item.ts';
import { decodeFileRecord, encodeFileRecord } from '../format/file-record-item.ts';
import { archiveKey, fileRecordKey, fileRecordSortKey, pagesPartition } from '../format/item-key.ts';
import { KelpError } from '../model/errors.ts';
import type { Archive, FileRecord } from '../model/archive.ts';
import { FILE_RECORDS_READ_MAX } from '../model/archive-limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Item, MetadataTable, Update } from '../ports/metadata-table.ts';
import type { Random } from '../ports/random.ts';
import { nothingArchived, raiseStartUpdate, raiseThroughUpdate, recordAbsent } from '../protocol/archive.ts';
import { askAgain } from './ask-again.ts';
import type { SegmentAddress } from './pages.ts';

export type ArchivesDeps = {
  readonly table: MetadataTable;
  readonly clock: Clock;
  readonly random: Random;
  /** Of an instance that reads as well: its readers see at once what it has done. */
  readonly archives?: { offer(archive: Archive): void };
};
type Reads = Pick<ArchivesDeps, 'table'>;

/** A strong read. R2: what a reader has missed in pages that it read before, it finds by this. */
export async function readArchive({ table }: Reads, { topic, segment }: SegmentAddress, signal: AbortSignal): Promise<Archive> {
  const item = await table.get(archiveKey(topic, segment), signal);
  return item === undefined ? nothingArchived(topic, segment) : decodeArchive(item);
}

/** The record that holds this offset; undefined where none does. */
export async function readFileRecordAt(
  { table }: Reads,
  { topic, segment }: SegmentAddress,
  offset: number,
  signal: AbortSignal,
): Promise<FileRecord | undefined> {
  const range = { from: fileRecordSortKey(0), to: fileRecordSortKey(offset) };
  const { items } = await table.query({ pk: pagesPartition(topic, segment), ...range, descending: true, limit: 1 }, signal);
  const record = items[0] === undefined ? undefined : decodeFileRecord(items[0]);
  return record !== undefined && record.last >= offset ? record : undefined;
}

/** Records that begin at `first` or behind it, in order, a page at a time. */
export async function readFileRecords(
  { table }: Reads,
  { topic, segment }: SegmentAddress,
  first: number,
  signal: AbortSignal,
): Promise<{ readonly records: readonly FileRecord[]; readonly more: boolean }> {
  const range = { from: fileRecordSortKey(first), to: fileRecordSortKey(Number.MAX_SAFE_INTEGER) };
  const { items, more } = await table.query({ pk: pagesPartition(topic, segment), ...range, limit: FILE_RECORDS_READ_MAX }, signal);
  return { records: items.map(decodeFileRecord), more };
}

/** Puts the record, or adopts the one that begins there. */
export async function putFileRecord(
  deps: ArchivesDeps,
  { topic, segment }: SegmentAddress,
  record: FileRecord,
  signal: AbortSignal,
): Promise<FileRecord> {
  const key = fileRecordKey(topic, segment, record.first);
  const put = await askAgain(deps, () => deps.table.put(key, encodeFileRecord(record), recordAbsent, signal), signal);
  return decodeFileRecord(itemOf(put.item));
}

/** Writes it by this update, or finds that somebody did; answers what is stored. Error `segment-not-found`: it went with its topic. */
export async function updateFileRecord(
  deps: ArchivesDeps,
  { topic, segment }: SegmentAddress,
  { first, update }: { readonly first: number; readonly update: Update },
  signal: AbortSignal,
): Promise<FileRecord> {
  const key = fileRecordKey(topic, segment, first);
  const { item } = await askAgain(deps, () => deps.table.update(key, update, signal), signal);
  return decodeFileRecord(itemOf(item));
}

/** Takes the record's offsets over, as it is stored. Answers the segment's archive as it is then, whoever did it. */
export async function raiseThrough(deps: ArchivesDeps, place: SegmentAddress, record: FileRecord, signal: AbortSignal): Promise<Archive> {
  if (record.state === 'planned') throw new Error(`the record at ${record.first} is neither written nor dropped`);
  return updateArchive(deps, place, raiseThroughUpdate(record), signal);
}

/** Readers begin at `start` from now on, or behind it. `goneBytes`: of all records that end below it. Answers as above. */
export async function raiseStart(
  deps: ArchivesDeps,
  place: SegmentAddress,
  { start, goneBytes }: { readonly start: number; readonly goneBytes: number },
  signal: AbortSignal,
): Promise<Archive> {
  return updateArchive(deps, place, raiseStartUpdate(start, goneBytes), signal);
}

async function updateArchive(deps: ArchivesDeps, place: SegmentAddress, update: Update, signal: AbortSignal): Promise<Archive> {
  const key = archiveKey(place.topic, place.segment);
  const { item } = await askAgain(deps, () => deps.table.update(key, update, signal), signal);
  if (item !== undefined) return seen(deps, item);
  // An update makes no missing item here, since its condition fails there.
  const first = encodeArchive(nothingArchived(place.topic, place.segment));
  await askAgain(deps, () => deps.table.put(key, first, [{ op: 'missing', path: ['ah'] }], signal), signal);
  const again = await askAgain(deps, () => deps.table.update(key, update, signal), signal);
  return seen(deps, itemOf(again.item));
}

function seen({ archives }: ArchivesDeps, item: Item): Archive {
  const archive = decodeArchive(item);
  archives?.offer(archive);
  return archive;
}

function itemOf(item: Item | undefined): Item {
  if (item === undefined) throw new KelpError('not-found', 'segment-not-found', 'the segment went with its topic');
  return item;
}
