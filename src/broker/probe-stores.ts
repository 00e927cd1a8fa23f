import { probeKey } from '../format/item-key.ts';
import { probeObjectKey } from '../format/object-key.ts';
import { KelpError } from '../model/errors.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Random } from '../ports/random.ts';

type ProbeDeps = { readonly table: MetadataTable; readonly store: ObjectStore; readonly random: Random };

const PROBE_ID_LENGTH = 16;
const PROBE_BYTES = new TextEncoder().encode('kelp');

/** Writes, reads back and deletes an item and an object of its own. Error `unavailable`/`not-ready` says which failed. */
export async function probeStores(deps: ProbeDeps, signal: AbortSignal): Promise<void> {
  const id = deps.random.base36(PROBE_ID_LENGTH);
  await Promise.all([
    explain('the table', () => probeTable(deps.table, id, signal)),
    explain('the object store', () => probeStore(deps.store, id, signal)),
  ]);
}

async function probeTable(table: MetadataTable, id: string, signal: AbortSignal): Promise<boolean> {
  const key = probeKey(id);
  await table.put(key, { v: 1, probe: id }, [], signal);
  const item = await table.get(key, signal);
  await table.delete(key, [], signal);
  return item?.['probe'] === id;
}

async function probeStore(store: ObjectStore, id: string, signal: AbortSignal): Promise<boolean> {
  const key = probeObjectKey(id);
  await store.put(key, [PROBE_BYTES], signal);
  const bytes = await store.getRange(key, 0, PROBE_BYTES.length, signal);
  await store.delete(key, signal);
  return bytes.length === PROBE_BYTES.length && bytes.every((byte, index) => byte === PROBE_BYTES[index]);
}

async function explain(what: string, probe: () => Promise<boolean>): Promise<void> {
  let same: boolean;
  try {
    same = await probe();
  } catch (cause) {
    const reason = cause instanceof KelpError ? cause.code : 'no answer in time';
    throw new KelpError('unavailable', 'not-ready', `${what} can't be written and read: ${reason}`, { cause, retryAfterMs: 1_000 });
  }
  if (!same) throw new KelpError('unavailable', 'not-ready', `${what} does not give back what was written`, { retryAfterMs: 1_000 });
}
