import { stringField } from '../../format/item-fields.ts';
import { namesPartition, topicKey } from '../../format/item-key.ts';
import { decodeName } from '../../format/name-item.ts';
import { decodeTopic } from '../../format/topic-item.ts';
import { SWEEP_PAGE_MAX, SWEEP_PARALLEL_MAX } from '../../model/limits.ts';
import type { Complete, SweptRetention } from '../../model/sweep-report.ts';
import { TENANT_DEFAULT } from '../../model/topic.ts';
import type { Item } from '../../ports/metadata-table.ts';
import { inParallel } from '../../state/in-parallel.ts';
import { queryPages } from '../../state/query-pages.ts';
import type { RetentionDeps } from './retention-deps.ts';
import { type RetentionCounts, sweepTopicRetention } from './sweep-topic.ts';

type Sweep = { readonly deps: RetentionDeps; readonly dryRun: boolean; readonly counts: RetentionCounts };

/** A name's first characters: enough to begin between any two topics. */
const START_LENGTH = 2;

/**
 * Messages of topics that don't keep everything go once they are too old, or too much. Any number of sweeps may run at once, and any
 * number of archivers. Begins anywhere, so that what one sweep has no time for is not what the next one has none for. Ends with its
 * signal without an error; rejects when the table can't be listed. `dryRun`: only says what would go, and why.
 */
export async function sweepRetention(
  deps: RetentionDeps,
  { dryRun }: { readonly dryRun: boolean },
  signal: AbortSignal,
): Promise<SweptRetention & Complete> {
  const counts: RetentionCounts = { examined: 0, messages: 0, bytes: 0, failed: 0, incomplete: false, cuts: [] };
  const sweep = { deps, dryRun, counts };
  const pk = namesPartition(TENANT_DEFAULT);
  const start = deps.random.base36(START_LENGTH);
  try {
    for (const part of [{ from: start }, { to: start }]) {
      for await (const items of queryPages(deps.table, { pk, ...part, limit: SWEEP_PAGE_MAX }, signal)) {
        await inParallel(items, SWEEP_PARALLEL_MAX, (item) => sweepNamed(sweep, item, signal));
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  const { incomplete, ...swept } = counts;
  return { ...swept, complete: !signal.aborted && !incomplete };
}

/** What goes wrong with one of them is left to the next sweep: the others have nothing to do with it. */
async function sweepNamed({ deps, dryRun, counts }: Sweep, item: Item, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  try {
    const { topic: id } = decodeName(item);
    const found = id === undefined ? undefined : await deps.table.get(topicKey(id), signal);
    const topic = found === undefined ? undefined : decodeTopic(found);
    if (topic?.state === 'active') await sweepTopicRetention(deps, { topic, dryRun, counts }, signal);
  } catch (error) {
    signal.throwIfAborted();
    counts.failed += 1;
    deps.telemetry.log('warn', 'messages are kept until the next sweep', { name: stringField(item, 'sk'), error });
  }
}
