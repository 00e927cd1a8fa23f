import { pageSortKey, pagesPartition } from '../format/item-key.ts';
import { decodePage } from '../format/page-item.ts';
import type { Entry } from '../model/head.ts';
import type { SegmentId } from '../model/ids.ts';
import { GARBAGE_SEGMENTS_PARALLEL_MAX } from '../model/garbage-limits.ts';
import { CLEANUP_PAGE_MAX } from '../model/limits.ts';
import { segmentsOf, type Topic } from '../model/topic.ts';
import { inParallel } from '../state/in-parallel.ts';
import { queryPages } from '../state/query-pages.ts';
import { objectName, type OldObjects } from './old-objects.ts';
import type { Retired } from './retire-pages.ts';
import type { GarbageDeps } from './topic-work.ts';

type Index = { readonly topic: Topic; readonly retired: Retired };

/**
 * Takes out of `objects` what the topic's index names, however large that is: pages pass by, and only the objects are in memory. Nobody but a
 * segment of their own topic can name them.
 */
export async function keepReferenced(deps: GarbageDeps, index: Index, objects: OldObjects, signal: AbortSignal): Promise<void> {
  await inParallel(segmentsOf(index.topic), GARBAGE_SEGMENTS_PARALLEL_MAX, async (segment) => {
    if (objects.size > 0) await keepNamedBy(deps, { ...index, segment }, objects, signal);
  });
}

/** G2: the head before its pages, since an entry goes from there to here. */
async function keepNamedBy(
  deps: GarbageDeps,
  { topic: { id: topic }, segment, retired }: Index & { readonly segment: SegmentId },
  objects: OldObjects,
  signal: AbortSignal,
): Promise<void> {
  const keep = (entries: readonly Entry[]): void => entries.forEach(({ object }) => objects.delete(objectName(object)));
  const head = await deps.heads.read(topic, segment, signal);
  keep(head?.entries ?? []);
  const gone = retired.through.get(segment) ?? 0;
  const pages = {
    pk: pagesPartition(topic, segment),
    from: pageSortKey(0),
    to: pageSortKey(Number.MAX_SAFE_INTEGER),
    limit: CLEANUP_PAGE_MAX,
  };
  for await (const items of queryPages(deps.table, pages, signal)) {
    for (const page of items.map(decodePage)) if (page.next > gone) keep(page.entries);
  }
}
