import { encodeDeletion } from '../format/deletion-item.ts';
import { deletionKey, linesPartition, pagesPartition, requestsPartitions, uploadsPartition } from '../format/item-key.ts';
import { stringField } from '../format/item-fields.ts';
import type { TopicId } from '../model/ids.ts';
import { archivedFilesPrefix, batchObjectPrefix, uploadObjectsPrefix } from '../format/object-key.ts';
import { KelpError } from '../model/errors.ts';
import { CLEANUP_PAGE_MAX, CLEANUP_PARALLEL_MAX, CLEANUP_STEP_MS_MAX, SWEEP_PARALLEL_MAX } from '../model/limits.ts';
import { segmentsOf, type Topic } from '../model/topic.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { askAgain } from '../state/ask-again.ts';
import { inParallel } from '../state/in-parallel.ts';
import type { TopologyDeps } from '../topology/apply-change.ts';

export type CleanUpDeps = TopologyDeps & { readonly store: ObjectStore; readonly telemetry: Telemetry };

/**
 * Deletes what a deleted topic leaves: its objects and files, and all items but those of its life. Everything goes by the topic's id, so a topic
 * made anew under the name is never touched. Heads stay, sealed: they refuse whoever was paused for long. What fails is left to the next sweep,
 * which the record of the deletion leads to.
 */
export async function cleanUpTopic(deps: CleanUpDeps, topic: Topic, signal: AbortSignal): Promise<void> {
  try {
    await deleteObjects(deps, prefixesOf(topic.id, topic.name), signal);
    await deleteItems(deps, partitionsOf(topic), signal);
    const cleaned = encodeDeletion({ topic: topic.id, name: topic.name, state: 'cleaned', atMs: deps.clock.nowMs() });
    const own = stepOf(deps, signal);
    await askAgain(deps, () => deps.table.put(deletionKey(topic.tenant, topic.id), cleaned, [], own), own);
  } catch (error) {
    deps.telemetry.count('kelp.cleanups.failed', 1);
    throw new KelpError('unavailable', 'unavailable', `objects of topic ${topic.id} are left for the next sweep`, { cause: error });
  }
}

/** Where its objects and files are. */
export const prefixesOf = (topic: TopicId, name: string): readonly string[] => [
  batchObjectPrefix(topic),
  uploadObjectsPrefix(topic),
  archivedFilesPrefix(name, topic),
];

/** Where its items are that go: uploads, requests, and of each segment what has left the head, which files stand for what, producers' lines. */
export function partitionsOf(topic: Topic): readonly string[] {
  const { id } = topic;
  const own = segmentsOf(topic).flatMap((segment) => [pagesPartition(id, segment), linesPartition(id, segment)]);
  return [uploadsPartition(id), ...requestsPartitions(id), ...own];
}

/** Deletes all objects below these prefixes. Answers how many there were. */
export async function deleteObjects(deps: CleanUpDeps, prefixes: readonly string[], signal: AbortSignal): Promise<number> {
  let deleted = 0;
  for (const prefix of prefixes) deleted += await deleteBelow(deps, prefix, signal);
  return deleted;
}

async function deleteBelow(deps: CleanUpDeps, prefix: string, signal: AbortSignal): Promise<number> {
  for (let deleted = 0; ;) {
    signal.throwIfAborted();
    const own = stepOf(deps, signal);
    // From the front, since what was deleted is listed no more.
    const page = await deps.store.list(prefix, { limit: CLEANUP_PAGE_MAX }, own);
    await inParallel(page.objects, CLEANUP_PARALLEL_MAX, (object) => deps.store.delete(object.key, own));
    deleted += page.objects.length;
    if (page.next === undefined) return deleted;
  }
}

const stepOf = ({ clock }: CleanUpDeps, signal: AbortSignal): AbortSignal => AbortSignal.any([signal, clock.deadline(CLEANUP_STEP_MS_MAX)]);

/** Deletes all items of these partitions. Answers how many there were. */
export async function deleteItems(deps: CleanUpDeps, partitions: readonly string[], signal: AbortSignal): Promise<number> {
  const counts = await inParallel(partitions, SWEEP_PARALLEL_MAX, (pk) => deleteItemsOf(deps, pk, signal));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function deleteItemsOf(deps: CleanUpDeps, pk: string, signal: AbortSignal): Promise<number> {
  for (let deleted = 0; ;) {
    signal.throwIfAborted();
    const own = stepOf(deps, signal);
    const page = await deps.table.query({ pk, limit: CLEANUP_PAGE_MAX }, own);
    await inParallel(page.items, CLEANUP_PARALLEL_MAX, (item) => {
      const key = { pk, sk: stringField(item, 'sk') };
      return askAgain(deps, () => deps.table.delete(key, [], own), own);
    });
    deleted += page.items.length;
    if (!page.more) return deleted;
  }
}
