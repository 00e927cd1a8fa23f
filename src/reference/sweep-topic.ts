import { stringField } from '../format/item-fields.ts';
import { justAfter, sweptUploadsKey, uploadsPartition } from '../format/item-key.ts';
import { decodeSweptUploads, decodeUpload, encodeSweptUploads } from '../format/upload-item.ts';
import type { TopicId, UploadId } from '../model/ids.ts';
import { SWEEP_PAGE_MAX, SWEEP_PARALLEL_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { Upload } from '../model/upload.ts';
import type { Item } from '../ports/metadata-table.ts';
import { askAgain } from '../state/ask-again.ts';
import { inParallel } from '../state/in-parallel.ts';
import { queryPages } from '../state/query-pages.ts';
import { deleteStrays } from './delete-strays.ts';
import { isBehind, planUpload } from './plan-upload.ts';
import { type SettledCounts, type SettleDeps, settleUpload } from './settle-upload.ts';

/** Uploads begin with this letter; what else stands in their partition is before it. */
const FIRST = 'u';

export type TopicCounts = SettledCounts & { examined: number; orphans: number; failed: number };

export type TopicSweep = {
  readonly topic: Topic;
  readonly dryRun: boolean;
  /** Added to as it goes. */
  readonly counts: TopicCounts;
  /** Told of each upload whose batches were not looked at. */
  readonly foundUnchecked: (upload: Upload) => void;
};

/**
 * The uploads of a topic, in order of their expiry, then the objects that belong to none. What goes wrong with one of them is
 * counted, and left to the next sweep.
 */
export async function sweepTopic(deps: SettleDeps, sweep: TopicSweep, signal: AbortSignal): Promise<void> {
  const { topic, dryRun, counts } = sweep;
  let through = await readThrough(deps, topic.id, signal);
  let unbroken = true;
  const query = { pk: uploadsPartition(topic.id), from: through === undefined ? FIRST : justAfter(through), limit: SWEEP_PAGE_MAX };
  for await (const items of queryPages(deps.table, query, signal)) {
    const before = through;
    const ends = await inParallel(items, SWEEP_PARALLEL_MAX, (item) => sweepItem(deps, sweep, item, signal));
    for (const end of ends) {
      unbroken &&= end !== 'open';
      if (unbroken && end !== 'open' && end !== 'gone') through = end;
    }
    // Page by page: where the time ends on the way, the next sweep goes on from here.
    if (!dryRun && through !== undefined && through !== before) await raiseThrough(deps, topic.id, through, signal);
  }
  const strays = { objects: 0, bytes: 0 };
  try {
    await deleteStrays(deps, { topic, dryRun, strays }, signal);
  } finally {
    counts.orphans += strays.objects;
    counts.bytes += strays.bytes;
  }
}

/** The id of one that is behind for good, or what it is otherwise. */
async function sweepItem(deps: SettleDeps, sweep: TopicSweep, item: Item, signal: AbortSignal): Promise<UploadId | 'gone' | 'open'> {
  const { topic, counts, foundUnchecked } = sweep;
  signal.throwIfAborted();
  counts.examined += 1;
  try {
    const upload = await settleUpload(deps, { ...sweep, topic: topic.id }, decodeUpload(item), signal);
    if (upload === undefined) return 'gone';
    if (planUpload(upload, deps.clock.nowMs()) === 'check') foundUnchecked(upload);
    return isBehind(upload, deps.clock.nowMs()) ? upload.upload : 'open';
  } catch (error) {
    signal.throwIfAborted();
    counts.failed += 1;
    deps.telemetry.log('warn', 'an upload is left for the next sweep', { topic: topic.id, upload: stringField(item, 'sk'), error });
    return 'open';
  }
}

async function readThrough({ table }: SettleDeps, topic: TopicId, signal: AbortSignal): Promise<UploadId | undefined> {
  const item = await table.get(sweptUploadsKey(topic), signal);
  return item === undefined ? undefined : decodeSweptUploads(item);
}

/** Never back: of two sweeps the one that got further is right. */
async function raiseThrough(deps: SettleDeps, topic: TopicId, through: UploadId, signal: AbortSignal): Promise<void> {
  const path = ['through'];
  const condition = [{ op: 'or' as const, any: [[{ op: 'missing' as const, path }], [{ op: '<' as const, path, value: through }]] }];
  await askAgain(deps, () => deps.table.put(sweptUploadsKey(topic), encodeSweptUploads(through), condition, signal), signal);
}
