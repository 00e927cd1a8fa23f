import { type BrokerAddress, type BrokerRecord, isDraining } from '../../model/broker.ts';
import type { BrokerId } from '../../model/ids.ts';
import { BROKER_PROBE_MS, BROKERS_READ_MS, FLEET_PROBES_MAX, LEADER_HEARTBEAT_MS } from '../../model/limits.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { orAbort } from '../../state/abortable.ts';
import type { BrokerDirectory } from '../brokers/directory.ts';
import { afterProbe, afterRead, afterReport, judge, type Observation, standingStill, type Verdict } from './judge-brokers.ts';
import type { Messenger } from './tell-brokers.ts';

/** Failed probes in a row, by which it is said that a broker has never answered: one that has just started needs some. */
const UNANSWERED_PROBES_TOLD = 5;

/** What the leader knows of the others' lives. */
export type BrokerWatch = {
  /** A term begins: what was seen before it is old. `stopped`: a broker whose lease was timed out. */
  begin(stopped: BrokerId | undefined): void;
  /** One look: probes, and a read of all items where it is time for one, or where a probe makes one wonder. */
  look(signal: AbortSignal): Promise<void>;
  /** Reads all items, without a probe: for an instance that does not look. */
  read(signal: AbortSignal): Promise<void>;
  /** Somebody could not reach it: probed now, but once in BROKER_PROBE_MS; all who report it meanwhile share the answer. */
  report(broker: BrokerRecord, signal: AbortSignal): Promise<Verdict>;
  verdict(broker: BrokerId): Verdict;
  /**
   * Whether it has ever answered, and is not dead: whoever registers a wrong address gets nothing. Asked now if it was not yet;
   * `again`: also if it has failed since.
   */
  isUsable(broker: BrokerRecord, options: { readonly again: boolean }, signal: AbortSignal): Promise<boolean>;
  /** What was seen of its item; undefined: nothing yet. */
  observed(broker: BrokerId): Observation | undefined;
  /** Whether any other process answers at the moment, and is seen to live by its item, too. */
  othersAnswer(): boolean;
  /** As read last, and as learnt since. */
  brokers(): readonly BrokerRecord[];
};

export type WatchDeps = {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly directory: BrokerDirectory;
  readonly messenger: Messenger;
  readonly self: BrokerAddress;
};

type Report = { readonly atMs: number; readonly verdict: Promise<Verdict> };
type State = {
  readonly observations: Map<BrokerId, Observation>;
  readonly reports: Map<BrokerId, Report>;
  readonly asking: Map<BrokerId, Promise<void>>;
  brokers: readonly BrokerRecord[];
  /** The sending of the last read that was answered. */
  readMs: number;
  lookedMs: number;
  stopped: BrokerId | undefined;
};

export function createBrokerWatch(deps: WatchDeps): BrokerWatch {
  const state: State = {
    observations: new Map(),
    reports: new Map(),
    asking: new Map(),
    brokers: [],
    readMs: -Infinity,
    lookedMs: -Infinity,
    stopped: undefined,
  };
  return {
    begin(stopped) {
      state.observations.clear();
      state.reports.clear();
      state.readMs = -Infinity;
      state.stopped = stopped;
    },
    async look(signal) {
      state.lookedMs = deps.clock.monotonicMs();
      // The first one has nobody to probe.
      if (state.readMs === -Infinity) await read(deps, state, signal);
      const isTimeToRead = deps.clock.monotonicMs() - state.readMs >= readEveryMs(deps, state);
      await Promise.all(probed(deps, state, { fleets: isTimeToRead }).map((broker) => probe(deps, state, broker, signal)));
      const isUnsure = state.brokers.some((broker) => verdictOf(deps, state, broker.id) === 'unsure');
      if (isTimeToRead || isUnsure) await read(deps, state, signal);
    },
    read: (signal) => read(deps, state, signal),
    report: (broker, signal) => orAbort(report(deps, state, broker), signal),
    isUsable: (broker, { again }, signal) => orAbort(isUsable(deps, state, broker, again), signal),
    verdict: (broker) => verdictOf(deps, state, broker),
    observed: (broker) => state.observations.get(broker),
    othersAnswer: () => state.brokers.some(({ id, kind }) => id !== deps.self.id && kind === 'process' && answers(state, id)),
    brokers: () => state.brokers.flatMap((broker) => deps.directory.known(broker.id) ?? []),
  };
}

function answers({ observations }: State, broker: BrokerId): boolean {
  const seen = observations.get(broker);
  return seen?.answered === true && seen.failed === 0 && seen.moved;
}

/** Nobody judges itself. */
function verdictOf({ self }: WatchDeps, { observations }: State, broker: BrokerId): Verdict {
  const observation = observations.get(broker);
  return observation === undefined || broker === self.id ? 'alive' : judge(observation);
}

/** Alone, there is nobody whose death it could miss; whoever comes is seen soon enough. */
function readEveryMs({ self }: WatchDeps, { brokers }: State): number {
  return brokers.every((broker) => broker.id === self.id) ? LEADER_HEARTBEAT_MS : BROKERS_READ_MS;
}

/** A fleet's instances cost money while they answer: they are asked seldom, but for one that did not. */
function probed({ self }: WatchDeps, { brokers, observations }: State, { fleets }: { readonly fleets: boolean }): BrokerRecord[] {
  const hasFailed = (id: BrokerId): boolean => (observations.get(id)?.failed ?? 0) > 0;
  return brokers.filter(({ id, kind }) => id !== self.id && (kind === 'process' || fleets || hasFailed(id)));
}

async function read(deps: WatchDeps, state: State, signal: AbortSignal): Promise<void> {
  const sentMs = deps.clock.monotonicMs();
  const brokers = await deps.directory.list({ fresh: true }, signal);
  const answeredMs = deps.clock.monotonicMs();
  state.brokers = brokers;
  state.readMs = sentMs;
  const ids = new Set(brokers.map((broker) => broker.id));
  for (const id of state.observations.keys()) if (!ids.has(id)) state.observations.delete(id);
  for (const broker of brokers) {
    const first = !state.observations.has(broker.id);
    note(deps, state, broker.id, (before) => {
      const seen = afterRead(before, broker, { sentMs, answeredMs });
      return first && broker.id === state.stopped ? standingStill(seen) : seen;
    });
  }
  // Whoever comes back under its id later is another life.
  state.stopped = undefined;
}

async function probe(deps: WatchDeps, state: State, broker: BrokerRecord, signal: AbortSignal): Promise<void> {
  const { probe: result, shown } = await deps.messenger.probe({ id: broker.id, url: broker.url }, signal);
  note(deps, state, broker.id, (before) => afterProbe(before ?? unseen(deps, broker), result, shown));
}

/** A broker that was reported before it was read. */
function unseen({ clock }: WatchDeps, broker: BrokerRecord): Observation {
  const nowMs = clock.monotonicMs();
  return afterRead(undefined, broker, { sentMs: nowMs, answeredMs: nowMs });
}

/** One that has failed is asked again by the looks of a term; here, only where nobody looks, or where it is wanted badly. */
async function isUsable(deps: WatchDeps, state: State, broker: BrokerRecord, again: boolean): Promise<boolean> {
  if (broker.id === deps.self.id) return true;
  const isFine = (): boolean => state.observations.get(broker.id)?.answered === true && verdictOf(deps, state, broker.id) !== 'dead';
  if (isFine()) return true;
  const hasFailed = (state.observations.get(broker.id)?.failed ?? 0) > 0;
  const isWatched = deps.clock.monotonicMs() - state.lookedMs < BROKERS_READ_MS;
  if (again || !hasFailed || !isWatched) await probeTogether(deps, state, broker);
  return isFine();
}

/** All who ask while it is under way share the answer. */
function probeTogether(deps: WatchDeps, state: State, broker: BrokerRecord): Promise<void> {
  const underWay = state.asking.get(broker.id) ?? probeAlone(deps, state, broker).finally(() => state.asking.delete(broker.id));
  state.asking.set(broker.id, underWay);
  return underWay;
}

/** Nobody's own signal: a caller who leaves must not take the answer away from the others. The probe has a bound. */
function probeAlone(deps: WatchDeps, state: State, broker: BrokerRecord): Promise<void> {
  return probe(deps, state, broker, deps.clock.deadline(2 * BROKER_PROBE_MS));
}

/** Whoever reports it within a time shares the answer: reports cost a healthy broker next to nothing. */
function report(deps: WatchDeps, state: State, broker: BrokerRecord): Promise<Verdict> {
  const nowMs = deps.clock.monotonicMs();
  const last = state.reports.get(broker.id);
  if (last !== undefined && nowMs - last.atMs < BROKER_PROBE_MS) return last.verdict;
  const ask = async (): Promise<Verdict> => {
    await probeAlone(deps, state, broker);
    note(deps, state, broker.id, (before) => afterReport(before ?? unseen(deps, broker)));
    return verdictOf(deps, state, broker.id);
  };
  const verdict = ask();
  state.reports.set(broker.id, { atMs: nowMs, verdict });
  return verdict;
}

function note(deps: WatchDeps, state: State, broker: BrokerId, change: (before: Observation | undefined) => Observation): void {
  const before = verdictOf(deps, state, broker);
  const known = state.observations.get(broker);
  const observation = change(known);
  state.observations.set(broker, observation);
  const after = verdictOf(deps, state, broker);
  const isTold = after !== 'dead' || observation.kind === 'fleet';
  if (isTold && observation.failed !== known?.failed) tellUnanswered(deps, broker, observation);
  if (before === after || (before !== 'dead' && after !== 'dead')) return;
  if (after === 'dead') deps.telemetry.count('kelp.brokers.dead', 1);
  const { kind, stillMs, failed, reported } = observation;
  const why = { broker, kind, stillMs: Math.round(stillMs), failed, reported };
  deps.telemetry.log('warn', after === 'dead' ? 'a broker is dead' : 'a broker that was taken for dead lives', why);
}

/** It lives, and is given nothing, and nobody else would say why. Said once; of a fleet, which is dead by then, each time it comes. */
function tellUnanswered({ telemetry, directory }: WatchDeps, broker: BrokerId, { kind, answered, failed }: Observation): void {
  if (answered || failed !== (kind === 'fleet' ? FLEET_PROBES_MAX : UNANSWERED_PROBES_TOLD)) return;
  const message = 'a broker has never answered, so it is given no segments: is its address right, and its internal secret?';
  telemetry.log('warn', message, { broker, url: directory.known(broker)?.url });
}

/** Whoever must not be given a segment: dead, or about to leave. `doubtful`: also those that don't answer at the moment. */
export function unfit(watch: BrokerWatch, { doubtful }: { readonly doubtful: boolean }): ReadonlySet<BrokerId> {
  const isFit = (broker: BrokerRecord): boolean => {
    const verdict = watch.verdict(broker.id);
    return !isDraining(broker) && verdict !== 'dead' && !(doubtful && verdict === 'unsure');
  };
  return new Set(watch.brokers().flatMap((broker) => (isFit(broker) ? [] : [broker.id])));
}
