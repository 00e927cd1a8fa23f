import { servedKey } from '../format/item-key.ts';
import { encodeServed, type ServedRecord } from '../format/served-item.ts';
import type { BrokerId } from '../model/ids.ts';
import { CHANGE_PARALLEL_MAX } from '../model/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { Random } from '../ports/random.ts';
import { askAgain } from '../state/ask-again.ts';
import { inParallel } from '../state/in-parallel.ts';

type ServedDeps = { readonly table: MetadataTable; readonly clock: Clock; readonly random: Random };

// The list of segments by broker: ahead of the heads when it grows, behind them when it shrinks.

export async function noteServed(
  deps: ServedDeps,
  segment: ServedRecord,
  brokers: readonly BrokerId[],
  signal: AbortSignal,
): Promise<void> {
  await inParallel(brokers, CHANGE_PARALLEL_MAX, (broker) => {
    const key = servedKey(broker, segment.topic, segment.segment);
    return askAgain(deps, () => deps.table.put(key, encodeServed(segment), [], signal), signal);
  });
}

/** Only of brokers that will never serve it: it is sealed, or its head names others, which is for ever. */
export async function forgetServed(
  deps: ServedDeps,
  segment: ServedRecord,
  brokers: readonly BrokerId[],
  signal: AbortSignal,
): Promise<void> {
  await inParallel(brokers, CHANGE_PARALLEL_MAX, (broker) => {
    return askAgain(deps, () => deps.table.delete(servedKey(broker, segment.topic, segment.segment), [], signal), signal);
  });
}
