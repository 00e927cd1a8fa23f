import { batchObjectKey } from '../format/object-key.ts';
import { type Minute, minuteEndedBy, type ObjectId } from '../model/ids.ts';
import { CLEANUP_PARALLEL_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import { inParallel } from '../state/in-parallel.ts';
import { readTopic } from '../topology/apply-change.ts';
import { keepReferenced } from './keep-referenced.ts';
import { oldObjects, type OldObjects } from './old-objects.ts';
import { raiseFloors } from './raise-floors.ts';
import { type Retired, retirePages } from './retire-pages.ts';
import type { GarbageDeps, TopicWork } from './topic-work.ts';

/**
 * Deletes the topic's index pages that were archived, or dropped, long enough ago, and then all batch objects that no index names: those that
 * these have named, and those that were never committed. A piece at a time, and pages first, so that the index becomes smaller however little time
 * there is. Answers whether all of them were looked at: a dry run, which would find the same pages again, looks at one piece.
 */
export async function collectObjects(deps: GarbageDeps, work: TopicWork, signal: AbortSignal): Promise<boolean> {
  const retired: Retired = { through: new Map(), objects: new Set() };
  for (;;) {
    const more = await retirePages(deps, work, retired, signal);
    await deleteUnreferenced(deps, work, retired, signal);
    if (!more || work.dryRun) return !more;
    retired.objects.clear();
  }
}

async function deleteUnreferenced(deps: GarbageDeps, work: TopicWork, retired: Retired, signal: AbortSignal): Promise<void> {
  const minute = minuteEndedBy(work.beforeMs);
  let topic: Topic | undefined;
  for await (const objects of oldObjects(deps, { topic: work.topic, minute }, signal)) {
    if (objects.size === 0) continue;
    // Once: what was listed may be in flight until then, and what is listed later is of the same minutes.
    topic ??= await endMinutes(deps, work, minute, signal);
    // G2: the index is read once nothing of these minutes can come into it any more.
    await keepReferenced(deps, { topic, retired }, objects, signal);
    await deleteAll(deps, work, { objects, retired }, signal);
  }
}

/** A dry run does as if they were ended. */
const endMinutes = (deps: GarbageDeps, { topic, dryRun }: TopicWork, minute: Minute, signal: AbortSignal): Promise<Topic> =>
  dryRun ? readTopic(deps, topic.id, signal) : raiseFloors(deps, topic.id, minute, signal);

async function deleteAll(
  { store }: GarbageDeps,
  { topic, dryRun, counts }: TopicWork,
  { objects, retired }: { readonly objects: OldObjects; readonly retired: Retired },
  signal: AbortSignal,
): Promise<void> {
  await inParallel([...objects], CLEANUP_PARALLEL_MAX, async ([name, bytes]) => {
    const [minute, id] = name.split('/') as [Minute, ObjectId];
    if (!dryRun) await store.delete(batchObjectKey(topic.id, minute, id), signal);
    counts[retired.objects.has(name) ? 'archived' : 'neverCommitted'] += 1;
    counts.bytes += bytes;
  });
}
