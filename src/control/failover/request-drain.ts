import { decodeBroker } from '../../format/broker-item.ts';
import { brokerKey } from '../../format/item-key.ts';
import { type BrokerRecord, isDraining } from '../../model/broker.ts';
import { KelpError } from '../../model/errors.ts';
import type { BrokerId } from '../../model/ids.ts';
import { WRITE_ATTEMPTS_MAX } from '../../model/limits.ts';
import { TENANT_DEFAULT } from '../../model/topic.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MetadataTable, Update } from '../../ports/metadata-table.ts';
import type { Random } from '../../ports/random.ts';
import { askAgain } from '../../state/ask-again.ts';
import type { BrokerDirectory } from '../brokers/directory.ts';

export type DrainDeps = {
  readonly table: MetadataTable;
  readonly clock: Clock;
  readonly random: Random;
  readonly directory: BrokerDirectory;
  /** To take segments. */
  readonly isThere: (broker: BrokerRecord, signal: AbortSignal) => Promise<boolean>;
};

/**
 * Writes into the broker's item that it is to be left, and at which pace; asked twice, the newer pace counts. Answers the item
 * as it is then. Errors `not-found`/`broker-not-found`; `conflict`/`last-broker`: nobody could take its segments.
 */
export async function requestDrain(deps: DrainDeps, broker: BrokerId, perSecond: number, signal: AbortSignal): Promise<BrokerRecord> {
  for (let attempt = 0; attempt < WRITE_ATTEMPTS_MAX; attempt += 1) {
    const { instance } = await leaver(deps, broker, signal);
    const update: Update = {
      condition: [{ op: '=', path: ['instance'], value: instance }],
      changes: [
        { op: 'set', path: ['drain'], value: perSecond },
        { op: 'add', path: ['version'], value: 1 },
      ],
    };
    const result = await askAgain(deps, () => deps.table.update(brokerKey(TENANT_DEFAULT, broker), update, signal), signal);
    // Refused: it has gone, or come back as another life.
    if (result.applied) return learnt(deps, decodeBroker(result.item));
  }
  throw new KelpError('unavailable', 'unavailable', 'the broker comes and goes too fast', { retryAfterMs: 1_000 });
}

async function leaver(deps: DrainDeps, broker: BrokerId, signal: AbortSignal): Promise<BrokerRecord> {
  const brokers = await deps.directory.list({ fresh: true }, signal);
  const record = brokers.find((one) => one.id === broker);
  if (record === undefined) throw new KelpError('not-found', 'broker-not-found', `no broker ${broker}`);
  const others = brokers.filter((one) => one.id !== broker && !isDraining(one));
  const living = await Promise.all(others.map((one) => deps.isThere(one, signal)));
  if (!living.includes(true)) throw new KelpError('conflict', 'last-broker', `no other broker could take the segments of ${broker}`);
  return record;
}

function learnt({ directory }: DrainDeps, record: BrokerRecord): BrokerRecord {
  directory.learn([record]);
  return record;
}
