import { type BrokerRecord, isDraining } from '../../model/broker.ts';
import type { BrokerId } from '../../model/ids.ts';
import { BROKERS_READ_MS } from '../../model/limits.ts';
import type { BrokerDirectory } from '../brokers/directory.ts';
import type { Term } from '../leader/leadership.ts';
import { deleteBroker, leaveBroker, markDrained, type Reason } from './leave-broker.ts';
import type { MoveDeps } from './move-segments.ts';
import type { BrokerWatch } from './watch-brokers.ts';

/** The brokers whose segments are being moved away: one piece of work for each, side by side. */
export type Leavers = {
  /** A term begins. */
  begin(): void;
  /** Begins with each broker that is dead or drains, unless that is under way. Never waits, never throws. */
  start(term: Term): void;
  /** Somebody's segments name a broker that is not registered any more. */
  gone(broker: BrokerId): void;
  /** It was just asked to drain, by a write of this instance. */
  drains(broker: BrokerRecord): void;
  /** Once nothing is under way. */
  idle(): Promise<void>;
};

export type LeaversDeps = MoveDeps & { readonly watch: BrokerWatch; readonly directory: BrokerDirectory };

type State = {
  readonly underWay: Map<BrokerId, Promise<void>>;
  /** Monotonic time before which one that failed is not tried again. */
  readonly notBeforeMs: Map<BrokerId, number>;
  readonly gone: Set<BrokerId>;
  /** Of which it was said that nobody can take their segments. */
  readonly stranded: Set<BrokerId>;
  /** The version at which a broker was first seen draining: above it, it has seen that, too. */
  readonly drains: Map<BrokerId, number>;
};

export function createLeavers(deps: LeaversDeps): Leavers {
  const state: State = { underWay: new Map(), notBeforeMs: new Map(), gone: new Set(), stranded: new Set(), drains: new Map() };
  return {
    begin() {
      for (const part of [state.notBeforeMs, state.gone, state.stranded, state.drains]) part.clear();
    },
    start(term) {
      if (term.signal.aborted) return;
      for (const broker of deps.watch.brokers()) noteDrain(state, broker);
      const ids = [...deps.watch.brokers().map((broker) => broker.id), ...state.gone];
      for (const id of ids.filter((one) => mayBegin(deps, state, one))) {
        const work = leave(deps, state, id, term).finally(() => state.underWay.delete(id));
        state.underWay.set(id, work);
      }
    },
    gone: (broker) => void state.gone.add(broker),
    drains: (broker) => void state.drains.set(broker.id, broker.version),
    async idle() {
      while (state.underWay.size > 0) await Promise.all(state.underWay.values());
    },
  };
}

function noteDrain({ drains }: State, broker: BrokerRecord): void {
  if (!isDraining(broker)) drains.delete(broker.id);
  else if (!drains.has(broker.id)) drains.set(broker.id, broker.version);
}

function reasonOf({ watch, directory }: LeaversDeps, { gone }: State, broker: BrokerId): Reason | undefined {
  const record = directory.known(broker);
  if (record === undefined) return gone.has(broker) ? { kind: 'failover' } : undefined;
  if (watch.verdict(broker) === 'dead') return { kind: 'failover' };
  return record.drainPerSecond === undefined ? undefined : { kind: 'drain', perSecond: record.drainPerSecond };
}

function mayBegin(deps: LeaversDeps, state: State, broker: BrokerId): boolean {
  if (state.underWay.has(broker) || reasonOf(deps, state, broker) === undefined) return false;
  if (deps.clock.monotonicMs() < (state.notBeforeMs.get(broker) ?? 0)) return false;
  const unfit = deps.unfit({ doubtful: false });
  const taken = deps.watch.brokers().some(({ id }) => id !== broker && !unfit.has(id));
  if (!taken) strand(deps, state, broker);
  return taken;
}

/** Its segments stay open, and anybody commits to them. Said once, until it can be helped. */
function strand({ telemetry }: LeaversDeps, { stranded }: State, broker: BrokerId): void {
  if (stranded.has(broker)) return;
  stranded.add(broker);
  telemetry.log('warn', 'nobody is there to take the segments of a broker that is left', { broker });
}

async function leave(deps: LeaversDeps, state: State, broker: BrokerId, term: Term): Promise<void> {
  const { signal } = term;
  // Looked at in the term itself: who was frozen finds it over, though no timer has run yet.
  const reason = (): Reason | undefined => (term.signal.aborted ? undefined : reasonOf(deps, state, broker));
  const laterMs = deps.clock.monotonicMs() + BROKERS_READ_MS;
  try {
    const left = await leaveBroker(deps, { broker, reason }, signal);
    if (left === 'nobody') strand(deps, state, broker);
    else state.stranded.delete(broker);
    const isGone = left === 'empty' && (await takeOff(deps, state, broker, signal));
    // Nothing is different before the items have been read again.
    if (left !== 'more' && !isGone) state.notBeforeMs.set(broker, laterMs);
  } catch (error) {
    if (signal.aborted) return;
    state.notBeforeMs.set(broker, laterMs);
    deps.telemetry.count('kelp.moves.failed', 1);
    deps.telemetry.log('warn', 'a broker could not be left', { broker, error });
  }
}

/** It serves nothing: it is a broker no more, unless it has shown a sign of life. Answers whether it is gone. */
async function takeOff(deps: LeaversDeps, state: State, broker: BrokerId, signal: AbortSignal): Promise<boolean> {
  // Its heartbeats go on while it drains, and what was read of it is old at once.
  if (reasonOf(deps, state, broker)?.kind === 'drain') await deps.watch.read(signal);
  const record = deps.directory.known(broker);
  const reason = reasonOf(deps, state, broker);
  state.gone.delete(broker);
  if (record === undefined || reason === undefined) return record === undefined;
  const seen = reason.kind === 'failover' ? deps.watch.observed(broker) : record;
  if (seen === undefined || (reason.kind === 'drain' && !knows(state, record))) return false;
  const { instance, version } = seen;
  const takeOffList = record.kind === 'fleet' && isDraining(record) ? markDrained : deleteBroker;
  if (!(await takeOffList(deps, { id: broker, instance, version }, signal))) return false;
  deps.directory.forget(broker);
  deps.telemetry.log('info', 'a broker has been left', { broker, because: reason.kind });
  return true;
}

/** Whether a broker that drains has written since, so that it knows, and does not register anew. A fleet never writes. */
function knows({ drains }: State, { id, kind, version }: BrokerRecord): boolean {
  return kind === 'fleet' || version > (drains.get(id) ?? version);
}
