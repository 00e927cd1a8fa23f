import { justAfter, sweptUploadsKey, uploadsPartition } from '../format/item-key.ts';
import { decodeSweptUploads, decodeUpload } from '../format/upload-item.ts';
import { KelpError } from '../model/errors.ts';
import type { SegmentId, TopicId } from '../model/ids.ts';
import { SWEEP_PAGE_MAX, SWEEP_PARALLEL_MAX } from '../model/limits.ts';
import type { Upload } from '../model/upload.ts';
import { submitted } from '../protocol/upload-claim.ts';
import { type AttemptDeps, readAttemptFate } from '../state/attempt-fate.ts';
import { inParallel } from '../state/in-parallel.ts';
import { queryPages } from '../state/query-pages.ts';
import { replaceUpload } from '../state/stored-uploads.ts';

/** Uploads begin with this letter; what else stands in their partition is before it. */
const FIRST = 'u';

/**
 * U2: writes `submitted` where an upload is being submitted to this segment and has landed, as far as its attempt may lie in an entry that
 * begins at or below `last`. An attempt is in the upload's item before it is sent, so of what has landed by now none can be missed; one that
 * is still being submitted there afterwards has not landed below. Errors: `topic-not-found`; `unavailable`: somebody else is at it.
 */
export async function settleSubmitting(
  deps: AttemptDeps,
  topic: TopicId,
  upTo: { readonly segment: SegmentId; readonly last: number },
  signal: AbortSignal,
): Promise<void> {
  const mark = await deps.table.get(sweptUploadsKey(topic), signal);
  const query = {
    pk: uploadsPartition(topic),
    from: mark === undefined ? FIRST : justAfter(decodeSweptUploads(mark)),
    limit: SWEEP_PAGE_MAX,
  };
  for await (const items of queryPages(deps.table, query, signal)) {
    const uploads = items.map(decodeUpload).filter((upload) => mayLieBelow(upload, upTo));
    await inParallel(uploads, SWEEP_PARALLEL_MAX, (upload) => settle(deps, topic, upload, signal));
  }
}

const mayLieBelow = ({ state, attempt }: Upload, { segment, last }: { readonly segment: SegmentId; readonly last: number }): boolean =>
  state === 'submitting' && attempt?.segment === segment && attempt.tail <= last;

async function settle(deps: AttemptDeps, topic: TopicId, upload: Upload, signal: AbortSignal): Promise<void> {
  if (upload.attempt === undefined) return;
  const fate = await readAttemptFate(deps, topic, upload.attempt, signal);
  if (fate.fate !== 'landed') return;
  const { upload: after } = await replaceUpload(deps, topic, submitted(upload, fate.entry.offset), signal);
  if (after?.state === 'submitting') throw new KelpError('unavailable', 'upload-in-use', `upload ${upload.upload} is being submitted`);
}
