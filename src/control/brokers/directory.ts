import { decodeBroker } from '../../format/broker-item.ts';
import { brokersPartition } from '../../format/item-key.ts';
import type { BrokerAddress, BrokerRecord } from '../../model/broker.ts';
import type { BrokerId } from '../../model/ids.ts';
import { BROKERS_KNOWN_MS_MAX, BROKERS_MAX, TIMEOUT_MS_DEFAULT } from '../../model/limits.ts';
import { TENANT_DEFAULT } from '../../model/topic.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MetadataTable } from '../../ports/metadata-table.ts';
import { orAbort } from '../../state/abortable.ts';

/** The registered brokers as this instance has read them. Believing an old list is safe: whoever has gone refuses. */
export type BrokerDirectory = {
  /** In order of their ids. Believed for BROKERS_KNOWN_MS_MAX unless `fresh`; concurrent callers share one query. */
  list(options: { readonly fresh: boolean }, signal: AbortSignal): Promise<readonly BrokerRecord[]>;
  /** Without a read: as seen last, however old. */
  known(id: BrokerId): BrokerRecord | undefined;
  /** As `list`, and reads once if one of the ids is unknown; ids that are nobody's are left out. Keeps the order. */
  addresses(ids: readonly BrokerId[], signal: AbortSignal): Promise<readonly BrokerAddress[]>;
  /** Takes states that writes gave. */
  learn(brokers: readonly BrokerRecord[]): void;
  /** It was deleted. */
  forget(id: BrokerId): void;
};

type DirectoryDeps = {
  readonly table: MetadataTable;
  readonly clock: Clock;
  /** Told of each list that was read. */
  readonly onRead?: (brokers: readonly BrokerRecord[]) => void;
};

export function createBrokerDirectory(deps: DirectoryDeps): BrokerDirectory {
  let brokers = new Map<BrokerId, BrokerRecord>();
  let readAtMs = -Infinity;
  let reading: Promise<readonly BrokerRecord[]> | undefined;
  /** What was learnt while a query was under way: its answer may be older. Undefined: deleted. */
  const learnt = new Map<BrokerId, BrokerRecord | undefined>();
  const strangers = createStrangers(deps.clock);

  const listed = (): readonly BrokerRecord[] => [...brokers.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const isBelieved = (): boolean => deps.clock.monotonicMs() - readAtMs < BROKERS_KNOWN_MS_MAX;
  const set = (id: BrokerId, broker: BrokerRecord | undefined): void => {
    if (broker === undefined) brokers.delete(id);
    else brokers.set(id, broker);
  };
  const take = (id: BrokerId, broker: BrokerRecord | undefined): void => {
    learnt.set(id, broker);
    set(id, broker);
  };

  async function read(): Promise<readonly BrokerRecord[]> {
    learnt.clear();
    // Nobody's own signal: a caller who leaves must not take the answer away from the others.
    const found = await readBrokers(deps.table, deps.clock.deadline(TIMEOUT_MS_DEFAULT));
    brokers = new Map(found.map((broker) => [broker.id, broker]));
    for (const [id, broker] of learnt) set(id, broker);
    readAtMs = deps.clock.monotonicMs();
    deps.onRead?.(listed());
    return listed();
  }

  function share(signal: AbortSignal): Promise<readonly BrokerRecord[]> {
    reading ??= read().finally(() => (reading = undefined));
    return orAbort(reading, signal);
  }

  return {
    known: (id) => brokers.get(id),
    learn: (records) => records.forEach((broker) => take(broker.id, broker)),
    forget: (id) => take(id, undefined),
    list: async ({ fresh }, signal) => (fresh || !isBelieved() ? share(signal) : listed()),
    async addresses(ids, signal) {
      if (!isBelieved() || ids.some((id) => !brokers.has(id) && !strangers.has(id))) {
        await share(signal);
        strangers.note(ids.filter((id) => !brokers.has(id)));
      }
      return ids.flatMap((id) => brokers.get(id) ?? []).map(({ id, url }) => ({ id, url }));
    },
  };
}

type Strangers = { has(id: BrokerId): boolean; note(ids: readonly BrokerId[]): void };

/** Ids that are nobody's: each is looked for once in that time, not with each message. */
function createStrangers(clock: Clock): Strangers {
  const untilMs = new Map<BrokerId, number>();
  return {
    has: (id) => clock.monotonicMs() < (untilMs.get(id) ?? -Infinity),
    note(ids) {
      if (untilMs.size > BROKERS_MAX) untilMs.clear();
      for (const id of ids) untilMs.set(id, clock.monotonicMs() + BROKERS_KNOWN_MS_MAX);
    },
  };
}

async function readBrokers(table: MetadataTable, signal: AbortSignal): Promise<BrokerRecord[]> {
  const { items } = await table.query({ pk: brokersPartition(TENANT_DEFAULT), limit: BROKERS_MAX }, signal);
  return items.map(decodeBroker).filter(({ drained }) => drained === undefined);
}
