import { stringField } from '../format/item-fields.ts';
import { decodeIdempotency } from '../format/idempotency-item.ts';
import { justAfter, requestsPartitions } from '../format/item-key.ts';
import { REQUESTS_LOOKED_AT_MAX } from '../model/garbage-limits.ts';
import { CLEANUP_PAGE_MAX, CLEANUP_PARALLEL_MAX } from '../model/limits.ts';
import type { Item } from '../ports/metadata-table.ts';
import { inParallel } from '../state/in-parallel.ts';
import { queryPages } from '../state/query-pages.ts';
import { deleteItem } from './delete-item.ts';
import type { GarbageDeps, TopicWork } from './topic-work.ts';

/**
 * Deletes what is kept of requests with an Idempotency-Key, once that has expired: by then whoever repeats one makes it anew. They are in no order
 * of time, and most of many are in time. So of a partition that has more than one look takes, some are looked at, from anywhere on: the table's own expiry
 * tidies them, too. Answers whether all were looked at.
 */
export async function deleteRequests(deps: GarbageDeps, work: TopicWork, signal: AbortSignal): Promise<boolean> {
  const ends = await inParallel(requestsPartitions(work.topic.id), CLEANUP_PARALLEL_MAX, (pk) => deleteOf(deps, work, pk, signal));
  return ends.every(Boolean);
}

async function deleteOf(deps: GarbageDeps, work: TopicWork, pk: string, signal: AbortSignal): Promise<boolean> {
  const { items, more } = await deps.table.query({ pk, limit: CLEANUP_PAGE_MAX }, signal);
  await deleteExpired(deps, work, { pk, items }, signal);
  const last = items.at(-1);
  if (!more || last === undefined) return true;
  const behind = justAfter(stringField(last, 'sk'));
  const somewhere = pk.slice(-1) + deps.random.base36(START_LENGTH);
  const start = somewhere > behind ? somewhere : behind;
  let left = REQUESTS_LOOKED_AT_MAX;
  for (const range of [{ from: start }, { from: behind, to: start }]) {
    for await (const page of queryPages(deps.table, { pk, ...range, limit: CLEANUP_PAGE_MAX }, signal)) {
      await deleteExpired(deps, work, { pk, items: page }, signal);
      left -= page.length;
      if (left <= 0) return false;
    }
  }
  return true;
}

/** Digits of a digest, enough to begin between any two of a partition. Those beyond `f` begin at its end, so at its beginning. */
const START_LENGTH = 6;

async function deleteExpired(
  deps: GarbageDeps,
  work: TopicWork,
  { pk, items }: { readonly pk: string; readonly items: readonly Item[] },
  signal: AbortSignal,
): Promise<void> {
  for (const item of items) {
    const { expiresMs, version } = decodeIdempotency(item);
    if (expiresMs > work.beforeMs) continue;
    // Whoever has the key may have made it anew meanwhile.
    const condition = [{ op: '=' as const, path: ['version'], value: version }];
    if (await deleteItem(deps, work, { pk, sk: stringField(item, 'sk'), condition }, signal)) work.counts.requests += 1;
  }
}
