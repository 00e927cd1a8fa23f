import { KelpError } from '../../model/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MetadataTable } from '../../ports/metadata-table.ts';
import type { ObjectStore } from '../../ports/object-store.ts';

export type AttemptBound = { readonly clock: Clock; readonly attemptMsMax: number };

/** Ends each attempt after `attemptMsMax`, within the caller's own time: a server that hangs must not use all of it up. */
export function boundedTable(table: MetadataTable, bound: AttemptBound): MetadataTable {
  const read = timedOut('unavailable', 'table-unavailable', bound);
  const write = timedOut('indefinite', 'table-indefinite', bound);
  return {
    get: (key, signal) => attempt(read, (own) => table.get(key, own), signal),
    query: (query, signal) => attempt(read, (own) => table.query(query, own), signal),
    put: (key, item, condition, signal) => attempt(write, (own) => table.put(key, item, condition, own), signal),
    update: (key, update, signal) => attempt(write, (own) => table.update(key, update, own), signal),
    delete: (key, condition, signal) => attempt(write, (own) => table.delete(key, condition, own), signal),
  };
}

/** As {@link boundedTable}. */
export function boundedStore(store: ObjectStore, bound: AttemptBound): ObjectStore {
  const read = timedOut('unavailable', 'store-unavailable', bound);
  const put = timedOut('indefinite', 'store-indefinite', bound);
  return {
    put: (key, body, signal) => attempt(put, (own) => store.put(key, body, own), signal),
    getRange: (key, start, length, signal) => attempt(read, (own) => store.getRange(key, start, length, own), signal),
    head: (key, signal) => attempt(read, (own) => store.head(key, own), signal),
    list: (prefix, page, signal) => attempt(read, (own) => store.list(prefix, page, own), signal),
    delete: (key, signal) => attempt(read, (own) => store.delete(key, own), signal),
  };
}

/** What an attempt's end means to the caller. */
type Ending = AttemptBound & { readonly error: (cause: unknown) => KelpError };

function timedOut(kind: 'unavailable' | 'indefinite', code: string, bound: AttemptBound): Ending {
  return { ...bound, error: (cause) => new KelpError(kind, code, `no answer within ${bound.attemptMsMax} ms`, { cause }) };
}

const ENDED = new Error('the attempt has ended');

// Not AbortSignal.any with a deadline: an attempt takes milliseconds, and each would leave its timer and signals for seconds.
async function attempt<T>({ clock, attemptMsMax, error }: Ending, call: (own: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const own = new AbortController();
  const over = new AbortController();
  let late = false;
  const onAbort = (): void => own.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  clock.sleep(attemptMsMax, over.signal).then(
    () => {
      late = true;
      return own.abort(new DOMException(`${attemptMsMax} ms are over`, 'TimeoutError'));
    },
    () => undefined, // woken by the end of the attempt, which is all that can abort it
  );
  try {
    return await call(own.signal);
  } catch (cause) {
    // The caller's own end is reported as it is, and what the adapter knows better too; the attempt's is an error of its own.
    if (signal.aborted || !late || cause instanceof KelpError) throw cause;
    throw error(cause);
  } finally {
    signal.removeEventListener('abort', onAbort);
    over.abort(ENDED);
  }
}
