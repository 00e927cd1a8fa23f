import type { Lease } from '../model/broker.ts';
import type { BrokerId } from '../model/ids.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import type { Item } from '../ports/metadata-table.ts';
import { checkVersion, integerField, stringField } from './item-fields.ts';

const LEASE_VERSION = 1;

export function encodeLease(lease: Lease): Item {
  return {
    v: LEASE_VERSION,
    tenant: TENANT_DEFAULT,
    holder: lease.holder,
    broker: lease.broker,
    url: lease.url,
    epoch: lease.epoch,
    version: lease.version,
    valid: lease.leaseMs,
    ...(lease.expiresMs === undefined ? {} : { expires: lease.expiresMs }),
  };
}

/** Error `corrupt` where the item is not as FORMAT.md says. */
export function decodeLease(item: Item): Lease {
  checkVersion(item, LEASE_VERSION);
  return {
    holder: stringField(item, 'holder'),
    broker: stringField(item, 'broker') as BrokerId,
    url: stringField(item, 'url'),
    epoch: integerField(item, 'epoch'),
    version: integerField(item, 'version'),
    leaseMs: integerField(item, 'valid'),
    ...(item['expires'] === undefined ? {} : { expiresMs: integerField(item, 'expires') }),
  };
}
