import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Finding } from '../../checkers/history.ts';
import { startCrew } from '../../clients/crew.ts';
import type { Met } from '../../clients/writer.ts';
import { type OwnStack, startOwnStack } from '../../own-stack.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';
import { callerOf, ROOT_TOKEN } from '../run-serve.ts';
import { audit } from './audit.ts';
import { type BrokerProcess, createBrokerProcess } from './broker-process.ts';

/** How often each is killed: `KELP_TEST_CRASHES=50 npx vitest run test/integration/crash` for a long run. */
const CRASHES = Number(process.env['KELP_TEST_CRASHES'] ?? 3);
const SEED = process.env['KELP_TEST_SEED'] ?? '1';
const TEST_MS = 60_000 + 30_000 * CRASHES;

/** Of every kind of process that a kill may hit. */
type Victim = { kill(): Promise<void>; start(): Promise<void> };
type Plan = {
  readonly topic: string;
  readonly victims: readonly Victim[];
  readonly crashes: number;
  readonly segments: number;
  /** On each segment; more than eight don't fit into a head. */
  readonly producers: number;
};

const LOAD = { keyed: 1, plain: 2, timeoutMs: 5_000, patienceMs: 60_000 };
/** Messages acknowledged between a restart and the next kill: it has recovered by itself. */
const RECOVERED = 30;
const QUIET_MS_MAX = 700;
const DOWN_MS_MAX = 200;
const APART_MS_MAX = 30;

describe(`killed with -9 under load (KELP_TEST_SEED=${SEED})`, () => {
  let stack: OwnStack;
  let broker: BrokerProcess;
  let victims: Record<'broker' | 'store' | 'table', Victim>;
  const random = createSeededRandom(SEED);

  beforeAll(async () => {
    stack = await startOwnStack();
    broker = await createBrokerProcess(stack);
    await broker.start();
    victims = {
      broker,
      store: { kill: () => stack.killStore(), start: () => stack.restartStore() },
      table: { kill: () => stack.killTable(), start: () => stack.restartTable() },
    };
  });

  afterAll(async () => {
    await broker.close();
    await stack.stop();
  });

  async function crash(own: ReturnType<typeof createSeededRandom>, killed: readonly Victim[]): Promise<void> {
    await sleep(own.integer(QUIET_MS_MAX)); // when it hits is the point
    await Promise.all(
      killed.map(async (victim) => {
        await sleep(own.integer(APART_MS_MAX));
        await victim.kill();
        await sleep(own.integer(DOWN_MS_MAX));
        await victim.start();
      }),
    );
  }

  async function survive({
    topic,
    victims: killed,
    crashes,
    segments,
    producers,
  }: Plan): Promise<{ findings: readonly Finding[]; met: Met }> {
    const created = await callerOf(broker)('PUT', `/v1/topics/${topic}`, { partitionKey: 'key', segments, replicas: 2 });
    expect(created.status).toBe(201);
    const own = random.fork(topic);
    const crew = await startCrew({ ...LOAD, producers, topic, token: ROOT_TOKEN, url: () => broker.url, random: own.fork('crew') });
    for (let i = 0; i < crashes; i += 1) {
      await crew.acked(RECOVERED);
      await crash(own, killed);
    }
    await crew.acked(RECOVERED);
    const { publishes, reads, met } = await crew.finish();
    const { findings, stored } = await audit({ addresses: stack, broker, topic, publishes, reads });
    console.log(
      `[crash] ${topic}: ${crashes} kills, ${publishes.length} sent, ${stored} stored; ${JSON.stringify(Object.fromEntries(met))}`,
    );
    return { findings, met };
  }

  test(
    'the broker',
    async () => {
      const { findings, met } = await survive({ topic: 'broker', victims: [victims.broker], crashes: CRASHES, segments: 3, producers: 2 });
      expect(findings).toEqual([]);
      expect(met.get('unknown: no-answer')).toBeGreaterThan(0);
    },
    TEST_MS,
  );

  test(
    'SeaweedFS (F24)',
    async () => {
      const { findings } = await survive({
        topic: 'store',
        victims: [victims.store],
        crashes: Math.ceil(CRASHES / 2),
        segments: 2,
        producers: 2,
      });
      expect(findings).toEqual([]);
    },
    TEST_MS,
  );

  test(
    'the table',
    async () => {
      const { findings } = await survive({ topic: 'table', victims: [victims.table], crashes: CRASHES, segments: 4, producers: 2 });
      expect(findings).toEqual([]);
    },
    TEST_MS,
  );

  test(
    'all of them at once',
    async () => {
      const { findings, met } = await survive({
        topic: 'all',
        victims: [victims.broker, victims.store, victims.table],
        crashes: Math.ceil(CRASHES / 2),
        segments: 1,
        producers: 10,
      });
      expect(findings).toEqual([]);
      expect(met.get('unknown: no-answer')).toBeGreaterThan(0);
      const errors = broker.errors().split('\n');
      expect(errors.filter((line) => line.includes('"level":"error"'))).toEqual([]);
    },
    TEST_MS,
  );
});
