import { stringField } from '../format/item-fields.ts';
import { SWEEP_PARALLEL_MAX } from '../model/limits.ts';
import type { Complete, SweptGarbage } from '../model/sweep-report.ts';
import type { Item } from '../ports/metadata-table.ts';
import { everyName, topicOfName } from '../state/every-topic.ts';
import { inParallel } from '../state/in-parallel.ts';
import { collectTopic } from './collect-topic.ts';
import type { GarbageCounts, GarbageDeps } from './topic-work.ts';

/** `garbageAgeMs`: how long ago by this wall clock what goes must have been stored, archived or over. */
export type SweepGarbageDeps = GarbageDeps & { readonly garbageAgeMs: number };

type GarbageSweep = {
  readonly dryRun: boolean;
  readonly counts: GarbageCounts;
  /** Whether a topic had more than one sweep looks at. */
  more: boolean;
};

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
  try {
    for await (const names of everyName(deps, signal)) {
      await inParallel(names, SWEEP_PARALLEL_MAX, (name) => sweepNamed(deps, sweep, name, signal));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  if (!dryRun && counts.bytes > 0) deps.telemetry.count('kelp.garbage.bytes', counts.bytes);
  return { ...counts, complete: !signal.aborted && !sweep.more };
}

/** Topics that are being deleted are cleaned up as a whole. */
async function sweepNamed(deps: SweepGarbageDeps, sweep: GarbageSweep, name: Item, signal: AbortSignal): Promise<void> {
  const { dryRun, counts } = sweep;
  signal.throwIfAborted();
  try {
    const topic = await topicOfName(deps, name, signal);
    if (topic === undefined) return;
    const beforeMs = deps.clock.nowMs() - deps.garbageAgeMs;
    if (!(await collectTopic(deps, { topic, dryRun, beforeMs, counts }, signal))) sweep.more = true;
  } catch (error) {
    signal.throwIfAborted();
    counts.failed += 1;
    deps.telemetry.log('warn', 'garbage is left for the next sweep', { name: stringField(name, 'sk'), error });
  }
}
