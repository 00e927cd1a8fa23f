import type { BrokerAddress, BrokerRecord } from '../../model/broker.ts';
import type { Head } from '../../model/head.ts';
import type { BrokerId, TopicId } from '../../model/ids.ts';
import { BROKER_PROBE_MS, MOVES_READ_PARALLEL_MAX, TIMEOUT_MS_DEFAULT } from '../../model/limits.ts';
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
import { type Gathered, gatherReports, type Reported } from './gather-reports.ts';
import { createLeavers, type Leavers } from './leavers.ts';
import { type MoveDeps, moveSegments } from './move-segments.ts';
import { moveOf } from './plan-moves.ts';
import { requestDrain } from './request-drain.ts';
import { createMessenger } from './tell-brokers.ts';
import { type BrokerWatch, createBrokerWatch, unfit } from './watch-brokers.ts';

/** What the leader does besides assigning: it watches the brokers, leaves those that are dead or drain, and changes segments. */
export type Duties = {
  /** For one term; ends with its signal, once nothing of it is under way. Never rejects. */
  lead(term: Term): Promise<void>;
  /** As of LeaderService. All who report a broker share one probe a second. Error `unavailable`/`no-brokers`. */
  suspect: LeaderService['suspect'];
  /** As of LeaderService. Errors `not-found`/`broker-not-found`, `conflict`/`last-broker`. */
  drain: LeaderService['drain'];
  /** As of LeaderService. Error `unavailable`/`not-leader` once the term is over; what was begun stands in the topic. */
  change: LeaderService['change'];
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
};

type Parts = {
  readonly deps: DutiesDeps;
  readonly watch: BrokerWatch;
  readonly moves: MoveDeps;
  readonly leavers: Leavers;
  /** The term that this instance leads in now. */
  term: Term | undefined;
};

export function createDuties(deps: DutiesDeps): Duties {
  const messenger = createMessenger(deps);
  const watch = createBrokerWatch({ ...deps, messenger });
  const isDead = (broker: BrokerId): boolean => watch.verdict(broker) === 'dead';
  const living = (): BrokerAddress[] => watch.brokers().filter((broker) => !isDead(broker.id));
  const moves: MoveDeps = { ...deps, messenger, living, unfit: (options) => unfit(watch, options) };
  const parts: Parts = { deps, watch, moves, leavers: createLeavers({ ...moves, ...deps, watch }), term: undefined };
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
    change: (topic, asked, signal) => change(parts, { topic, asked }, signal),
    isDead,
    othersAnswer: watch.othersAnswer,
    isUsable: watch.isUsable,
  };
}

async function lead(parts: Parts, term: Term): Promise<void> {
  const { deps, watch, leavers } = parts;
  watch.begin(term.predecessor);
  leavers.begin();
  parts.term = term;
  while (!term.signal.aborted) {
    const beganMs = deps.clock.monotonicMs();
    await look(parts, term);
    await pause(deps, beganMs + BROKER_PROBE_MS, term.signal);
  }
  await leavers.idle();
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
  const isDead = (one: BrokerId): boolean => watch.verdict(one) === 'dead';
  leavers.drains(await requestDrain({ ...deps, isDead }, broker, perSecond, signal));
  // It may have registered since the last look, and those that could take its segments, too.
  await watch.read(signal);
  const segments = await countServed(deps.table, broker, signal);
  if (term !== undefined) leavers.start(term);
  return { segments };
}

async function change(
  { watch, moves, term }: Parts,
  { topic, asked }: { readonly topic: { readonly id: TopicId }; readonly asked: IdentifiedChange },
  signal: AbortSignal,
): Promise<readonly ServedRange[]> {
  // Outside of a term nobody has looked who lives.
  if (term === undefined) await watch.read(signal);
  const own = term === undefined ? signal : AbortSignal.any([signal, term.signal]);
  try {
    const [applied] = await changeSegments(moves, topic, [asked], own);
    if (applied?.refused !== undefined) throw applied.refused;
    return (applied?.children ?? []).map(({ segment, lo, hi, brokers = [] }) => ({ segment, lo, hi, brokers }));
  } catch (error) {
    signal.throwIfAborted();
    // Whoever leads next finds by the id what was done.
    if (own.aborted) throw notLeader();
    throw error;
  }
}
