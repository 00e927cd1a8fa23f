import { KelpError } from '../../model/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MetadataTable } from '../../ports/metadata-table.ts';
import type { ObjectStore } from '../../ports/object-store.ts';

export type AttemptBound = { readonly clock: Clock; readonly attemptMsMax: number };

/** Ends each attempt after `attemptMsMax`, within the caller's own time: a server that hangs must not use all of it up. */
export function boundedTable(table: MetadataTable, bound: AttemptBound): MetadataTable {
  return {
    get: (key, signal) => attempt(bound, signal, 'unavailable', (own) => table.get(key, own)),
    query: (query, signal) => attempt(bound, signal, 'unavailable', (own) => table.query(query, own)),
    put: (key, item, condition, signal) => attempt(bound, signal, 'indefinite', (own) => table.put(key, item, condition, own)),
    update: (key, update, signal) => attempt(bound, signal, 'indefinite', (own) => table.update(key, update, own)),
    delete: (key, condition, signal) => attempt(bound, signal, 'indefinite', (own) => table.delete(key, condition, own)),
  };
}

/** As {@link boundedTable}. */
export function boundedStore(store: ObjectStore, bound: AttemptBound): ObjectStore {
  return {
    put: (key, body, signal) => attempt(bound, signal, 'indefinite', (own) => store.put(key, body, own)),
    getRange: (key, start, length, signal) => attempt(bound, signal, 'unavailable', (own) => store.getRange(key, start, length, own)),
    list: (prefix, page, signal) => attempt(bound, signal, 'unavailable', (own) => store.list(prefix, page, own)),
    delete: (key, signal) => attempt(bound, signal, 'indefinite', (own) => store.delete(key, own)),
  };
}

async function attempt<T>(
  bound: AttemptBound,
  signal: AbortSignal,
  kind: 'unavailable' | 'indefinite',
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = bound.clock.deadline(bound.attemptMsMax);
  try {
    return await call(AbortSignal.any([signal, deadline]));
  } catch (error) {
    // The caller's own end is reported as it is; the attempt's is an error like any other.
    if (signal.aborted || !deadline.aborted || error instanceof KelpError) throw error;
    throw new KelpError(kind, kind, `no answer within ${bound.attemptMsMax} ms`, { cause: error });
  }
}
