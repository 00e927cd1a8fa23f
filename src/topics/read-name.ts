import { nameKey } from '../format/item-key.ts';
import { decodeName, type NameRecord } from '../format/name-item.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import type { TopologyDeps } from '../topology/apply-change.ts';

/** Undefined: no topic ever had this name. */
export async function readName(deps: TopologyDeps, name: string, signal: AbortSignal): Promise<NameRecord | undefined> {
  const item = await deps.table.get(nameKey(TENANT_DEFAULT, name), signal);
  return item === undefined ? undefined : decodeName(item);
}
