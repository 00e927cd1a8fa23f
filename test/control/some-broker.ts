import { encodeBroker } from '../../src/format/broker-item.ts';
import { brokerKey } from '../../src/format/item-key.ts';
import { type BrokerRecord, IDLE } from '../../src/model/broker.ts';
import type { BrokerId } from '../../src/model/ids.ts';
import { TENANT_DEFAULT } from '../../src/model/topic.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';

const { signal } = new AbortController();

export const brokerId = (text: string): BrokerId => text as BrokerId;

/** A registered broker, as its item says. */
export function someBroker(id: string, rest: Partial<BrokerRecord> = {}): BrokerRecord {
  return {
    id: brokerId(id),
    url: `http://${id}:80`,
    kind: 'process',
    zone: '',
    instance: `i-${id}`,
    version: 1,
    load: IDLE,
    pressure: [],
    startedMs: 1,
    heartbeatMs: 2,
    ...rest,
  };
}

export async function putBroker(table: MetadataTable, broker: BrokerRecord): Promise<void> {
  await table.put(brokerKey(TENANT_DEFAULT, broker.id), encodeBroker(broker), [], signal);
}
