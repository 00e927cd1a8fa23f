import { leaseKey } from '../../../src/format/item-key.ts';
import { decodeLease, encodeLease } from '../../../src/format/lease-item.ts';
import type { Lease } from '../../../src/model/broker.ts';
import type { BrokerId } from '../../../src/model/ids.ts';
import { LEASE_MS } from '../../../src/model/limits.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';

const { signal } = new AbortController();

/** Puts a lease as it is told, over whatever is there. */
export async function writeLease(
  table: MetadataTable,
  { broker, ...rest }: Partial<Omit<Lease, 'broker'>> & { readonly broker: string },
): Promise<void> {
  const whole = { holder: `nonce-${broker}`, url: `http://${broker}`, epoch: 1, version: 1, leaseMs: LEASE_MS, ...rest };
  await table.put(leaseKey(), encodeLease({ ...whole, broker: broker as BrokerId }), [], signal);
}

export async function readLeaseItem(table: MetadataTable): Promise<Lease | undefined> {
  const item = await table.get(leaseKey(), signal);
  return item === undefined ? undefined : decodeLease(item);
}
