import type { BrokerId } from '../model/ids.ts';
import { LEASE_RELEASE_MS_MAX } from '../model/limits.ts';
import type { LoadMeter } from '../ports/load-meter.ts';
import type { PeerOperation, Peers } from '../ports/peers.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { PressureMeter } from '../state/pressure-meter.ts';
import type { TopologyDeps } from '../topology/apply-change.ts';
import { createAskLeader, type OwnService } from './ask-leader.ts';
import { createDesiredGauge } from './brokers/desired-gauge.ts';
import { type BrokerDirectory, createBrokerDirectory } from './brokers/directory.ts';
import { controlByLeader } from './control-by-leader.ts';
import type { Control, LeaderService } from './control.ts';
import { createLeaderFinder } from './leader/find-leader.ts';
import { createWithLeader } from './leader/with-leader.ts';
import { giveSegmentsAway, type LeaveDeps, servesAny } from './give-segments-away.ts';
import { createMember, type Member, type MemberAddress } from './member.ts';
import { createPeerOperations } from './peer-operations.ts';

export type ControlDeps = TopologyDeps & {
  readonly telemetry: Telemetry;
  readonly meter: LoadMeter;
  readonly pressure: Pick<PressureMeter, 'sample'>;
  /** Undefined: there is no way to ask other brokers. */
  readonly peers?: Peers;
  /** Where this broker is reached; undefined: it is not, so it registers nowhere, and leads only for a call that changes segments. */
  readonly self?: MemberAddress;
  /** How often each topic is looked at by whoever leads, in a process; 0 or absent: only when somebody asks. */
  readonly rebalanceMs?: number;
};

/** The control plane of one instance: what clients ask of it, what other brokers ask, and what it does by itself. */
export type ControlPlane = Control & {
  readonly directory: BrokerDirectory;
  /** What this broker does for others, by the operation's name. */
  readonly operations: Readonly<Record<string, PeerOperation>>;
  /**
   * Registers, heartbeats, and leads whenever it may, until the signal aborts or it has left; a fleet registers, leads only
   * while a call needs it, and looks whether it still is registered when this is called again. Never rejects.
   */
  run(signal: AbortSignal): Promise<void>;
  /**
   * This broker is about to stop: its segments move to others while it serves on, LEAVE_MS_MAX at most, then it is
   * registered no more and leads no more. Answers whether there were others to take them. Rejects with the signal's reason
   * only, and has deregistered even then. An instance of a fleet leads no more, and that is all.
   */
  leave(signal: AbortSignal): Promise<boolean>;
  /** Whoever leads, this broker or another one. */
  readonly leaderService: LeaderService;
};

/** Of a function without an address: it registers nowhere, and nobody asks it anything. */
const NOWHERE: MemberAddress = { id: 'nowhere' as BrokerId, url: '', kind: 'fleet', zone: '' };

export function createControl(deps: ControlDeps): ControlPlane {
  const gauge = createDesiredGauge(deps);
  const finder = createLeaderFinder(deps);
  const directory: BrokerDirectory = createBrokerDirectory({
    ...deps,
    onRead: (brokers) => {
      if (member?.leadership.current() !== undefined) gauge.show(brokers);
    },
  });
  const memberOf = (address: MemberAddress): Member => createMember({ ...deps, self: address, directory, finder, gauge });
  const member = deps.self === undefined ? undefined : memberOf(deps.self);
  const nowhere = member === undefined ? memberOf(NOWHERE) : undefined;
  const leading = { own: member === undefined ? undefined : ownService(member), ...(nowhere === undefined ? {} : { changing: nowhere }) };
  const leader = createAskLeader({ ...deps, ...leading, finder, withLeader: createWithLeader({ ...deps, finder }) });
  const self = deps.self?.id;
  return {
    ...controlByLeader({ ...deps, self, directory, finder, leader }),
    directory,
    leaderService: leader,
    operations: member === undefined ? {} : createPeerOperations({ ...member, self: member.self.id }),
    ...(member === undefined
      ? { run: () => Promise.resolve(), leave: async () => (await nowhere?.leadership.end(), false) }
      : createLife({ ...deps, ...member, directory, leader }, member)),
  };
}

/** A function lives too short to lead in the background. */
function ownService({ self, service, leadOnce, lookOnce }: Member): OwnService {
  return self.kind === 'fleet' ? { self, service, leadOnce, lookOnce } : { self, service };
}

/** Registered and leading from `run` on, until the end of its signal or of `leave`. */
function createLife(deps: LeaveDeps, member: Member): Pick<ControlPlane, 'run' | 'leave'> {
  const left = new AbortController();
  const registering = new AbortController();
  let running: Promise<unknown> = Promise.resolve();
  let registered: Promise<void> = Promise.resolve();
  const isFleet = member.self.kind === 'fleet';

  /** The lease last: until then, this broker may be the one that moves its own segments. */
  async function end(): Promise<void> {
    const bound = deps.clock.deadline(LEASE_RELEASE_MS_MAX);
    registering.abort();
    await registered;
    try {
      // What it still serves is its own if it comes back in time, and else found by its item.
      if (!isFleet && !(await servesAny({ ...deps, self: member.self }, bound))) await member.registration.deregister(bound);
    } catch (error) {
      deps.telemetry.count('kelp.leaves.unfinished', 1);
      deps.telemetry.log('warn', 'this broker could not deregister', { broker: member.self.id, error });
    }
    left.abort();
    await Promise.all([running, member.leadership.end()]);
  }

  return {
    async run(signal) {
      const leading = isFleet ? Promise.resolve() : member.lead(AbortSignal.any([signal, left.signal]));
      registered = member.register(AbortSignal.any([signal, registering.signal]));
      // Drained, or another process under its id: whoever is no broker any more doesn't lead them, either.
      const ended = registered.then(() => (isFleet || registering.signal.aborted ? undefined : left.abort()));
      running = Promise.all([ended, leading]);
      await running;
    },
    async leave(signal) {
      try {
        return !isFleet && (await giveSegmentsAway(deps, signal));
      } finally {
        await end();
      }
    },
  };
}
