import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { interceptStore, interceptTable, type Make, type StoreCall, type TableCall } from './intercept.ts';
import type { SeededRandom } from './seeded-random.ts';

const forEver = new AbortController().signal;
const WRITES: ReadonlySet<string> = new Set(['put', 'update', 'delete']);

export type Lag = {
  readonly random: SeededRandom;
  readonly clock: Clock;
  /** How often a write comes so late, and how late at most. */
  readonly share: number;
  readonly msMax: number;
  isOver(): boolean;
};

/** Stores at which a write may arrive hours after it was sent, when nobody waits for it any more. `lag`: undefined before there is a world. */
export function lagging(lag: () => Lag | undefined) {
  const counts = { late: 0 };
  const around = async <R>({ op }: TableCall | StoreCall, make: Make<R>): Promise<R> => {
    const own = lag();
    if (own === undefined || own.isOver() || !WRITES.has(op) || !own.random.chance(own.share)) return make();
    counts.late += 1;
    await own.clock.sleep(own.random.integer(own.msMax), forEver);
    return make('detached');
  };
  return {
    table: (table: MetadataTable): MetadataTable => interceptTable(table, around),
    store: (store: ObjectStore): ObjectStore => interceptStore(store, around),
    counts,
  };
}
