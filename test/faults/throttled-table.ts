import { itemBytes } from '../../src/adapters/memory/item-bytes.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Key, MetadataTable, WriteResult } from '../../src/ports/metadata-table.ts';

const UNIT_BYTES = 1_024;

export type Throttling = {
  readonly clock: Clock;
  /** What one key may be written with: a partition of the real table takes 1,000. */
  readonly unitsPerSecond: number;
};

export type ThrottledTable = MetadataTable & {
  /** Write units used so far, of all keys. */
  units(): number;
  throttled(): number;
};

/**
 * Throttles writes by key as the real table does: a write costs a unit for each KB of the *whole* item, also when its
 * condition does not hold. A key's bucket holds one second's worth; what a write costs is known only afterwards, so it may
 * overdraw the bucket, and the next ones wait.
 */
export function createThrottledTable(table: MetadataTable, { clock, unitsPerSecond }: Throttling): ThrottledTable {
  const buckets = new Map<string, { units: number; atMs: number }>();
  let used = 0;
  let refused = 0;

  async function charge({ pk, sk }: Key, write: () => Promise<WriteResult>): Promise<WriteResult> {
    const nowMs = clock.monotonicMs();
    const name = JSON.stringify([pk, sk]);
    const bucket = buckets.get(name) ?? { units: unitsPerSecond, atMs: nowMs };
    buckets.set(name, bucket);
    bucket.units = Math.min(unitsPerSecond, bucket.units + ((nowMs - bucket.atMs) / 1000) * unitsPerSecond);
    bucket.atMs = nowMs;
    if (bucket.units <= 0) {
      refused++;
      throw new KelpError('throttled', 'table-throttled', 'planted: the key is over its write units');
    }
    const result = await write();
    const units = Math.max(1, Math.ceil(itemBytes(result.item ?? {}) / UNIT_BYTES));
    bucket.units -= units;
    used += units;
    return result;
  }

  return {
    units: () => used,
    throttled: () => refused,
    get: (key, signal) => table.get(key, signal),
    query: (query, signal) => table.query(query, signal),
    put: (key, item, condition, signal) => charge(key, () => table.put(key, item, condition, signal)),
    update: (key, update, signal) => charge(key, () => table.update(key, update, signal)),
    delete: (key, condition, signal) => charge(key, () => table.delete(key, condition, signal)),
  };
}
