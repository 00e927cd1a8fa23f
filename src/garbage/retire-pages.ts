import { pageKey, pageSortKey, pagesPartition } from '../format/item-key.ts';
import { uploadOf } from '../format/object-key.ts';
import { decodePage } from '../format/page-item.ts';
import type { Archive } from '../model/archive.ts';
import type { Page } from '../model/head.ts';
import type { SegmentId } from '../model/ids.ts';
import { GARBAGE_OBJECTS_MAX, GARBAGE_SEGMENTS_PARALLEL_MAX } from '../model/garbage-limits.ts';
import { CLEANUP_PAGE_MAX, CLEANUP_PARALLEL_MAX } from '../model/limits.ts';
import { askAgain } from '../state/ask-again.ts';
import { inParallel } from '../state/in-parallel.ts';
import { queryPages } from '../state/query-pages.ts';
import { readUpload } from '../state/stored-uploads.ts';
import { guarded } from './guarded.ts';
import { type ObjectName, objectName } from './old-objects.ts';
import { removeUpload } from './remove-upload.ts';
import { retiredThrough } from './retired-through.ts';
import type { GarbageDeps, TopicWork } from './topic-work.ts';

/** What has left the index. */
export type Retired = {
  /** Of a segment: its pages that end at or below this are gone, or would be. */
  readonly through: Map<SegmentId, number>;
  /** Objects that these named. */
  readonly objects: Set<ObjectName>;
};

/**
 * Deletes the topic's index pages that were archived, or dropped, long enough ago; uploaded batches, which nothing else names, go with them.
 * Answers whether there may be more: it stops once they have named GARBAGE_OBJECTS_MAX objects.
 */
export async function retirePages(deps: GarbageDeps, work: TopicWork, retired: Retired, signal: AbortSignal): Promise<boolean> {
  let more = false;
  await inParallel([...work.archives.values()], GARBAGE_SEGMENTS_PARALLEL_MAX, async (archive) => {
    const retire = async (): Promise<void> => {
      const isFull = retired.objects.size >= GARBAGE_OBJECTS_MAX;
      if (isFull || (await retireSegment(deps, work, { archive, retired }, signal))) more = true;
    };
    await guarded(deps, { work, segment: archive.segment }, retire, signal);
  });
  return more;
}

type Segment = { readonly archive: Archive; readonly retired: Retired };

async function retireSegment(deps: GarbageDeps, work: TopicWork, { archive, retired }: Segment, signal: AbortSignal): Promise<boolean> {
  const { topic, segment, through } = archive;
  const range = { from: pageSortKey(retired.through.get(segment) ?? 0), to: pageSortKey(through) };
  let end: number | undefined;
  for await (const items of queryPages(deps.table, { pk: pagesPartition(topic, segment), ...range, limit: CLEANUP_PAGE_MAX }, signal)) {
    if (items.length === 0) return false;
    end ??= await retiredThrough(deps, archive, work.beforeMs, signal);
    const ended = endedBy(items.map(decodePage), end);
    await inParallel(ended, CLEANUP_PARALLEL_MAX, (page) => retirePage(deps, work, { archive, retired, page }, signal));
    const last = ended.at(-1);
    if (last !== undefined) retired.through.set(segment, last.next);
    if (ended.length < items.length) return false;
    if (retired.objects.size >= GARBAGE_OBJECTS_MAX) return true;
  }
  return false;
}

/** R2: by their end, since a file may end within a page. */
const endedBy = (pages: readonly Page[], through: number): Page[] => pages.filter((page) => page.next <= through);

async function retirePage(
  deps: GarbageDeps,
  work: TopicWork,
  { archive: { topic, segment }, retired, page }: Segment & { readonly page: Page },
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  for (const { object } of page.entries) {
    const id = uploadOf(object);
    const upload = id === undefined ? undefined : await readUpload(deps, topic, id, signal);
    // Before the page: nothing else leads to it.
    if (upload !== undefined) await removeUpload(deps, work, upload, signal);
    if (id === undefined) retired.objects.add(objectName(object));
  }
  // Not another one, that a spiller who was paused has put in its place meanwhile.
  const condition = [{ op: '=' as const, path: ['next'], value: page.next }];
  const key = pageKey(topic, segment, page.first);
  const isGone = work.dryRun || (await askAgain(deps, () => deps.table.delete(key, condition, signal), signal)).applied;
  if (isGone) work.counts.pages += 1;
}
