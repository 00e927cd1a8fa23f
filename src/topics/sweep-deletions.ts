import { decodeDeletion, type DeletionRecord } from '../format/deletion-item.ts';
import { deletionKey, deletionsPartition, namesPartition, topicKey, uploadsPartition } from '../format/item-key.ts';
import { stringField } from '../format/item-fields.ts';
import { decodeName } from '../format/name-item.ts';
import { decodeTopic } from '../format/topic-item.ts';
import { DELETED_ITEMS_MS } from '../model/garbage-limits.ts';
import { CLEANUP_PAGE_MAX, CLEANUP_PARALLEL_MAX, SWEEP_PAGE_MAX, SWEEP_PARALLEL_MAX } from '../model/limits.ts';
import type { Complete, SweptDeletions } from '../model/sweep-report.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import type { Item, Query } from '../ports/metadata-table.ts';
import { inParallel } from '../state/in-parallel.ts';
import { queryPages } from '../state/query-pages.ts';
import { readTopic } from '../topology/apply-change.ts';
import { carryOn } from '../topology/carry-on.ts';
import { type CleanUpDeps, cleanUpTopic, deleteItems, deleteObjects, partitionsOf, prefixesOf } from './clean-up-topic.ts';
import { freeName } from './free-name.ts';
import { newTopicId } from './topic-id.ts';

type Counts = { carriedOn: number; cleaned: number; strays: number; failed: number };
type Sweep = { readonly deps: CleanUpDeps; readonly dryRun: boolean; readonly counts: Counts; readonly signal: AbortSignal };

/**
 * Finishes deletions in which somebody was stopped, and lists once more what topics that are gone have left. As safe as asking
 * for the deletion again: all of it goes by topic ids that nobody uses any more. Begins anywhere, so that what one sweep has no
 * time for is not what the next one has none for. Ends with its signal without an error; rejects when the table can't be listed.
 * `dryRun`: only counts.
 */
export async function sweepDeletions(
  deps: CleanUpDeps,
  { dryRun }: { readonly dryRun: boolean },
  signal: AbortSignal,
): Promise<SweptDeletions & Complete> {
  const counts: Counts = { carriedOn: 0, cleaned: 0, strays: 0, failed: 0 };
  const sweep = { deps, dryRun, counts, signal };
  const deletions = deletionsPartition(TENANT_DEFAULT);
  const start = newTopicId(deps.random);
  try {
    await forEachItem(sweep, { pk: namesPartition(TENANT_DEFAULT) }, (item) => finishDeletion(sweep, item));
    await forEachItem(sweep, { pk: deletions, from: start }, (item) => cleanUp(sweep, decodeDeletion(item)));
    await forEachItem(sweep, { pk: deletions, to: start }, (item) => cleanUp(sweep, decodeDeletion(item)));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return { ...counts, complete: !signal.aborted };
}

/** What goes wrong with one of them is left to the next sweep: the others have nothing to do with it. */
async function forEachItem(
  { deps, counts, signal }: Sweep,
  range: Omit<Query, 'limit'>,
  visit: (item: Item) => Promise<void>,
): Promise<void> {
  for await (const items of queryPages(deps.table, { ...range, limit: SWEEP_PAGE_MAX }, signal)) {
    await inParallel(items, SWEEP_PARALLEL_MAX, async (item) => {
      signal.throwIfAborted();
      try {
        await visit(item);
      } catch (error) {
        signal.throwIfAborted();
        counts.failed += 1;
        deps.telemetry.log('warn', 'a deletion is left for the next sweep', { item: stringField(item, 'sk'), error });
      }
    });
  }
}

/** Whoever deletes a topic may be stopped before there is a record of it: only the name leads to it then. */
async function finishDeletion({ deps, dryRun, counts, signal }: Sweep, item: Item): Promise<void> {
  const { topic: id } = decodeName(item);
  const found = id === undefined ? undefined : await deps.table.get(topicKey(id), signal);
  if (found === undefined) return;
  const { id: deleted, tenant, state, changes } = decodeTopic(found);
  if (state !== 'deleted' && !changes.some(({ kind }) => kind === 'delete')) return;
  if (!dryRun) await freeName(deps, await carryOn(deps, deleted, signal), signal);
  // Its record would be found by what comes next.
  else if ((await deps.table.get(deletionKey(tenant, deleted), signal)) === undefined) counts.cleaned += 1;
  counts.carriedOn += 1;
}

async function cleanUp(sweep: Sweep, { topic, name, state, atMs }: DeletionRecord): Promise<void> {
  const { deps, dryRun, counts, signal } = sweep;
  if (state === 'cleaned') {
    const isLate = atMs + DELETED_ITEMS_MS <= deps.clock.nowMs();
    const partitions = isLate ? [uploadsPartition(topic)] : partitionsOf(await readTopic(deps, topic, signal));
    const strays = await takeStrays(sweep, prefixesOf(topic, name), partitions);
    counts.strays += strays;
    return;
  }
  if (!dryRun) await cleanUpTopic(deps, await readTopic(deps, topic, signal), signal);
  counts.cleaned += 1;
}

/** What has come after the topic was clean. */
async function takeStrays({ deps, dryRun, signal }: Sweep, prefixes: readonly string[], partitions: readonly string[]): Promise<number> {
  if (dryRun) return (await countObjects(deps, prefixes, signal)) + (await countItems(deps, partitions, signal));
  return (await deleteObjects(deps, prefixes, signal)) + (await deleteItems(deps, partitions, signal));
}

/** What `deleteObjects` would delete. */
async function countObjects({ store }: CleanUpDeps, prefixes: readonly string[], signal: AbortSignal): Promise<number> {
  let strays = 0;
  for (const prefix of prefixes) {
    for (let after: string | undefined; ;) {
      const page = await store.list(prefix, { ...(after === undefined ? {} : { after }), limit: CLEANUP_PAGE_MAX }, signal);
      strays += page.objects.length;
      after = page.next;
      if (after === undefined) break;
    }
  }
  return strays;
}

/** What `deleteItems` would delete. */
async function countItems({ table }: CleanUpDeps, partitions: readonly string[], signal: AbortSignal): Promise<number> {
  let strays = 0;
  await inParallel(partitions, CLEANUP_PARALLEL_MAX, async (pk) => {
    for await (const items of queryPages(table, { pk, limit: CLEANUP_PAGE_MAX }, signal)) strays += items.length;
  });
  return strays;
}
