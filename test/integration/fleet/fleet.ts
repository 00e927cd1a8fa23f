import { expect, vi } from 'vitest';
import type { ScalingSettings } from '../../../src/model/scaling.ts';
import type { Reply } from '../../clients/call.ts';
import type { ChooseUrl } from '../../clients/reader.ts';
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import type { StoreAddress, TableAddress } from '../../stack.ts';
import { freshTable, sharedStack } from '../../stack.ts';
import { type BrokerProcess, createBrokerProcess } from '../crash/broker-process.ts';
import { ask, type Assignment, assignmentOf, brokersOf, expectStatus, leaderOf } from './fleet-api.ts';

const INTERNAL_SECRET = 'a-secret-between-the-brokers';
const BROKERS = 3;
/** A start of three processes on a busy machine, and what they agree on. */
export const START_MS = 90_000;
/** Shorter: who gives up ends the processes that it has started. */
const AGREED = { timeout: 40_000, interval: 50 };
/** A client that is content with its broker tries another one now and then. */
const MOVE_CHANCE = 0.02;

export type FleetBroker = BrokerProcess & { readonly id: string };

/** Brokers of one Kelp, as processes that keep their ids over their lives. */
export type Fleet = {
  readonly addresses: { readonly store: StoreAddress; readonly table: TableAddress };
  readonly brokers: readonly FleetBroker[];
  byId(id: string): FleetBroker;
  others(...without: readonly FleetBroker[]): [FleetBroker, ...FleetBroker[]];
  /** Who leads, once somebody running does. */
  leader(): Promise<FleetBroker>;
  /** Makes a topic of which every segment is assigned; answers its name. `scaling`: what its segments are to carry. */
  topic(name: string, segments: number, scaling?: Partial<ScalingSettings>): Promise<string>;
  /** All of its brokers run and have registered, whatever a test has done to them. */
  whole(): Promise<void>;
  /** All of these have registered, and nobody else. */
  registered(...brokers: readonly FleetBroker[]): Promise<void>;
  close(): Promise<void>;
};

export type FleetOptions = {
  /** Default: a table of its own beside the stores that all tests share. */
  readonly addresses?: Fleet['addresses'];
  readonly imports?: readonly string[];
  readonly environment?: (id: string) => Readonly<Record<string, string>>;
};

export async function startFleet({ addresses: given, imports = [], environment = () => ({}) }: FleetOptions = {}): Promise<Fleet> {
  const addresses = given ?? { store: sharedStack().store, table: await freshTable('dynoxide', AbortSignal.timeout(START_MS)) };
  const brokers = await Promise.all(
    Array.from({ length: BROKERS }, async (_, i) => {
      const id = `broker-${i}`;
      const own = environment(id);
      const broker = await createBrokerProcess({ ...addresses, imports, environment: (url) => ({ ...environmentOf(id, url), ...own }) });
      return { ...broker, id };
    }),
  );
  const fleet = fleetOf(addresses, brokers);
  try {
    await fleet.whole();
    await fleet.leader();
  } catch (error) {
    await fleet.close();
    throw error;
  }
  return fleet;
}

/** What makes a process one broker of several: its id, where the others find it, and what they sign with. */
export function environmentOf(id: string, url: string): Readonly<Record<string, string>> {
  return {
    KELP_BROKER_ID: id,
    KELP_PUBLIC_URL: url,
    KELP_INTERNAL_SECRET: INTERNAL_SECRET,
    KELP_ZONE: `zone-${id.at(-1)}`,
  };
}

function fleetOf(addresses: Fleet['addresses'], brokers: readonly FleetBroker[]): Fleet {
  const running = (): FleetBroker[] => brokers.filter((broker) => broker.running());

  function byId(id: string): FleetBroker {
    const found = brokers.find((broker) => broker.id === id);
    if (found === undefined) throw new Error(`nobody is ${id}`);
    return found;
  }

  function others(...without: readonly FleetBroker[]): [FleetBroker, ...FleetBroker[]] {
    const [first, ...more] = running().filter((broker) => !without.includes(broker));
    if (first === undefined) throw new Error('nobody else runs');
    return [first, ...more];
  }

  async function leader(): Promise<FleetBroker> {
    return vi.waitFor(async () => {
      const leading = await leaderOf(others()[0].url);
      const found = running().find(({ id }) => id === leading?.leader.id);
      if (found === undefined) throw new Error(`nobody who runs leads: ${JSON.stringify(leading)}`);
      return found;
    }, AGREED);
  }

  async function registered(wanted: readonly FleetBroker[]): Promise<void> {
    const ids = wanted.map(({ id }) => id).toSorted();
    // Each of them has read it, whatever it remembered before.
    for (const { url } of running()) {
      await vi.waitFor(async () => expect((await brokersOf(url)).map(({ id }) => id)).toEqual(ids), AGREED);
    }
  }

  return {
    addresses,
    brokers,
    byId,
    others,
    leader,
    async topic(name, segments, scaling) {
      const { url } = others()[0];
      await expectStatus(ask(url, `PUT /v1/topics/${name}`, { body: { partitionKey: 'key', segments, replicas: 2, scaling } }), 201);
      for (let i = 0; i < segments; i += 1) {
        const { brokers: assigned } = await assignmentOf(url, { topic: name, segment: `s${i.toString(36).padStart(7, '0')}` });
        if (assigned.length === 0) throw new Error(`${name}: segment ${i} was given to nobody`);
      }
      return name;
    },
    async whole() {
      await Promise.all(brokers.filter((broker) => !broker.running()).map((broker) => broker.start()));
      await registered(brokers);
    },
    registered: (...wanted) => registered(wanted),
    close: async () => void (await Promise.all(brokers.map((broker) => broker.close()))),
  };
}

/** The only segment of such a topic. */
export const SEGMENT = 's0000000';
export type ServedSegment = {
  readonly topic: string;
  readonly served: Assignment;
  /** It serves the segment, and doesn't lead. */
  readonly victim: FleetBroker;
};

/** A topic of one segment with two brokers, the first of which doesn't lead. */
export function servedByFollower(fleet: Fleet, name: string): Promise<ServedSegment> {
  let made = 0;
  // A leader takes a moment to trust a broker that was dead, and what it chooses until then is for ever.
  return vi.waitFor(async () => {
    const topic = await fleet.topic(`${name}-${(made += 1)}`, 1);
    const leader = await fleet.leader();
    const served = await assignmentOf(leader.url, { topic, segment: SEGMENT });
    const [first, second] = served.brokers;
    if (second === undefined || first === undefined || first.id === leader.id) throw new Error(`served by ${JSON.stringify(served)}`);
    return { topic, served, victim: fleet.byId(first.id) };
  }, AGREED);
}

/** Each client stays with one of the brokers until that one fails it, and goes to another one now and then. */
export function anyBroker(brokers: readonly { readonly url: string }[], random: SeededRandom): ChooseUrl {
  const urls = brokers.map(({ url }) => url) as [string, ...string[]];
  const chosen = new Map<string, string>();
  return (last, client) => {
    const before = chosen.get(client);
    const url = before === undefined || hasFailed(last) || random.chance(MOVE_CHANCE) ? random.pick(urls) : before;
    chosen.set(client, url);
    return url;
  };
}

const hasFailed = (last: Reply | undefined): boolean => last !== undefined && (!last.answered || last.status >= 500);
