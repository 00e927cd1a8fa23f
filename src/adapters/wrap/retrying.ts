import { backoffMs } from '../../model/backoff.ts';
import { KelpError } from '../../model/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MetadataTable } from '../../ports/metadata-table.ts';
import type { ObjectStore } from '../../ports/object-store.ts';
import type { Random } from '../../ports/random.ts';

export type ReadRetries = {
  readonly clock: Clock;
  readonly random: Random;
  /** Attempts of one call. */
  readonly attemptsMax: number;
  /** For all attempts of a call and the waits between them: none begins after it. */
  readonly budgetMs: number;
};

/** Reads are asked again while that may help. Writes are not: only their caller knows what a second one would do. */
export function retryingTable(table: MetadataTable, retries: ReadRetries): MetadataTable {
  return {
    get: (key, signal) => askAgain(retries, () => table.get(key, signal), signal),
    query: (query, signal) => askAgain(retries, () => table.query(query, signal), signal),
    put: (key, item, condition, signal) => table.put(key, item, condition, signal),
    update: (key, update, signal) => table.update(key, update, signal),
    delete: (key, condition, signal) => table.delete(key, condition, signal),
  };
}

/** As {@link retryingTable}; deleting an object twice is fine, so that is asked again as well. */
export function retryingStore(store: ObjectStore, retries: ReadRetries): ObjectStore {
  return {
    put: (key, body, signal) => store.put(key, body, signal),
    getRange: (key, start, length, signal) => askAgain(retries, () => store.getRange(key, start, length, signal), signal),
    head: (key, signal) => askAgain(retries, () => store.head(key, signal), signal),
    list: (prefix, page, signal) => askAgain(retries, () => store.list(prefix, page, signal), signal),
    delete: (key, signal) => askAgain(retries, () => store.delete(key, signal), signal),
  };
}

/** Ends with the result, the signal's own reason, or the last attempt's error. */
async function askAgain<T>(retries: ReadRetries, read: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const endMs = retries.clock.monotonicMs() + retries.budgetMs;
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await read();
    } catch (error) {
      // An abort is never tried again, whatever error it came out as.
      signal.throwIfAborted();
      const waitMs = waitBefore(error, attempt, retries);
      if (waitMs === undefined || retries.clock.monotonicMs() + waitMs >= endMs) throw error;
      await retries.clock.sleep(waitMs, signal);
    }
  }
}

/** Exponential with full jitter, and no less than the other side asks for; undefined: another attempt would not help. */
function waitBefore(error: unknown, attempt: number, { random, attemptsMax }: ReadRetries): number | undefined {
  if (attempt >= attemptsMax || !(error instanceof KelpError)) return undefined;
  if (error.kind !== 'throttled' && error.kind !== 'unavailable' && error.kind !== 'conflict') return undefined;
  return Math.max(backoffMs(attempt, random.fraction()), error.retryAfterMs ?? 0);
}
