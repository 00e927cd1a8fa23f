import { encodeDeletion } from '../format/deletion-item.ts';
import { deletionKey, pagesPartition, uploadsPartition } from '../format/item-key.ts';
import { stringField } from '../format/item-fields.ts';
import { segmentId, type TopicId } from '../model/ids.ts';
import { batchObjectPrefix, uploadObjectsPrefix } from '../format/object-key.ts';
import { KelpError } from '../model/errors.ts';
import { CLEANUP_PAGE_MAX, CLEANUP_PARALLEL_MAX, CLEANUP_STEP_MS_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { askAgain } from '../state/ask-again.ts';
import { inParallel } from '../state/in-parallel.ts';
import type { TopologyDeps } from '../topology/apply-change.ts';

export type CleanUpDeps = TopologyDeps & { readonly store: ObjectStore; readonly telemetry: Telemetry };

/**
 * Deletes what a deleted topic leaves: its objects, uploads and index pages. Everything goes by the topic's id, so a topic made anew
 * under the name is never touched. Heads stay, sealed: they refuse whoever was paused for long. What fails is left to the
 * next sweep, which the record of the deletion leads to.
 */
export async function cleanUpTopic(deps: CleanUpDeps, topic: Topic, signal: AbortSignal): Promise<void> {
  try {
    await deleteObjects(deps, topic.id, signal);
    for (let n = topic.firstSegment; n < topic.nextSegment; n += 1) {
      await deleteItems(deps, pagesPartition(topic.id, segmentId(n)), signal);
    }
    const cleaned = encodeDeletion({ topic: topic.id, name: topic.name, state: 'cleaned', atMs: deps.clock.nowMs() });
    const own = stepOf(deps, signal);
    await askAgain(deps, () => deps.table.put(deletionKey(topic.tenant, topic.id), cleaned, [], own), own);
  } catch (error) {
    deps.telemetry.count('kelp.cleanups.failed', 1);
    throw new KelpError('unavailable', 'unavailable', `objects of topic ${topic.id} are left for the next sweep`, { cause: error });
  }
}

/**
 * Deletes all objects of a topic that is gone, then the items of those that clients have uploaded. Answers how many objects and
 * items there were.
 */
export async function deleteObjects(deps: CleanUpDeps, topic: TopicId, signal: AbortSignal): Promise<number> {
  let deleted = 0;
  for (const prefix of prefixesOf(topic)) deleted += await deleteBelow(deps, prefix, signal);
  return deleted + (await deleteItems(deps, uploadsPartition(topic), signal));
}

/** Where its objects are. */
export const prefixesOf = (topic: TopicId): readonly string[] => [batchObjectPrefix(topic), uploadObjectsPrefix(topic)];

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

async function deleteItems(deps: CleanUpDeps, pk: string, signal: AbortSignal): Promise<number> {
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
