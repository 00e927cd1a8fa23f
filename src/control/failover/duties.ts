import type { BrokerAddress, BrokerRecord } from '../../model/broker.ts';
import type { Head } from '../../model/head.ts';
import type { BrokerId, TopicId } from '../../model/ids.ts';
import { BROKER_PROBE_MS, MOVES_READ_PARALLEL_MAX, TIMEOUT_MS_DEFAULT } from '../../model/limits.ts';
import type { SegmentPressure } from '../../model/segment-pressure.ts';
import type { Peers } from '../../ports/peers.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { inParallel } from '../../state/in-parallel.ts';
import type { TopologyDeps } from '../../topology/apply-change.ts';
import type { Assigner } from '../assignment/assign.ts';
import { countServed, type SegmentCounts } from '../assignment/segment-counts.ts';
import type { BrokerDirectory } from '../brokers/directory.ts';
import type { IdentifiedChange, LeaderService, ServedRange } from '../control.ts';
import type { Term } from '../leader/leadership.ts';
import { notLeader } from '../not-leader.ts';
import { changeSegments } from '../scaling/change-segments.ts';
import { createRebalancer, type Rebalancer } from '../scaling/rebalancer.ts';
import type { ScalingMemory } from '../scaling/scaling-memory.ts';
import { type Gathered, gatherReports, type Reported } from './gather-reports.ts';
import { createLeavers, type Leavers } from './leavers.ts';
import { type MoveDeps, moveSegments } from './move-segments.ts';
import { moveOf } from './plan-moves.ts';
import { requestDrain } from './request-drain.ts';
import { createMessenger } from './tell-brokers.ts';
import { type BrokerWatch, createBrokerWatch, unfit } from './watch-brokers.ts';

/**
 * What the leader does besides assigning: it watches the brokers, leaves those that are dead or drain, and has segments split and
 * merge.
 */
export type Duties = {
  /** For one term; ends with its signal, once nothing of it is under way. Never rejects. */
  lead(term: Term): Promise<void>;
  /** Does what a call needs, in a term that lasts no longer: nothing is done by itself. */
  leadOnce<T>(term: Term, work: () => Promise<T>): Promise<T>;
  /** As of LeaderService. All who report a broker share one probe a second. Error `unavailable`/`no-brokers`. */
  suspect: LeaderService['suspect'];
  /** As of LeaderService. Errors `not-found`/`broker-not-found`, `conflict`/`last-broker`. */
  drain: LeaderService['drain'];
  /** As of LeaderService. Error `unavailable`/`not-leader` once the term is over; what was begun stands in the topic. */
  change: LeaderService['change'];
  /** As of LeaderService. Error `unavailable`/`not-leader` as of `change`. */
  rebalance: LeaderService['rebalance'];
  /** As of LeaderService. */
  nudge: LeaderService['nudge'];
  /** As of LeaderService. */
  loads: LeaderService['loads'];
  /** Judged dead, and not known to be back. */
  isDead(broker: BrokerId): boolean;
  /** As of BrokerWatch. */
  othersAnswer(): boolean;
  /** Whether it may be given segments, as of BrokerWatch. */
  isUsable: BrokerWatch['isUsable'];
};

export type DutiesDeps = TopologyDeps & {
  readonly telemetry: Telemetry;
  readonly directory: BrokerDirectory;
  readonly assigner: Assigner;
  readonly counts: SegmentCounts;
  readonly peers?: Peers;
  readonly self: BrokerAddress;
  readonly memory: ScalingMemory;
  /** As of RebalancerDeps. */
  readonly rebalanceMs: number;
};

type Parts = {
  readonly deps: DutiesDeps;
  readonly watch: BrokerWatch;
  readonly moves: MoveDeps;
  readonly leavers: Leavers;
  readonly rebalancer: Rebalancer;
  /** The term that this instance leads in now. */
  term: Term | undefined;
  /** The same, of a call. */
  once: Term | undefined;
};

export function createDuties(deps: DutiesDeps): Duties {
  const messenger = createMessenger(deps);
  const watch = createBrokerWatch({ ...deps, messenger });
  const isDead = (broker: BrokerId): boolean => watch.verdict(broker) === 'dead';
  const living = (): BrokerAddress[] => watch.brokers().filter((broker) => !isDead(broker.id));
  const moves: MoveDeps = { ...deps, messenger, living, unfit: (options) => unfit(watch, options) };
  const rebalancer = createRebalancer({ ...moves, ...deps, mustLead: () => mustLead(parts), pressures: () => pressuresOf(watch) });
  const leavers = createLeavers({ ...moves, ...deps, watch });
  const parts: Parts = { deps, watch, moves, leavers, rebalancer, term: undefined, once: undefined };
  const move = gatherReports((gathered) => moveReported(parts, gathered));
  // One after the other: each must see who else is about to leave.
  let drained: Promise<unknown> = Promise.resolve();
  return {
    lead: (term) => lead(parts, term),
    suspect: (segment, broker, signal) => suspect(parts, { ...segment, broker, move }, signal),
    drain(broker, { perSecond }, signal) {
      const asked = drained.then(() => drain(parts, broker, perSecond, signal));
      drained = asked.catch(() => undefined);
      return asked;
    },
    async leadOnce(term, work) {
      parts.once = term;
      try {
        return await work();
      } finally {
        if (parts.once === term) parts.once = undefined;
      }
    },
    change: (topic, asked, signal) => change(parts, { topic, asked }, signal),
    rebalance: (asked, signal) => whileLeading(parts, (own) => rebalancer.rebalance(asked, own), signal),
    nudge: async (topic, pressures) => rebalancer.nudge(topic, pressures),
    loads: (topic, signal) => rebalancer.loads(topic, signal),
    isDead,
    othersAnswer: watch.othersAnswer,
    isUsable: watch.isUsable,
  };
}

async function lead(parts: Parts, term: Term): Promise<void> {
  const { deps, watch, leavers, rebalancer } = parts;
  watch.begin(term.predecessor);
  leavers.begin();
  parts.term = term;
  const rebalanced = rebalancer.lead(term);
  while (!term.signal.aborted) {
    const beganMs = deps.clock.monotonicMs();
    await look(parts, term);
    await pause(deps, beganMs + BROKER_PROBE_MS, term.signal);
  }
  await Promise.all([leavers.idle(), rebalanced]);
  if (parts.term === term) parts.term = undefined;
}

/** What goes wrong in one round is looked at again in the next one. */
async function look({ deps, watch, leavers }: Parts, term: Term): Promise<void> {
  try {
    await watch.look(term.signal);
    leavers.start(term);
  } catch (error) {
    if (term.signal.aborted) return;
    deps.telemetry.count('kelp.brokers.unseen', 1);
    deps.telemetry.log('warn', 'the leader could not look at the brokers', { error });
  }
}

async function pause({ clock }: DutiesDeps, untilMs: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(Math.max(0, untilMs - clock.monotonicMs()), signal);
  } catch (reason) {
    if (!signal.aborted) throw reason;
  }
}

type Suspicion = Reported & { readonly move: (reported: Reported, signal: AbortSignal) => Promise<void> };

async function suspect(parts: Parts, suspicion: Suspicion, signal: AbortSignal): Promise<{ readonly dead: boolean }> {
  const { deps, watch, leavers, term } = parts;
  const { topic, segment, broker, move } = suspicion;
  if (broker === deps.self.id) return { dead: false };
  const head = await deps.heads.read(topic, segment, signal);
  const serves = head !== undefined && head.state !== 'sealed' && head.brokers.includes(broker);
  if (!serves) return { dead: watch.verdict(broker) === 'dead' };
  if (await lives(parts, broker, signal)) return { dead: false };
  await move({ topic, segment, broker }, signal);
  if (term !== undefined) leavers.start(term);
  return { dead: true };
}

async function lives({ deps, watch, leavers }: Parts, broker: BrokerId, signal: AbortSignal): Promise<boolean> {
  const isIt = (one: BrokerRecord): boolean => one.id === broker;
  const record = deps.directory.known(broker) ?? (await deps.directory.list({ fresh: true }, signal)).find(isIt);
  if (record !== undefined) return (await watch.report(record, signal)) !== 'dead';
  leavers.gone(broker);
  return false;
}

/** For all who report them: no caller's own signal. The rest of the broker's segments come in the leader's own time. */
async function moveReported({ deps, watch, moves, term }: Parts, { topic, broker, segments }: Gathered): Promise<void> {
  const bound = deps.clock.deadline(TIMEOUT_MS_DEFAULT);
  const signal = term === undefined ? bound : AbortSignal.any([bound, term.signal]);
  // Outside of a term nobody has looked who lives.
  if (term === undefined) await watch.read(signal);
  const heads = await inParallel(segments, MOVES_READ_PARALLEL_MAX, (segment) => deps.heads.read(topic, segment, signal));
  const open = heads.filter((head) => head !== undefined && head.state !== 'sealed' && head.brokers.includes(broker));
  const batch = { topic, moves: open.map((head) => moveOf(head as Head)) };
  await moveSegments(moves, { ...batch, kind: 'failover', from: broker }, signal);
}

async function drain(
  { deps, watch, leavers, term }: Parts,
  broker: BrokerId,
  perSecond: number,
  signal: AbortSignal,
): Promise<{ readonly segments: number }> {
  // Outside of a term nobody has looked who lives: an item alone may be what a broker has left that died, and then nobody would end the drain.
  const isThere = async (one: BrokerRecord, own: AbortSignal): Promise<boolean> =>
    term === undefined ? watch.isUsable(one, { again: true }, own) : watch.verdict(one.id) !== 'dead';
  leavers.drains(await requestDrain({ ...deps, isThere }, broker, perSecond, signal));
  // It may have registered since the last look, and those that could take its segments, too.
  await watch.read(signal);
  const segments = await countServed(deps.table, broker, signal);
  if (term !== undefined) leavers.start(term);
  return { segments };
}

async function change(
  parts: Parts,
  { topic, asked }: { readonly topic: { readonly id: TopicId }; readonly asked: IdentifiedChange },
  signal: AbortSignal,
): Promise<readonly ServedRange[]> {
  const [applied] = await whileLeading(parts, (own) => changeSegments(parts.moves, topic, [asked], own), signal);
  if (applied?.refused !== undefined) throw applied.refused;
  return (applied?.children ?? []).map(({ segment, lo, hi, brokers = [] }) => ({ segment, lo, hi, brokers }));
}

/** Ends with the term: whoever leads next finds what was begun. */
async function whileLeading<T>(parts: Parts, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  const { watch, term, once } = parts;
  // Outside of a term nobody has looked who lives.
  if (term === undefined) await watch.read(signal);
  const led = term ?? once;
  const own = led === undefined ? signal : AbortSignal.any([signal, led.signal]);
  try {
    return await work(own);
  } catch (error) {
    signal.throwIfAborted();
    if (led?.signal.aborted === true) throw notLeader();
    throw error;
  }
}

/** Each look at a term looks at the clock: who was frozen finds it over, though no timer has run yet. */
function mustLead({ term, once }: Parts): void {
  if ((term ?? once)?.signal.aborted === true) throw notLeader();
}

function pressuresOf(watch: BrokerWatch): SegmentPressure[] {
  return watch.brokers().flatMap(({ id, pressure }) => (watch.verdict(id) === 'dead' ? [] : pressure));
}
