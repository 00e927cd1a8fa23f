import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTable } from '../../src/adapters/dynamodb/create-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { KelpError } from '../../src/model/errors.ts';
import { spawnBroker, untilServing } from '../local/broker.ts';
import { takePorts } from '../local/ports.ts';
import type { Child } from '../local/processes.ts';
import { createFleetClient, type FleetClient } from './fleet-client.ts';
import type { Bench } from './measure.ts';
import { storeVariables } from './stack.ts';

const SECRET_BYTES = 24;
const AGREED_MS_MAX = 60_000;
const POLL_MS = 50;

/** One broker, whose process may be another one each time it is looked at. */
export type BenchBroker = {
  readonly id: string;
  readonly url: string;
  readonly client: FleetClient;
  child(): Child;
  start(): Promise<void>;
};

/** Brokers on the bench's stores, with a table of their own: the broker of the other cases isn't one of them. */
export type BenchFleet = {
  readonly brokers: readonly BenchBroker[];
  byId(id: string): BenchBroker;
  /** Who runs and isn't one of these. */
  others(...without: readonly BenchBroker[]): [BenchBroker, ...BenchBroker[]];
  leader(): Promise<BenchBroker>;
  /** Starts who has ended; resolves once all of them, and nobody else, are registered and one leads. */
  whole(): Promise<void>;
};

export type BenchFleetOptions = {
  readonly brokers: number;
  /** Begins their names. */
  readonly name: string;
  /** The table's, which is made. */
  readonly table: string;
  /** What stands before the table; absent: nothing. */
  readonly endpoint?: string;
};

export async function startBenchFleet(bench: Bench, { brokers: count, name, table, endpoint }: BenchFleetOptions): Promise<BenchFleet> {
  const { stack, signal } = bench;
  await createTable({ ...stack.table, table }, createSystemClock(), signal);
  const ports = await takePorts(count);
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const shared = { secret, table, endpoint: endpoint ?? stack.table.endpoint };
  const brokers = Array.from({ length: count }, (_, i) => brokerOf(bench, { id: `${name}-${i}`, port: ports.at(i), ...shared }));
  const fleet = fleetOf(bench, brokers);
  await fleet.whole();
  return fleet;
}

type Place = { readonly id: string; readonly port: number; readonly secret: string; readonly table: string; readonly endpoint: string };

function brokerOf({ stack, signal }: Bench, { id, port, secret, table, endpoint }: Place): BenchBroker {
  const url = `http://127.0.0.1:${port}`;
  const environment = {
    KELP_PORT: String(port),
    KELP_PUBLIC_URL: url,
    KELP_BROKER_ID: id,
    KELP_ROOT_TOKEN: stack.token,
    KELP_SECRET: secret,
    KELP_INTERNAL_SECRET: secret,
    ...storeVariables(stack),
    KELP_TABLE: table,
    KELP_TABLE_ENDPOINT: endpoint,
    KELP_SWEEP_MS: '0',
  };
  let running: Child | undefined;
  return {
    id,
    url,
    client: createFleetClient({ url, token: stack.token, signal }),
    child() {
      if (running === undefined) throw new KelpError('unavailable', 'not-started', `${id} was never started`);
      return running;
    },
    async start() {
      if (running?.running() === true) return;
      running = await spawnBroker(id, environment, stack.all);
      await untilServing(url, running, signal);
    },
  };
}

function fleetOf({ signal }: Bench, brokers: readonly BenchBroker[]): BenchFleet {
  const byId = (id: string): BenchBroker => {
    const found = brokers.find((broker) => broker.id === id);
    if (found === undefined) throw new KelpError('not-found', 'broker-not-found', `the fleet has no ${id}`);
    return found;
  };
  const others = (...without: readonly BenchBroker[]): [BenchBroker, ...BenchBroker[]] => {
    const [first, ...more] = brokers.filter((broker) => !without.includes(broker) && broker.child().running());
    if (first === undefined) throw new KelpError('unavailable', 'no-brokers', 'no other broker of the fleet runs');
    return [first, ...more];
  };
  return {
    brokers,
    byId,
    others,
    async leader() {
      const found = await until('somebody leads', () => others()[0].client.leader(), signal);
      return byId(found.id);
    },
    async whole() {
      await Promise.all(brokers.map((broker) => broker.start()));
      const wanted = brokers.map(({ id }) => id).join();
      const registered = async (): Promise<true | undefined> => {
        const [leader, ids] = await Promise.all([others()[0].client.leader(), others()[0].client.brokers()]);
        return leader !== undefined && ids.join() === wanted ? true : undefined;
      };
      await until('all brokers are registered', registered, signal);
    },
  };
}

/** Asks again until there is an answer. Error `unavailable`/`not-ready`. */
export async function until<T>(what: string, look: () => Promise<T | undefined>, signal: AbortSignal): Promise<T> {
  const endMs = performance.now() + AGREED_MS_MAX;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > endMs) throw new KelpError('unavailable', 'not-ready', `${what}: not within ${AGREED_MS_MAX} ms`);
    await sleep(POLL_MS, undefined, { signal });
  }
}
