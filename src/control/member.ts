import type { BrokerAddress, BrokerKind } from '../model/broker.ts';
import { FUNCTION_LEASE_MS } from '../model/function-limits.ts';
import { BROKER_PROBE_MS_MAX } from '../model/limits.ts';
import type { LoadMeter } from '../ports/load-meter.ts';
import type { Peers } from '../ports/peers.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { PressureMeter } from '../state/pressure-meter.ts';
import type { TopologyDeps } from '../topology/apply-change.ts';
import { askPeer } from './ask-peer.ts';
import { type Assigner, createAssigner } from './assignment/assign.ts';
import { createSegmentCounts } from './assignment/segment-counts.ts';
import type { DesiredGauge } from './brokers/desired-gauge.ts';
import type { BrokerDirectory } from './brokers/directory.ts';
import { createRegistration, type Registration } from './brokers/registration.ts';
import type { LeaderService } from './control.ts';
import { createDuties, type Duties, type DutiesDeps } from './failover/duties.ts';
import type { LeaderFinder } from './leader/find-leader.ts';
import type { Term } from './leader/held-lease.ts';
import { createLeadership, type Leadership } from './leader/leadership.ts';
import { createLookOnce, type LookOnce } from './look-once.ts';
import { notLeader } from './not-leader.ts';
import { createProcessMemory } from './scaling/scaling-memory.ts';
import { createStoredMemory } from './scaling/stored-memory.ts';
import { createReachability } from './reachability.ts';

/** What makes an instance one of the brokers: registered where others reach it, and able to lead them. */
export type Member = {
  readonly self: MemberAddress;
  readonly registration: Registration;
  readonly leadership: Leadership;
  /** What the leader does; error `unavailable`/`not-leader` while this one isn't. */
  readonly service: LeaderService;
  /** Registers and heartbeats; ends with the signal. */
  register(signal: AbortSignal): Promise<void>;
  /** Leads whenever it may; ends with the signal, once the lease is released. */
  lead(signal: AbortSignal): Promise<void>;
  /** Leads for a call, as soon as nobody else does. */
  leadOnce<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Leads to look at one topic that has too much to do. */
  readonly lookOnce: LookOnce;
  /** Another broker has asked it something. */
  noteAsked(): void;
};

export type MemberAddress = BrokerAddress & { readonly kind: BrokerKind; readonly zone: string };

export type MemberDeps = TopologyDeps & {
  readonly telemetry: Telemetry;
  readonly peers?: Peers;
  readonly meter: LoadMeter;
  readonly pressure: Pick<PressureMeter, 'sample'>;
  readonly self: MemberAddress;
  readonly directory: BrokerDirectory;
  readonly finder: LeaderFinder;
  readonly gauge: DesiredGauge;
  /** How often each topic is looked at by whoever leads, in a process; 0 or absent: only when somebody asks. */
  readonly rebalanceMs?: number;
};

export function createMember(deps: MemberDeps): Member {
  const { self, directory } = deps;
  const reachability = createReachability({ ...deps, self: self.id });
  const leadership = createMemberLeadership(deps, reachability.isKnown);
  const isLeader = (): boolean => leadership.current() !== undefined;
  const registration = createRegistration({
    ...deps,
    kind: self.kind,
    zone: self.zone,
    isLeader,
    isLeft: () => directory.known(self.id)?.drainPerSecond !== undefined,
    onWritten: (broker) => directory.learn([broker]),
  });
  const counts = createSegmentCounts(deps);
  const assigner = createAssigner({ ...deps, counts, isUsable: (...asked) => duties.isUsable(...asked) });
  const scaling = scalingOf(deps);
  const duties: Duties = createDuties({ ...deps, ...scaling, assigner, counts });
  const service = serviceOf({ assigner, duties, isLeader });
  const leadOnce: Member['leadOnce'] = (work, signal) =>
    leadership.leadOnce((term) => (counts.reset(), duties.leadOnce(term, work)), signal);
  return {
    self,
    registration,
    leadership,
    service,
    register: (signal) => registration.run(signal),
    lead: (signal) => leadership.run(leadTerm, signal),
    noteAsked: reachability.noteAsked,
    leadOnce,
    lookOnce: createLookOnce({ ...deps, memory: scaling.memory, service, leadOnce }),
  };

  async function leadTerm(term: Term): Promise<void> {
    // Another one has led meanwhile, and has given segments to whomever it liked.
    counts.reset();
    try {
      const led = duties.lead(term);
      await Promise.race([led, untilLost(term)]);
      if (term.signal.aborted) await led;
    } finally {
      deps.gauge.clear();
    }
  }

  /** Who leads and is reached by nobody keeps everybody from what only a leader can do: somebody else may have it. */
  async function untilLost({ signal }: Term): Promise<void> {
    try {
      await reachability.untilLost(duties.othersAnswer, signal);
    } catch (reason) {
      if (signal.aborted) return;
      throw reason;
    }
    deps.telemetry.count('kelp.leader.unreached', 1);
    deps.telemetry.log('error', 'other brokers answer this one, and none of them reaches it: it leads no more', { url: self.url });
  }
}

type ServiceParts = { readonly assigner: Assigner; readonly duties: Duties; readonly isLeader: () => boolean };

/** Error `unavailable`/`not-leader` while it does not lead. */
function serviceOf({ assigner, duties, isLeader }: ServiceParts): LeaderService {
  const whileLeading = <T>(work: () => Promise<T>): Promise<T> => (isLeader() ? work() : Promise.reject(notLeader()));
  return {
    assign: (topic, segment, signal) => whileLeading(() => assigner.assign(topic, segment, signal)),
    suspect: (segment, broker, signal) => whileLeading(() => duties.suspect(segment, broker, signal)),
    drain: (broker, options, signal) => whileLeading(() => duties.drain(broker, options, signal)),
    change: (topic, change, signal) => whileLeading(() => duties.change(topic, change, signal)),
    rebalance: (asked, signal) => whileLeading(() => duties.rebalance(asked, signal)),
    nudge: (topic, pressures, signal) => whileLeading(() => duties.nudge(topic, pressures, signal)),
    loads: (topic, signal) => whileLeading(() => duties.loads(topic, signal)),
  };
}

/** A function does nothing by itself, and another instance of it has the next look. */
function scalingOf(deps: MemberDeps): Pick<DutiesDeps, 'memory' | 'rebalanceMs'> {
  if (deps.self.kind === 'fleet') return { memory: createStoredMemory(deps), rebalanceMs: 0 };
  return { memory: createProcessMemory(deps.clock), rebalanceMs: deps.rebalanceMs ?? 0 };
}

function createMemberLeadership(deps: MemberDeps, isReachable: (signal: AbortSignal) => Promise<boolean>): Leadership {
  const { peers, clock, self } = deps;
  return createLeadership({
    ...deps,
    self: { id: self.id, url: self.url },
    ...(self.kind === 'fleet' ? { leaseMs: FUNCTION_LEASE_MS, expires: true } : { isReachable }),
    ...(peers === undefined ? {} : { askLeader: (leader, signal) => askForTerm({ peers, clock }, leader, signal) }),
  });
}

/** The term that it says it leads; undefined: it does not answer, or leads no more. */
async function askForTerm(
  deps: { readonly peers: Peers; readonly clock: MemberDeps['clock'] },
  leader: BrokerAddress,
  signal: AbortSignal,
): Promise<{ epoch: number; version: number } | undefined> {
  try {
    return await askPeer(deps, { broker: leader, operation: 'lease', request: {}, timeoutMs: BROKER_PROBE_MS_MAX }, signal);
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
