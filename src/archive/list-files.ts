import { segmentKey } from '../format/item-key.ts';
import { archivedFileKey } from '../format/object-key.ts';
import { FILES_SEGMENTS_LOOK_MAX } from '../model/archive-limits.ts';
import type { Archive, FileRecord, WrittenFile } from '../model/archive.ts';
import { KelpError } from '../model/errors.ts';
import { type SegmentId, segmentNumber } from '../model/ids.ts';
import { READ_SEGMENTS_PARALLEL_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import { readArchive, readFileRecordAt, readFileRecords } from '../state/archives.ts';
import { inParallel } from '../state/in-parallel.ts';
import { readSegmentRecords } from '../state/segment-records.ts';

/** A file of kept messages, which is there and whole. */
export type ListedFile = Pick<FileRecord, 'first' | 'last' | 'date'> &
  Omit<WrittenFile, 'footerBytes'> & { readonly segment: SegmentId; readonly object: string };

/** Files of this segment that begin at this offset or behind it, and those of later segments. */
export type FilesPlace = { readonly segment: SegmentId; readonly offset: number };
export type FilesWanted = { readonly segment?: SegmentId; readonly from?: FilesPlace; readonly limit: number };

/** `next`: where the next page begins; absent at the end. */
export type FilesPage = { readonly files: readonly ListedFile[]; readonly next?: FilesPlace };

type Deps = { readonly table: MetadataTable };

/**
 * A topic's files by segment and offset, at most `limit`; fewer, or none, where there are many segments to look at. Errors `segment-not-found`,
 * `topic-replaced`, of a segment that is asked for.
 */
export async function listFiles(deps: Deps, topic: Topic, wanted: FilesWanted, signal: AbortSignal): Promise<FilesPage> {
  const segments = await segmentsFrom(deps, topic, wanted, signal);
  const looked = segments.slice(0, FILES_SEGMENTS_LOOK_MAX);
  const archives = await inParallel(looked, READ_SEGMENTS_PARALLEL_MAX, (segment) =>
    readArchive(deps, { topic: topic.id, segment }, signal),
  );
  const files: ListedFile[] = [];
  for (const archive of archives) {
    const from = wanted.from?.segment === archive.segment ? wanted.from.offset : 0;
    for await (const record of keptRecords(deps, archive, from, signal)) {
      if (files.length === wanted.limit) return { files, next: { segment: archive.segment, offset: record.first } };
      const listed = listedFile(topic, archive.segment, record);
      if (listed !== undefined) files.push(listed);
    }
  }
  const next = segments[looked.length];
  return next === undefined ? { files } : { files, next: { segment: next, offset: 0 } };
}

async function segmentsFrom(deps: Deps, topic: Topic, { segment, from }: FilesWanted, signal: AbortSignal): Promise<readonly SegmentId[]> {
  if (segment === undefined) {
    const records = await readSegmentRecords(deps.table, { topic: topic.id, after: '' }, signal);
    return records.map((record) => record.segment).filter((one) => from === undefined || one >= from.segment);
  }
  if (segmentNumber(segment) < topic.firstSegment) {
    throw new KelpError('not-found', 'topic-replaced', `segment ${segment} belongs to a deleted topic of this name`);
  }
  const item = await deps.table.get(segmentKey(topic.id, segment), signal);
  if (item === undefined) throw new KelpError('not-found', 'segment-not-found', `no segment ${segment}`);
  return from === undefined || segment >= from.segment ? [segment] : [];
}

/** Those of what is archived and kept, from the one that holds the start on: by hand, a segment may begin inside of a file. */
async function* keptRecords(deps: Deps, archive: Archive, from: number, signal: AbortSignal): AsyncGenerator<FileRecord, void, undefined> {
  const { start, through } = archive;
  if (start >= through) return;
  let first = from > start ? from : ((await readFileRecordAt(deps, archive, start, signal))?.first ?? start);
  while (first < through) {
    const { records, more } = await readFileRecords(deps, archive, first, signal);
    for (const record of records) {
      if (record.first >= through) return;
      yield record;
      first = record.last + 1;
    }
    if (!more) return;
  }
}

/** Undefined: all of its messages are quarantined, and there is no file. */
function listedFile(topic: Topic, segment: SegmentId, { first, last, date, file }: FileRecord): ListedFile | undefined {
  if (file === undefined || file.rows === 0) return undefined;
  const { rows, misfits, bytes } = file;
  return {
    segment,
    first,
    last,
    date,
    rows,
    misfits,
    bytes,
    object: archivedFileKey(topic.name, { topic: topic.id, segment, date, first, last }),
  };
}
