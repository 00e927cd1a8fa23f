import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Reply } from '../clients/call.ts';
import { readStores } from './crash/read-stores.ts';
import type { Fault, Passing } from './fault-proxy.ts';
import { type FaultyBroker, problemOf, startFaultyBroker } from './faulty-broker.ts';
import {
  conflict,
  isCommit,
  isHeadAccess,
  isObjectPut,
  isRequestPut,
  storeFailed,
  tableFailed,
  throttling,
  yetDone,
} from './proxied-requests.ts';

const SEGMENT = 's0000000';
const TEST_MS = 60_000;

let faulty: FaultyBroker;

beforeAll(async () => {
  faulty = await startFaultyBroker();
}, TEST_MS);
afterEach(() => faulty.clear());
afterAll(() => faulty.close());

const body = { messages: ['one', 'two'].map((writer) => ({ key: 'a', value: { writer, number: 0, filler: '' } })) };
const asProducer = { 'kelp-segment': SEGMENT, 'kelp-producer-id': 'p', 'kelp-producer-epoch': '0', 'kelp-producer-sequence': '0' };
const plain = { line: 'plain', headers: {} };
const producer = { line: 'producer', headers: asProducer };
const keyed = { line: 'keyed', headers: { 'idempotency-key': 'k' } };

async function expectStoredOnce(topic: string): Promise<void> {
  const { messages } = await readStores(faulty.addresses, topic);
  expect(messages.map(({ id, offset }) => `${id}@${offset}`)).toEqual(['one/0@0', 'two/0@1']);
}

function offsetsOf(reply: Reply): unknown {
  expect(reply).toMatchObject({ status: 200 });
  const { results } = JSON.parse((reply as { text: string }).text) as { results: { offset: number }[] };
  return results.map(({ offset }) => offset);
}

/** Faults of one request that a broker gets over by itself. */
const ANSWERS: readonly [name: string, fault: Fault][] = [
  ['arrives, and its answer is lost', { kind: 'lose-answer' }],
  ['arrives after it was given up', { kind: 'late' }],
  ['never arrives', { kind: 'drop' }],
];

describe.each([plain, producer, keyed])('$line', ({ line, headers }) => {
  const named = (what: string): string => `${line}-${what}`.replaceAll(/[^a-z0-9]+/g, '-');

  test.each([...ANSWERS, ['is answered 500 though it is done', yetDone(storeFailed)]] satisfies typeof ANSWERS)(
    'F4 a PUT that %s: acknowledged, stored once',
    async (what, fault) => {
      const topic = await faulty.topic(named(`put-${what}`), 1);
      const planted = faulty.store.plant({ matches: isObjectPut, fault });
      expect(offsetsOf(await faulty.publish(topic, body, headers))).toEqual([0, 1]);
      await planted.struck;
      planted.end();
      await expectStoredOnce(topic);
    },
    TEST_MS,
  );

  test.each([
    ...ANSWERS,
    ['is answered 500 though it is done', yetDone(tableFailed)],
    ['is answered 500', tableFailed],
    ['is answered "throttled"', throttling],
    ['is answered "conflict" (F29)', conflict],
  ] satisfies typeof ANSWERS)(
    'F5 a commit that %s: its own success is recognised, stored once',
    async (what, fault) => {
      const topic = await faulty.topic(named(`commit-${what}`), 1);
      const planted = faulty.table.plant({ matches: isCommit, fault, count: 2 });
      expect(offsetsOf(await faulty.publish(topic, body, headers))).toEqual([0, 1]);
      await planted.struck;
      planted.end();
      await expectStoredOnce(topic);
    },
    TEST_MS,
  );
});

describe('the caller gives up before the broker knows', () => {
  test(
    'F4 the store takes objects and answers nothing: surely not stored',
    async () => {
      const topic = await faulty.topic('no-answer-put', 1);
      const planted = faulty.store.plant({ matches: isObjectPut, fault: { kind: 'lose-answer' }, count: Infinity });
      const attempt = await faulty.publish(topic, body, { ...asProducer, 'kelp-timeout-ms': '1000' });
      expect(problemOf(attempt)).toMatchObject({ indefinite: false, retryable: true });
      planted.end();
      expect((await readStores(faulty.addresses, topic)).messages).toEqual([]);
      expect(offsetsOf(await faulty.publish(topic, body, asProducer))).toEqual([0, 1]);
      await expectStoredOnce(topic);
    },
    TEST_MS,
  );

  test.each([producer, keyed])(
    'F5 $line: the commit is applied and nobody can say so: indefinite, and the retry finds it',
    async ({ line, headers }) => {
      const topic = await faulty.topic(`no-answer-${line}`, 1);
      const lost = faulty.table.plant({ matches: isCommit, fault: { kind: 'lose-answer' } });
      const matches = (request: Passing): boolean => lost.times() > 0 && isHeadAccess(request);
      const silent = faulty.table.plant({ matches, fault: { kind: 'drop' }, count: Infinity });
      const attempt = await faulty.publish(topic, body, { ...headers, 'kelp-timeout-ms': '1500' });
      expect(attempt).toMatchObject({ status: 504 });
      expect(problemOf(attempt)).toMatchObject({ code: 'indefinite', indefinite: true, retryable: true });
      expect([lost.times(), silent.times() > 0]).toEqual([1, true]);
      silent.end();
      expect(offsetsOf(await faulty.publish(topic, body, headers))).toEqual([0, 1]);
      await expectStoredOnce(topic);
    },
    TEST_MS,
  );

  test(
    'F5 a request that was recorded, without an answer: the retry goes on from the record',
    async () => {
      const topic = await faulty.topic('record-lost', 1);
      const planted = faulty.table.plant({ matches: isRequestPut, fault: { kind: 'lose-answer' }, count: Infinity });
      const attempt = await faulty.publish(topic, body, { 'idempotency-key': 'k', 'kelp-timeout-ms': '1000' });
      expect(attempt).toMatchObject({ answered: true });
      expect((attempt as { status: number }).status).toBeGreaterThanOrEqual(400);
      planted.end();
      expect(offsetsOf(await faulty.publish(topic, body, { 'idempotency-key': 'k' }))).toEqual([0, 1]);
      await expectStoredOnce(topic);
    },
    TEST_MS,
  );
});
