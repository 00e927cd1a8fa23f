import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type FaultProxy, startFaultProxy } from '../fault-proxy.ts';
import { type FaultyBroker, startFaultyBroker } from '../faulty-broker.ts';
import { isAny, isObjectPut } from '../proxied-requests.ts';
import { ROOT_TOKEN } from '../run-serve.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';
import { readStores } from './read-stores.ts';

// J-17 but for its part (a), where the server closes an idle connection as it is used again: test/http/idle-connections.test.ts.

const SEED = process.env['KELP_TEST_SEED'] ?? '1';
/** J-17 has 1,000 of each. */
const COUNT = Number(process.env['KELP_TEST_CONNECTIONS'] ?? 150);
const TEST_MS = 60_000 + 100 * COUNT;
const GONE_MS_MAX = 1_000;
const SEGMENT = 's0000000';

let faulty: FaultyBroker;
let pid: number;
beforeAll(async () => {
  faulty = await startFaultyBroker();
  pid = faulty.broker.pid();
}, TEST_MS);
afterEach(() => faulty.clear());
afterAll(async () => {
  // Nothing that happened here has ended the process, or is left to keep it.
  expect(faulty.broker.pid()).toBe(pid);
  const { code, errors } = await faulty.broker.stop();
  expect(code).toBe(0);
  expect(errors).not.toMatch(/"level":"error"|[Uu]nhandled/);
  await faulty.close();
});

/** Sends this and resets the connection once `when` resolves; resolves when it is closed. */
async function sendAndReset(text: string, when: (socket: Socket) => Promise<unknown>): Promise<void> {
  const socket = connect(Number(new URL(faulty.broker.url).port), '127.0.0.1');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.once('error', () => socket.destroy());
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  await new Promise<unknown>((resolve) => socket.write(text, resolve));
  await when(socket);
  socket.resetAndDestroy();
  await closed;
}

/** Of one message whose body is its value, so that any part of it would be one as well. */
function publishText(topic: string, body: string, length = Buffer.byteLength(body)): string {
  const headers = ['Host: kelp', `Authorization: Bearer ${ROOT_TOKEN}`, 'Content-Type: application/json', `Content-Length: ${length}`];
  return `POST /v1/topics/${topic}/message?key=a HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${body}`;
}

/** A gauge of the broker's, without the request that asks. */
async function gauge(name: 'kelp_http_waiters' | 'http_server_active_requests'): Promise<number> {
  const headers = { authorization: `Bearer ${ROOT_TOKEN}` };
  const text = await (await fetch(`${faulty.broker.url}/metrics`, { headers })).text();
  const value = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1];
  if (value === undefined) return 0;
  return Number(value) - (name === 'http_server_active_requests' ? 1 : 0);
}

const idle = () => expect.poll(() => gauge('http_server_active_requests'), { timeout: 10_000 }).toBe(0);
const repeat = async (each: (i: number) => Promise<void>): Promise<void> => {
  for (let i = 0; i < COUNT; i += 10) await Promise.all(Array.from({ length: 10 }, (_, j) => each(i + j)));
};

describe('J-17 connections that die', () => {
  test(
    `(b) headers and 3 of 100 bytes, ${COUNT} times: nothing is stored`,
    async () => {
      const topic = await faulty.topic('cut', 1);
      await repeat(() => sendAndReset(publishText(topic, '123', 100), async () => undefined));
      await idle();
      expect((await readStores(faulty.addresses, topic)).tails).toEqual(new Map([[SEGMENT, 0]]));
    },
    TEST_MS,
  );

  test(
    `(c) while the publish waits in its group, ${COUNT} times: stored at most once`,
    async () => {
      const topic = await faulty.topic('waiting', 1);
      faulty.store.plant({ matches: isObjectPut, fault: { kind: 'delay', ms: 30 }, count: Infinity });
      const random = createSeededRandom(`waiting ${SEED}`);
      await repeat((i) => {
        const body = JSON.stringify({ writer: `m${i}`, number: 0, filler: '' });
        return sendAndReset(publishText(topic, body), () => new Promise((resolve) => void setTimeout(resolve, random.integer(60))));
      });
      await idle();
      const ids = (await readStores(faulty.addresses, topic)).messages.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      // Some were gone before their group began, some after.
      expect(ids.length).toBeLessThan(COUNT);
      faulty.clear();
      // Those that were given up keep nobody back.
      expect(await faulty.publish(topic, { messages: [{ key: 'a', text: 'next' }] })).toMatchObject({ status: 200 });
    },
    TEST_MS,
  );

  test(
    `(d) in a poll of 25 s, ${COUNT} times: the waiters are gone within a second`,
    async () => {
      const topic = await faulty.topic('polled', 1);
      const path = `/v1/topics/${topic}/segments/${SEGMENT}/messages?from=latest&waitMs=25000`;
      const poll = `GET ${path} HTTP/1.1\r\nHost: kelp\r\nAuthorization: Bearer ${ROOT_TOKEN}\r\n\r\n`;
      const leave = Promise.withResolvers<void>();
      const polls = Array.from({ length: COUNT }, () => sendAndReset(poll, () => leave.promise));
      await expect.poll(() => gauge('kelp_http_waiters'), { timeout: 20_000 }).toBe(COUNT);
      leave.resolve();
      await Promise.all(polls);
      await expect.poll(() => gauge('kelp_http_waiters'), { timeout: GONE_MS_MAX }).toBe(0);
      await idle();
    },
    TEST_MS,
  );
});

describe(`answers that are lost between clients and the broker (KELP_TEST_SEED=${SEED})`, () => {
  let front: FaultProxy;
  beforeAll(async () => {
    front = await startFaultProxy(faulty.broker.url);
  });
  afterAll(() => front.close());

  test(
    'each message is acknowledged in the end, and stored once',
    async () => {
      const topic = await faulty.topic('front', 2);
      const random = createSeededRandom(`front ${SEED}`);
      const load = { topic, producers: 2, keyed: 1, plain: 1, timeoutMs: 3_000, patienceMs: 60_000 };
      const crew = await faulty.crew({ ...load, url: () => front.url, random: random.fork('crew') });
      const planted = (['lose-answer', 'late', 'drop', 'cut-answer'] as const).map((kind) => {
        const own = random.fork(kind);
        return front.plant({
          matches: (request) => isAny() && request.method === 'POST' && own.chance(0.08),
          fault: { kind },
          count: Infinity,
        });
      });
      await crew.acked(400);
      front.clear();
      expect(await faulty.findings(topic, crew)).toEqual([]);
      pid = faulty.broker.pid();
      expect(planted.map(({ times }) => times() > 0)).toEqual([true, true, true, true]);
    },
    TEST_MS,
  );
});
