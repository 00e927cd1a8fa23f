import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readStores } from './crash/read-stores.ts';
import type { Fault, Passing } from './fault-proxy.ts';
import { type FaultyBroker, problemOf, startFaultyBroker } from './faulty-broker.ts';
import { createSeededRandom, type SeededRandom } from '../simulation/seeded-random.ts';
import {
  commitIdOf,
  conflict,
  isAny,
  isCommit,
  isHeadAccess,
  tableFailed,
  throttledIn,
  throttling,
  throughputExceeded,
  yetDone,
} from './proxied-requests.ts';

const SEED = process.env['KELP_TEST_SEED'] ?? '1';
const TEST_MS = 90_000;
/** Messages that are acknowledged in each phase. */
const PHASE = 150;

let faulty: FaultyBroker;

beforeAll(async () => {
  faulty = await startFaultyBroker();
}, TEST_MS);
afterEach(() => faulty.clear());
afterAll(() => faulty.close());

const body = { messages: [{ key: 'a', value: { writer: 'one', number: 0, filler: '' } }] };
const soon = { 'kelp-timeout-ms': '1000' };

describe('F16 the table throttles', () => {
  test.each([
    { name: 'ThrottlingException', fault: throttling, status: 429 },
    { name: 'ProvisionedThroughputExceededException', fault: throughputExceeded, status: 429 },
    { name: 'a conflict on a hot head (F29)', fault: conflict, status: 429 },
  ])(
    'every commit, with $name: 429 with Retry-After, nothing stored, and it recovers by itself',
    async ({ name, fault }) => {
      const topic = await faulty.topic(name.replaceAll(/\W+/g, '-').toLowerCase(), 1);
      const planted = faulty.table.plant({ matches: isCommit, fault, count: Infinity });
      const refused = await faulty.publish(topic, body, soon);
      expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) as string } });
      expect(problemOf(refused)).toMatchObject({ code: 'throttled', reason: 'segment', retryable: true, indefinite: false });
      // It was asked again within the time that the caller gave.
      expect(planted.times()).toBeGreaterThan(1);
      expect((await readStores(faulty.addresses, topic)).messages).toEqual([]);
      planted.end();
      expect(await faulty.publish(topic, body, soon)).toMatchObject({ status: 200 });
      expect((await readStores(faulty.addresses, topic)).messages).toHaveLength(1);
    },
    TEST_MS,
  );

  test(
    'everything, with 500: no answer is a success, and a commit that was sent is never called refused',
    async () => {
      const topic = await faulty.topic('internal', 1);
      const planted = faulty.table.plant({ matches: isCommit, fault: tableFailed, count: Infinity });
      const unknown = await faulty.publish(topic, body, soon);
      expect(unknown).toMatchObject({ status: 504 });
      expect(problemOf(unknown)).toMatchObject({ code: 'indefinite', indefinite: true });
      planted.end();
      const all = faulty.table.plant({ matches: isAny, fault: tableFailed, count: Infinity });
      const fresh = await faulty.get(`topics/never-seen/segments`, soon);
      expect([408, 503]).toContain((fresh as { status: number }).status);
      all.end();
      expect(await faulty.publish(topic, body, soon)).toMatchObject({ status: 200 });
    },
    TEST_MS,
  );
});

describe('F29 a hot head', () => {
  /** Every commit is answered "conflict" and "throttled" by turns; `cids`: under which ids they were sent. */
  function plantHotHead(): { readonly cids: ReadonlySet<string>; times(): number; end(): void } {
    const cids = new Set<string>();
    let sent = 0;
    const isTurn = (turn: number, request: Passing): boolean => {
      if (!isCommit(request) || sent % 2 !== turn) return false;
      sent += 1;
      cids.add(commitIdOf(request));
      return true;
    };
    const planted = [conflict, throttling].map((fault, turn) =>
      faulty.table.plant({ matches: (request) => isTurn(turn, request), fault, count: Infinity }),
    );
    return { cids, times: () => sent, end: () => planted.forEach((one) => one.end()) };
  }

  const line = { 'kelp-segment': 's0000000', 'kelp-producer-id': 'p', 'kelp-producer-epoch': '0', 'kelp-producer-sequence': '0' };

  test.each([
    ['plain', {}],
    ['a producer', line],
  ])(
    '%s: one id until the time is over, then 429 with Retry-After; sent again, it is stored once',
    async (name, headers) => {
      const topic = await faulty.topic(`hot-${name.replace(' ', '-')}`, 1);
      const hot = plantHotHead();
      const refused = await faulty.publish(topic, body, { ...headers, ...soon });
      expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) as string } });
      expect(problemOf(refused)).toMatchObject({ code: 'throttled', reason: 'segment', retryable: true, indefinite: false });
      expect(hot.times()).toBeGreaterThan(1);
      expect(hot.cids.size).toBe(1);
      hot.end();
      expect((await readStores(faulty.addresses, topic)).messages).toEqual([]);
      expect(await faulty.publish(topic, body, headers)).toMatchObject({ status: 200 });
      expect((await readStores(faulty.addresses, topic)).messages).toMatchObject([{ offset: 0 }]);
    },
    TEST_MS,
  );

  test(
    'is named by the broker’s heartbeat; once it cools down within the time, the message is stored once, under the first id',
    async () => {
      const topic = await faulty.topic('hot-for-long', 1);
      const named: string[] = [];
      // Watches, and strikes nothing.
      const watch = (request: Passing): boolean => (named.push(...throttledIn(request)), false);
      faulty.table.plant({ matches: watch, fault: { kind: 'hold' } });
      const hot = plantHotHead();
      const publishing = faulty.publish(topic, body, { 'kelp-timeout-ms': '60000' });
      await expect.poll(() => named, { timeout: 30_000 }).toContain('s0000000');
      hot.end();
      expect(await publishing).toMatchObject({ status: 200 });
      expect(hot.cids.size).toBe(1);
      expect((await readStores(faulty.addresses, topic)).messages).toMatchObject([{ offset: 0 }]);
    },
    TEST_MS,
  );
});

/** Strikes with this probability, in an order that the seed decides. */
function sometimes(random: SeededRandom, probability: number, of: (request: Passing) => boolean) {
  return (request: Passing): boolean => of(request) && random.chance(probability);
}

const KINDS: readonly [name: string, fault: Fault][] = [
  ['throttled', throttling],
  ['exceeded', throughputExceeded],
  ['conflict', conflict],
  ['failed', tableFailed],
  ['failed but done', yetDone(tableFailed)],
  ['lost', { kind: 'lose-answer' }],
  ['late', { kind: 'late' }],
  ['dropped', { kind: 'drop' }],
  ['cut', { kind: 'cut-answer' }],
  ['slow', { kind: 'delay', ms: 150 }],
];

describe(`a storm of faults of the table (KELP_TEST_SEED=${SEED})`, () => {
  test(
    'on a fifth of its requests, on nearly all commits, then on all answers about heads: nothing acked is lost, nothing doubled, nothing refused is read',
    async () => {
      const topic = await faulty.topic('storm', 3);
      const random = createSeededRandom(`table ${SEED}`);
      const load = { topic, producers: 1, keyed: 1, plain: 2, timeoutMs: 1_500, patienceMs: 60_000 };
      const crew = await faulty.crew({ ...load, random: random.fork('crew') });
      for (const [name, fault] of KINDS) {
        faulty.table.plant({ matches: sometimes(random.fork(name), 0.02, isAny), fault, count: Infinity });
      }
      await crew.acked(PHASE);
      faulty.clear();
      const heavy = faulty.table.plant({ matches: sometimes(random.fork('heavy'), 0.9, isCommit), fault: throttling, count: Infinity });
      await crew.acked(PHASE / 5);
      heavy.end();
      // Until the first callers have given up: whatever they sent is done, and nobody can tell them.
      const blind = faulty.table.plant({ matches: isHeadAccess, fault: yetDone(tableFailed), count: Infinity });
      const given = crew.met('unknown: indefinite');
      await expect.poll(() => crew.met('unknown: indefinite'), { timeout: 20_000 }).toBeGreaterThan(given + 5);
      blind.end();
      // It recovers by itself.
      await crew.acked(PHASE);
      expect(await faulty.findings(topic, crew)).toEqual([]);
      expect([heavy.times() > 0, blind.times() > 0]).toEqual([true, true]);
    },
    TEST_MS,
  );
});
