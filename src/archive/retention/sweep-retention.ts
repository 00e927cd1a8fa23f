import { stringField } from '../../format/item-fields.ts';
import { SWEEP_PARALLEL_MAX } from '../../model/limits.ts';
import type { Complete, SweptRetention } from '../../model/sweep-report.ts';
import type { Item } from '../../ports/metadata-table.ts';
import { everyName, topicOfName } from '../../state/every-topic.ts';
import { inParallel } from '../../state/in-parallel.ts';
import type { RetentionDeps } from './retention-deps.ts';
import { type RetentionCounts, sweepTopicRetention } from './sweep-topic.ts';

type Sweep = { readonly deps: RetentionDeps; readonly dryRun: boolean; readonly counts: RetentionCounts };

/**
 * Messages of topics that don't keep everything go once they are too old, or too much. Any number of sweeps may run at once, and any
 * number of archivers. Ends with its signal without an error; rejects when the table can't be listed. `dryRun`: only says what would go, and why.
 */
export async function sweepRetention(
  deps: RetentionDeps,
  { dryRun }: { readonly dryRun: boolean },
  signal: AbortSignal,
): Promise<SweptRetention & Complete> {
  const counts: RetentionCounts = { examined: 0, messages: 0, bytes: 0, failed: 0, incomplete: false, cuts: [] };
  const sweep = { deps, dryRun, counts };
  try {
    for await (const names of everyName(deps, signal)) {
      await inParallel(names, SWEEP_PARALLEL_MAX, (name) => sweepNamed(sweep, name, signal));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  const { incomplete, ...swept } = counts;
  return { ...swept, complete: !signal.aborted && !incomplete };
}

/** What goes wrong with one of them is left to the next sweep: the others have nothing to do with it. */
async function sweepNamed({ deps, dryRun, counts }: Sweep, name: Item, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  try {
    const topic = await topicOfName(deps, name, signal);
    if (topic !== undefined) await sweepTopicRetention(deps, { topic, dryRun, counts }, signal);
  } catch (error) {
    signal.throwIfAborted();
    counts.failed += 1;
    deps.telemetry.log('warn', 'messages are kept until the next sweep', { name: stringField(name, 'sk'), error });
  }
}
