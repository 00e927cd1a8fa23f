import { leaseKey } from '../../format/item-key.ts';
import { decodeLease } from '../../format/lease-item.ts';
import type { Leader, Lease } from '../../model/broker.ts';
import { LEADER_KNOWN_MS_MAX } from '../../model/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MetadataTable } from '../../ports/metadata-table.ts';
import { orAbort } from '../../state/abortable.ts';

/** Who leads, as this instance has seen it last. Believing an old leader is safe: it refuses, or does what anybody may. */
export type LeaderFinder = {
  /** Believed for LEADER_KNOWN_MS_MAX, then read; concurrent callers share one read. Undefined: nobody leads. */
  find(signal: AbortSignal): Promise<Leader | undefined>;
  /** It did not answer, or says that it does not lead: the next `find` reads. */
  forget(): void;
  /** Takes what a read or an answer said. What is older than what is known is no news. */
  learn(leader: Leader): void;
};

type Reading = { readonly leader: Promise<Leader | undefined>; readonly end: AbortController; callers: number };

export function createLeaderFinder(deps: { readonly table: MetadataTable; readonly clock: Clock }): LeaderFinder {
  let known: { readonly leader: Leader; readonly atMs: number } | undefined;
  let reading: Reading | undefined;

  const learn = (leader: Leader): void => {
    if (known !== undefined && leader.epoch < known.leader.epoch) return;
    known = { leader, atMs: deps.clock.monotonicMs() };
  };

  async function read(signal: AbortSignal): Promise<Leader | undefined> {
    const lease = await readLease(deps.table, signal);
    const epoch = lease?.epoch ?? 0;
    if (lease !== undefined && lease.holder !== '') learn({ id: lease.broker, url: lease.url, epoch });
    // Another leader may have been learnt of while this answer was on its way.
    else if (known !== undefined && known.leader.epoch <= epoch) known = undefined;
    return known?.leader;
  }

  function begin(): Reading {
    const end = new AbortController();
    const begun: Reading = { leader: read(end.signal).finally(() => leave(begun)), end, callers: 0 };
    return begun;
  }
  const leave = (left: Reading): void => {
    if (reading === left) reading = undefined;
  };

  /** Nobody's own signal: who leaves takes the answer away from no one, and the read ends with the last one. */
  async function share(signal: AbortSignal): Promise<Leader | undefined> {
    reading ??= begin();
    const joined = reading;
    joined.callers += 1;
    try {
      return await orAbort(joined.leader, signal);
    } finally {
      joined.callers -= 1;
      if (joined.callers === 0) {
        leave(joined);
        joined.end.abort(signal.reason);
      }
    }
  }

  return {
    learn,
    forget: () => void (known = undefined),
    async find(signal) {
      signal.throwIfAborted();
      if (known !== undefined && deps.clock.monotonicMs() - known.atMs < LEADER_KNOWN_MS_MAX) return known.leader;
      return share(signal);
    },
  };
}

async function readLease(table: MetadataTable, signal: AbortSignal): Promise<Lease | undefined> {
  const item = await table.get(leaseKey(), signal);
  return item === undefined ? undefined : decodeLease(item);
}
