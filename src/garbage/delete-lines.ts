import { stringField } from '../format/item-fields.ts';
import { headKey, linesPartition } from '../format/item-key.ts';
import { decodeHead } from '../format/head-item.ts';
import type { SegmentId } from '../model/ids.ts';
import { GARBAGE_SEGMENTS_PARALLEL_MAX, LINE_KEPT_MS } from '../model/garbage-limits.ts';
import { CLEANUP_PAGE_MAX } from '../model/limits.ts';
import { segmentsOf } from '../model/topic.ts';
import type { Condition } from '../ports/metadata-table.ts';
import { inParallel } from '../state/in-parallel.ts';
import { queryPages } from '../state/query-pages.ts';
import { deleteItem } from './delete-item.ts';
import type { GarbageDeps, TopicWork } from './topic-work.ts';

const THERE: Condition = [{ op: 'exists', path: ['v'] }];

/** Deletes the lines that producers have had in segments which are sealed for long: those in the head are there for ever. */
export async function deleteLines(deps: GarbageDeps, work: TopicWork, signal: AbortSignal): Promise<void> {
  const { open, changes } = work.topic;
  const going = new Set([...open, ...changes.flatMap(({ children }) => children)].map(({ segment }) => segment));
  const sealed = segmentsOf(work.topic).filter((segment) => !going.has(segment));
  await inParallel(sealed, GARBAGE_SEGMENTS_PARALLEL_MAX, (segment) => deleteLinesOf(deps, work, segment, signal));
}

async function deleteLinesOf(deps: GarbageDeps, work: TopicWork, segment: SegmentId, signal: AbortSignal): Promise<void> {
  const pk = linesPartition(work.topic.id, segment);
  for await (const items of queryPages(deps.table, { pk, limit: CLEANUP_PAGE_MAX }, signal)) {
    if (items.length === 0 || !(await isLongSealed(deps, work, segment, signal))) return;
    for (const item of items) {
      if (await deleteItem(deps, work, { pk, sk: stringField(item, 'sk'), condition: THERE }, signal)) work.counts.lines += 1;
    }
  }
}

async function isLongSealed(
  { table, clock }: GarbageDeps,
  { topic }: TopicWork,
  segment: SegmentId,
  signal: AbortSignal,
): Promise<boolean> {
  const item = await table.get(headKey(topic.id, segment), signal);
  const head = item === undefined ? undefined : decodeHead(item);
  // Older code has sealed it where it doesn't say when.
  return head?.state === 'sealed' && (head.endedMs ?? 0) + LINE_KEPT_MS <= clock.nowMs();
}
