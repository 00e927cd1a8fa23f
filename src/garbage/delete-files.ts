import { archivedFilesPrefix, parseArchivedFileKey } from '../format/object-key.ts';
import type { FileRecord } from '../model/archive.ts';
import type { ArchivedFile } from '../model/archived-file.ts';
import type { SegmentId } from '../model/ids.ts';
import { CLEANUP_PAGE_MAX, CLEANUP_PARALLEL_MAX } from '../model/limits.ts';
import { readFileRecords } from '../state/archives.ts';
import { inParallel } from '../state/in-parallel.ts';
import type { GarbageDeps, TopicWork } from './topic-work.ts';

type Found = { readonly key: string; readonly bytes: number; readonly file: ArchivedFile };

/**
 * Deletes the topic's archived files that no record stands for: an archiver was stopped, or paused and has come back behind retention; and those
 * whose messages are gone. All are listed, a page at a time.
 */
export async function deleteFiles(deps: GarbageDeps, work: TopicWork, signal: AbortSignal): Promise<void> {
  const prefix = archivedFilesPrefix(work.topic.name, work.topic.id);
  let after: string | undefined;
  do {
    const page = await deps.store.list(prefix, { ...(after === undefined ? {} : { after }), limit: CLEANUP_PAGE_MAX }, signal);
    const found = page.objects.flatMap(({ key, bytes }): Found[] => {
      const file = parseArchivedFileKey(key);
      // Nobody of ours has made anything else.
      return file === undefined ? [] : [{ key, bytes, file }];
    });
    const segments = [...Map.groupBy(found, ({ file }) => file.segment)];
    await inParallel(segments, CLEANUP_PARALLEL_MAX, ([segment, files]) => deleteOf(deps, work, { segment, files }, signal));
    after = page.next;
  } while (after !== undefined);
}

async function deleteOf(
  deps: GarbageDeps,
  work: TopicWork,
  { segment, files }: { readonly segment: SegmentId; readonly files: readonly Found[] },
  signal: AbortSignal,
): Promise<void> {
  const { archives, dryRun, counts } = work;
  const start = archives.get(segment)?.start ?? 0;
  // Read after they were listed: a record is there before its file.
  const records = await readRecords(deps, work, { segment, files }, signal);
  for (const { key, bytes, file } of files) {
    if (isKept(file, records.get(file.first), start)) continue;
    if (!dryRun) await deps.store.delete(key, signal);
    counts.files += 1;
    counts.bytes += bytes;
  }
}

async function readRecords(
  deps: GarbageDeps,
  { topic }: TopicWork,
  { segment, files }: { readonly segment: SegmentId; readonly files: readonly Found[] },
  signal: AbortSignal,
): Promise<ReadonlyMap<number, FileRecord>> {
  const records = new Map<number, FileRecord>();
  const firsts = new Set(files.map(({ file }) => file.first));
  const last = Math.max(...firsts);
  for (let next = Math.min(...firsts); next <= last;) {
    const page = await readFileRecords(deps, { topic: topic.id, segment }, next, signal);
    for (const record of page.records) if (firsts.has(record.first)) records.set(record.first, record);
    next = page.more ? (page.records.at(-1)?.last ?? last) + 1 : last + 1;
  }
  return records;
}

/** A record is put once, dropped for good, and its range never changes; a start never goes back. So what is not kept now never will be. */
function isKept({ last, date }: ArchivedFile, record: FileRecord | undefined, start: number): boolean {
  if (record === undefined || record.last !== last || record.date !== date) return false;
  return record.state !== 'dropped' && record.file?.rows !== 0 && last >= start;
}
