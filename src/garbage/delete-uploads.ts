import { justAfter, uploadsPartition } from '../format/item-key.ts';
import { decodeUpload } from '../format/upload-item.ts';
import type { Archive } from '../model/archive.ts';
import { UPLOAD_ID_RANDOM, uploadId } from '../model/ids.ts';
import { CLEANUP_PAGE_MAX, CLEANUP_PARALLEL_MAX } from '../model/limits.ts';
import { SWEPT_BEHIND_MS, UPLOAD_MS } from '../model/upload-limits.ts';
import type { Upload } from '../model/upload.ts';
import { timeOfCommitMs } from '../protocol/commit-id.ts';
import { readFileRecordAt } from '../state/archives.ts';
import { inParallel } from '../state/in-parallel.ts';
import { queryPages } from '../state/query-pages.ts';
import { removeUpload } from './remove-upload.ts';
import type { GarbageDeps, TopicWork } from './topic-work.ts';

/** Uploads begin with this letter; what else stands in their partition is before it. */
const FIRST = 'u';

/** Deletes the payloads of messages that are gone. Archived ones keep theirs: the message is in a file, its payload is not. */
export async function deleteUploads(deps: GarbageDeps, work: TopicWork, signal: AbortSignal): Promise<void> {
  const begun = [...work.archives.values()].filter(({ start }) => start > 0);
  const lastMs = await lastCommitMs(deps, begun, signal);
  if (lastMs === undefined) return;
  // Whoever committed one had it announced before: what is younger, by far more than clocks differ, can't be of these.
  const to = justAfter(uploadId(lastMs + UPLOAD_MS + SWEPT_BEHIND_MS, 'z'.repeat(UPLOAD_ID_RANDOM)));
  const query = { pk: uploadsPartition(work.topic.id), from: FIRST, to, limit: CLEANUP_PAGE_MAX };
  for await (const items of queryPages(deps.table, query, signal)) {
    const gone = items.map(decodeUpload).filter((upload) => isGone(work, upload));
    await inParallel(gone, CLEANUP_PARALLEL_MAX, (upload) => removeUpload(deps, work, upload, signal));
  }
}

/** When the last message below a start was committed, or one soon after it: of all segments. */
async function lastCommitMs(deps: GarbageDeps, begun: readonly Archive[], signal: AbortSignal): Promise<number | undefined> {
  const records = await inParallel(begun, CLEANUP_PARALLEL_MAX, (archive) => readFileRecordAt(deps, archive, archive.start - 1, signal));
  const times = records.flatMap((record) => (record === undefined || record.guard === '' ? [] : [timeOfCommitMs(record.guard)]));
  return times.length === 0 ? undefined : Math.max(...times);
}

/** Of batches, the pages decide that name them. */
function isGone({ archives }: TopicWork, { state, runs, attempt, offset }: Upload): boolean {
  if (state !== 'submitted' || runs !== undefined || attempt === undefined || offset === undefined) return false;
  return offset < (archives.get(attempt.segment)?.start ?? 0);
}
