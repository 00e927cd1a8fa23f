import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FaultyBroker, problemOf, startFaultyBroker } from '../faulty-broker.ts';
import { isObjectPut } from '../proxied-requests.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';
import { readStores } from './read-stores.ts';

const SEED = process.env['KELP_TEST_SEED'] ?? '1';
const STOPS = Number(process.env['KELP_TEST_CRASHES'] ?? 2);
const TEST_MS = 60_000 + 15_000 * STOPS;
const STOP_MS_MAX = 10_000;

let faulty: FaultyBroker;
beforeAll(async () => {
  faulty = await startFaultyBroker();
}, TEST_MS);
afterAll(() => faulty.close());

test(
  `SIGTERM under load: code 0 within 10 s, nothing acked is lost (KELP_TEST_SEED=${SEED})`,
  async () => {
    const topic = await faulty.topic('load', 3);
    const random = createSeededRandom(`stop ${SEED}`);
    const crew = await faulty.crew({ topic, producers: 2, keyed: 1, plain: 2, timeoutMs: 5_000, patienceMs: 60_000, random });
    for (let i = 0; i < STOPS; i += 1) {
      await crew.acked(30);
      await sleep(random.integer(500)); // when it comes is the point
      const beganMs = performance.now();
      const { code, errors } = await faulty.broker.stop();
      expect(performance.now() - beganMs).toBeLessThan(STOP_MS_MAX);
      expect(code).toBe(0);
      expect(errors).not.toContain('"level":"error"');
      await faulty.broker.start();
    }
    expect(await faulty.findings(topic, crew)).toEqual([]);
  },
  TEST_MS,
);

test(
  'SIGTERM with publishes in flight: all of them end with 200, and new ones get 503 and are not stored',
  async () => {
    const topic = await faulty.topic('flight', 3);
    const publish = (writer: string, headers = {}) =>
      faulty.publish(topic, { messages: [{ key: writer, value: { writer, number: 0, filler: '' } }] }, headers);
    const held = faulty.store.plant({ matches: isObjectPut, fault: { kind: 'hold' }, count: Infinity });
    // The first one's PUT is held, the others gather behind it, one with a key of its own.
    const inFlight = [
      publish('m0'),
      ...Array.from({ length: 6 }, (_, i) => publish(`m${i + 1}`)),
      publish('m7', { 'idempotency-key': 'k' }),
    ];
    await held.struck;
    await expect.poll(held.times, { timeout: 5_000 }).toBeGreaterThan(1);

    const waiting = faulty.get(`topics/${topic}/messages?waitMs=25000`);
    const stopped = faulty.broker.stop();
    // Every answer of a server that stops is the last one of its connection.
    const lastOnes = async () => (await fetch(`${faulty.broker.url}/livez`)).headers.get('connection');
    await expect.poll(lastOnes, { timeout: 5_000 }).toBe('close');
    // Until its segments are elsewhere it serves on; whoever waits is answered when nothing new is taken any more.
    expect(await waiting).toMatchObject({ status: 200 });
    const late = await publish('late');
    const retryAfter = expect.stringMatching(/^[1-9]\d*$/) as string;
    expect(late).toMatchObject({ status: 503, headers: { 'retry-after': retryAfter, connection: 'close' } });
    expect(problemOf(late)).toMatchObject({ code: 'unavailable', retryable: true, indefinite: false });
    held.end();
    for (const reply of await Promise.all(inFlight)) expect(reply).toMatchObject({ status: 200 });
    expect((await stopped).code).toBe(0);
    expect(await publish('refused')).toMatchObject({ answered: false, sent: false });
    const { messages } = await readStores(faulty.addresses, topic);
    const stored = messages.map(({ id }) => id);
    expect(stored).toEqual(expect.arrayContaining(Array.from({ length: 8 }, (_, i) => `m${i}/0`)));
    expect(stored).not.toContain('late/0');
    await faulty.broker.start();
  },
  TEST_MS,
);
