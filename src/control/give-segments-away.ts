import { servedPartition } from '../format/item-key.ts';
import { type BrokerAddress, type BrokerRecord, isDraining } from '../model/broker.ts';
import { KelpError } from '../model/errors.ts';
import { BROKER_PROBE_MS_MAX, DRAIN_PER_SECOND_MAX, LEAVE_MS_MAX, LEAVE_POLL_MS } from '../model/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { Peers } from '../ports/peers.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { within } from '../state/within.ts';
import { askPeer } from './ask-peer.ts';
import type { BrokerDirectory } from './brokers/directory.ts';
import type { Registration } from './brokers/registration.ts';
import type { LeaderService } from './control.ts';

export type LeaveDeps = {
  readonly table: MetadataTable;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly peers?: Peers;
  readonly directory: BrokerDirectory;
  readonly self: BrokerAddress;
  readonly registration: Registration;
  readonly leader: LeaderService;
};

/**
 * Has this broker's segments moved to the others as fast as it goes, serving on meanwhile, for LEAVE_MS_MAX at most; at once
 * where nobody is there to take them. What is left then is moved by its fail-over, or stays its own if it comes back in time.
 * Rejects only with the signal's reason. Answers whether there were others.
 */
export async function giveSegmentsAway(deps: LeaveDeps, signal: AbortSignal): Promise<boolean> {
  try {
    return await within(deps.clock, { ms: LEAVE_MS_MAX, reason: unfinished }, (own) => untilLeft(deps, own), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof KelpError && error.code === 'last-broker') return false;
    deps.telemetry.count('kelp.leaves.unfinished', 1);
    deps.telemetry.log('warn', 'this broker leaves before all of its segments were moved', { broker: deps.self.id, error });
    return true;
  }
}

const unfinished = (): KelpError => new KelpError('unavailable', 'leave-unfinished', `not left within ${LEAVE_MS_MAX} ms`);

async function untilLeft(deps: LeaveDeps, signal: AbortSignal): Promise<boolean> {
  if (!(await othersLive(deps, signal))) return false;
  // Of another process that has its id by now, this one takes nothing away.
  if (!(await deps.registration.drain(DRAIN_PER_SECOND_MAX, signal))) return true;
  // Also where it serves nothing: the leader might be about to give it something, and hears of it by this.
  await deps.leader.drain(deps.self.id, { perSecond: DRAIN_PER_SECOND_MAX }, signal);
  while (await servesAny(deps, signal)) {
    await deps.clock.sleep(LEAVE_POLL_MS, signal);
    if (!(await othersLive(deps, signal))) return false;
  }
  return true;
}

/** Whether anybody could take a segment: asked, since a broker that is registered may be gone, as when all are told to stop. */
async function othersLive(deps: LeaveDeps, signal: AbortSignal): Promise<boolean> {
  const brokers = await deps.directory.list({ fresh: true }, signal);
  const others = brokers.filter((broker) => broker.id !== deps.self.id && !isDraining(broker));
  const answers = await Promise.all(others.map((broker) => lives(deps, broker, signal)));
  return answers.includes(true);
}

async function lives({ peers, clock }: LeaveDeps, broker: BrokerRecord, signal: AbortSignal): Promise<boolean> {
  // Without a way to ask, nothing speaks against it.
  if (peers === undefined) return true;
  try {
    await askPeer({ peers, clock }, { broker, operation: 'probe', request: {}, timeoutMs: BROKER_PROBE_MS_MAX }, signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    // One that is only slow will do.
    return !(error instanceof KelpError && error.code === 'peer-refused');
  }
}

/** Whether its list of segments has any. */
export async function servesAny({ table, self }: Pick<LeaveDeps, 'table' | 'self'>, signal: AbortSignal): Promise<boolean> {
  const { items } = await table.query({ pk: servedPartition(self.id), limit: 1 }, signal);
  return items.length > 0;
}
