import { KelpError } from '../../src/model/errors.ts';
import type { BrokerId } from '../../src/model/ids.ts';
import type { Choose } from '../faults/choose.ts';
import type { FaultMix } from '../faults/random-faults.ts';
import { createLife, type Life } from './life.ts';
import { createPeerNetwork } from './peer-network.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { TestWorld } from './test-broker.ts';

export type FleetOptions = {
  readonly brokers: number;
  /** Faults of each broker's stores. */
  readonly faults: FaultMix;
  /** Mean time between two crashes of any broker; they come back after a while. */
  readonly crashMs: number;
  /** How far wall clocks are off, and jump. */
  readonly skewMsMax: number;
  /** They know each other: they register, lead, serve segments, forward, and are left by a leader. */
  readonly members?: MemberOptions;
};

export type MemberOptions = {
  /** The share of requests to each other that meet a fault. */
  readonly faultsShare: number;
  /** Mean time between two brokers that stand still, for up to twice the leader's lease. */
  readonly freezeMs: number;
  /** Mean time between two that are drained or told to stop; then they end, and come back. */
  readonly drainMs: number;
  /** How often whoever leads looks whether segments are to split or merge. */
  readonly rebalanceMs: number;
};

export type Fleet = {
  /** Any broker that lives. */
  any(): Life;
  /** Ends faults, crashes and jumps, and brings everybody back. */
  calm(): void;
  killAll(): void;
  counts(): FleetCounts;
};

export type FleetCounts = {
  readonly crashes: number;
  /** Calls of stores that met a fault. */
  readonly faults: number;
  readonly freezes: number;
  /** Brokers that had their segments moved away. */
  readonly drains: number;
  /** What all of them have counted. */
  readonly told: ReadonlyMap<string, number>;
};

const RESTART_MS_MAX = 3_000;
const LIVES_MIN = 1;
const JUMP_MS_MAX = 20_000;
const FREEZE_MS_MAX = 7_000;
const DRAIN_MS_MAX = 5_000;
const DRAIN_PER_SECOND = 20;
/** Longer than any client waits. */
const STOP_MS = 7_000;

type Member = Life & { readonly id: BrokerId };

/** Brokers on shared stores, each with its own faults, clock and deaths. */
export function createFleet(world: TestWorld, random: SeededRandom, options: FleetOptions): Fleet {
  const { members } = options;
  const network = createPeerNetwork(world.clock);
  const lives: Member[] = [];
  const everybody: Member[] = [];
  const counts = { crashes: 0, faults: 0, freezes: 0, drains: 0 };
  let isCalm = false;

  const unlessCalm =
    <Call, Fault>(choose: Choose<Call, Fault>): Choose<Call, Fault> =>
    (call) => {
      const fault = isCalm ? undefined : choose(call);
      if (fault !== undefined) counts.faults += 1;
      return fault;
    };

  /** `id`: whoever comes back is the same broker. */
  function start(id: BrokerId): Member {
    const own = random.fork(`life ${everybody.length + 1}`);
    const skew = { ms: jump(own, options.skewMsMax) };
    const self = { id, url: `http://${id}`, kind: 'process', zone: '' } as const;
    const { faults } = options;
    const peersShare = (): number => (isCalm ? 0 : (members?.faultsShare ?? 0));
    const member = members === undefined ? {} : { member: { self, network, rebalanceMs: members.rebalanceMs } };
    const life = { ...createLife(world, { random: own, faults, unlessCalm, peersShare, skew, ...member }), id };
    everybody.push(life);
    void jumpNowAndThen(own.fork('clock'), skew);
    return life;
  }

  async function jumpNowAndThen(own: SeededRandom, skew: { ms: number }): Promise<void> {
    for (;;) {
      await world.clock.sleep(own.integer(JUMP_MS_MAX), world.signal);
      if (isCalm) return;
      skew.ms = jump(own, options.skewMsMax);
    }
  }

  /** Now and then until the calm, and never to the last one that lives. */
  async function nowAndThen(name: string, meanMs: number, happen: (own: SeededRandom, at: number) => Promise<void>): Promise<void> {
    const own = random.fork(name);
    for (;;) {
      await world.clock.sleep(own.integer(2 * meanMs), world.signal);
      if (isCalm) return;
      if (lives.length > LIVES_MIN) await happen(own, own.integer(lives.length));
    }
  }

  async function crash(own: SeededRandom, at: number): Promise<void> {
    const [killed] = lives.splice(at, 1);
    if (killed === undefined) return;
    killed.kill();
    counts.crashes += 1;
    await world.clock.sleep(own.integer(RESTART_MS_MAX), world.signal);
    lives.push(start(killed.id));
  }

  async function freeze(own: SeededRandom, at: number): Promise<void> {
    const frozen = lives[at];
    frozen?.freeze();
    counts.freezes += 1;
    await world.clock.sleep(own.integer(FREEZE_MS_MAX), world.signal);
    frozen?.thaw();
  }

  /** It is told to stop, or drained by somebody; serves on until it is left, or for a while; and ends. */
  async function drain(own: SeededRandom, at: number): Promise<void> {
    const leaving = lives[at] as Member;
    const other = lives[own.integer(lives.length)] as Member;
    const bound = world.clock.deadline(DRAIN_MS_MAX);
    const left = own.chance(0.5)
      ? leaving.broker.member?.control.leave(bound)
      : other.broker.member?.control.drain(leaving.id, { perSecond: DRAIN_PER_SECOND }, bound);
    await Promise.race([left?.catch(passing), world.clock.sleep(DRAIN_MS_MAX, world.signal)]);
    counts.drains += 1;
    await world.clock.sleep(own.integer(RESTART_MS_MAX), world.signal);
    const where = lives.indexOf(leaving);
    if (where === -1 || isCalm) return;
    lives.splice(where, 1);
    // What it has begun, it ends.
    await world.clock.sleep(STOP_MS, world.signal);
    leaving.kill();
    lives.push(start(leaving.id));
  }

  while (lives.length < options.brokers) lives.push(start(`b${lives.length + 1}` as BrokerId));
  void nowAndThen('crashes', options.crashMs, crash);
  if (members !== undefined) {
    void nowAndThen('freezes', members.freezeMs, freeze);
    void nowAndThen('drains', members.drainMs, drain);
  }
  const chooser = random.fork('chooser');
  return {
    any() {
      const life = lives[chooser.integer(lives.length)];
      if (life === undefined) throw new Error('nobody lives');
      return life;
    },
    calm() {
      isCalm = true;
      for (const life of lives) life.thaw();
    },
    killAll() {
      for (const life of lives.splice(0)) life.kill();
    },
    counts: () => ({ ...counts, told: together(everybody) }),
  };
}

const jump = (random: SeededRandom, msMax: number): number => Math.round((random.fraction() * 2 - 1) * msMax);

/** Whoever is asked to leave may have nobody to take its segments, or nobody to ask, or no time. */
function passing(error: unknown): void {
  const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
  const codes = ['last-broker', 'broker-not-found'];
  const kinds = ['throttled', 'unavailable', 'indefinite'];
  if (!isTimeout && !(error instanceof KelpError && (codes.includes(error.code) || kinds.includes(error.kind)))) throw error;
}

function together(lives: readonly Life[]): Map<string, number> {
  const told = new Map<string, number>();
  for (const { broker } of lives) {
    for (const [name, count] of broker.notes.counts) told.set(name, (told.get(name) ?? 0) + count);
  }
  return told;
}
