import { stringField } from '../format/item-fields.ts';
import { namesPartition, topicKey } from '../format/item-key.ts';
import { decodeName } from '../format/name-item.ts';
import { decodeTopic } from '../format/topic-item.ts';
import { SWEEP_PAGE_MAX, SWEEP_PARALLEL_MAX } from '../model/limits.ts';
import type { Complete, SweptGarbage } from '../model/sweep-report.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import type { Item } from '../ports/metadata-table.ts';
import { inParallel } from '../state/in-parallel.ts';
import { queryPages } from '../state/query-pages.ts';
import { collectTopic } from './collect-topic.ts';
import type { GarbageCounts, GarbageDeps } from './topic-work.ts';

/** `garbageAgeMs`: how long ago by this wall clock what goes must have been stored, archived or over. */
export type SweepGarbageDeps = GarbageDeps & { readonly garbageAgeMs: number };

type GarbageSweep = {
  readonly dryRun: boolean;
  readonly counts: GarbageCounts;
  /** Whether a topic had more than one sweep looks at. */ more: boolean;
};

/** A name's first characters: enough to begin between any two topics. */
const START_LENGTH = 2;

/**
 * Deletes what nobody refers to any more of all topics that are there, and never will. Any number of sweeps may run at once, with any clocks: what
 * is deleted can't be committed any more. Begins anywhere, so that what one sweep has no time for is not what the next one has none for. Ends with
 * its signal without an error; rejects when the table can't be listed. `dryRun`: only counts.
 */
export async function sweepGarbage(
  deps: SweepGarbageDeps,
  { dryRun }: { readonly dryRun: boolean },
  signal: AbortSignal,
): Promise<SweptGarbage & Complete> {
  const counts = { neverCommitted: 0, archived: 0, files: 0, uploads: 0, pages: 0, lines: 0, requests: 0, bytes: 0, failed: 0 };
  const sweep: GarbageSweep = { dryRun, counts, more: false };
  const pk = namesPartition(TENANT_DEFAULT);
  const start = deps.random.base36(START_LENGTH);
  try {
    for (const part of [{ from: start }, { to: start }]) {
      for await (const items of queryPages(deps.table, { pk, ...part, limit: SWEEP_PAGE_MAX }, signal)) {
        await inParallel(items, SWEEP_PARALLEL_MAX, (item) => sweepNamed(deps, sweep, item, signal));
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return { ...counts, complete: !signal.aborted && !sweep.more };
}

/** Topics that are being deleted are cleaned up as a whole. */
async function sweepNamed(deps: SweepGarbageDeps, sweep: GarbageSweep, item: Item, signal: AbortSignal): Promise<void> {
  const { dryRun, counts } = sweep;
  signal.throwIfAborted();
  try {
    const { topic: id } = decodeName(item);
    const found = id === undefined ? undefined : await deps.table.get(topicKey(id), signal);
    const topic = found === undefined ? undefined : decodeTopic(found);
    if (topic?.state !== 'active') return;
    const beforeMs = deps.clock.nowMs() - deps.garbageAgeMs;
    if (!(await collectTopic(deps, { topic, dryRun, beforeMs, counts }, signal))) sweep.more = true;
  } catch (error) {
    signal.throwIfAborted();
    counts.failed += 1;
    deps.telemetry.log('warn', 'garbage is left for the next sweep', { name: stringField(item, 'sk'), error });
  }
}
