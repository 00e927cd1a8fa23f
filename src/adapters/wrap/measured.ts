import { KelpError } from '../../model/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MetadataTable, WriteResult } from '../../ports/metadata-table.ts';
import type { ObjectStore } from '../../ports/object-store.ts';
import type { Telemetry } from '../../ports/telemetry.ts';

export type Measuring = { readonly clock: Clock; readonly telemetry: Telemetry };

/**
 * Records `kelp.table.operation.duration` for each attempt, by operation and outcome: `ok`, `refused` (a condition did not
 * hold), an error's code, or `aborted`.
 */
export function measuredTable(table: MetadataTable, measuring: Measuring): MetadataTable {
  const measure = measureAs('kelp.table.operation.duration', measuring);
  return {
    get: (key, signal) => measure('get', () => table.get(key, signal)),
    put: (key, item, condition, signal) => measure('put', () => table.put(key, item, condition, signal), outcomeOf),
    update: (key, update, signal) => measure('update', () => table.update(key, update, signal), outcomeOf),
    delete: (key, condition, signal) => measure('delete', () => table.delete(key, condition, signal), outcomeOf),
    query: (query, signal) => measure('query', () => table.query(query, signal)),
  };
}

/** Records `kelp.store.operation.duration` as {@link measuredTable} does, and counts bytes in `kelp.store.io` by direction. */
export function measuredStore(store: ObjectStore, measuring: Measuring): ObjectStore {
  const measure = measureAs('kelp.store.operation.duration', measuring);
  const { telemetry } = measuring;
  return {
    async put(key, body, signal) {
      await measure('put', () => store.put(key, body, signal));
      const bytes = body.reduce((sum, part) => sum + part.length, 0);
      telemetry.count('kelp.store.io', bytes, { direction: 'write' });
    },
    async getRange(key, start, length, signal) {
      const bytes = await measure('get', () => store.getRange(key, start, length, signal));
      telemetry.count('kelp.store.io', bytes.length, { direction: 'read' });
      return bytes;
    },
    head: (key, signal) => measure('head', () => store.head(key, signal)),
    list: (prefix, page, signal) => measure('list', () => store.list(prefix, page, signal)),
    delete: (key, signal) => measure('delete', () => store.delete(key, signal)),
  };
}

type Measure = <T>(operation: string, call: () => Promise<T>, outcome?: (result: T) => string) => Promise<T>;

function measureAs(name: string, { clock, telemetry }: Measuring): Measure {
  return async (operation, call, outcome = () => 'ok') => {
    const startMs = clock.monotonicMs();
    const end = (how: string): void => telemetry.record(name, (clock.monotonicMs() - startMs) / 1000, { operation, outcome: how });
    try {
      const result = await call();
      end(outcome(result));
      return result;
    } catch (error) {
      end(error instanceof KelpError ? error.code : 'aborted');
      throw error;
    }
  };
}

function outcomeOf({ applied }: WriteResult): string {
  return applied ? 'ok' : 'refused';
}
