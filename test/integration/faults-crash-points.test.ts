import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readStores } from './crash/read-stores.ts';
import type { Fault, FaultProxy, Passing } from './fault-proxy.ts';
import { type FaultyBroker, startFaultyBroker } from './faulty-broker.ts';
import { isCommit, isObjectPut, isPagePut, isRequestPut, isSpill } from './proxied-requests.ts';

const SEGMENT = 's0000000';
const TEST_MS = 60_000;

type Point = {
  readonly name: string;
  readonly at: 'store' | 'table';
  readonly matches: (request: Passing) => boolean;
  readonly fault: Fault['kind'] & ('hold' | 'hold-answer');
  /** Whether its messages are in the log when the broker is dead. */
  readonly stored: boolean;
};

const COMMON: readonly Point[] = [
  { name: 'F1 before the PUT', at: 'store', matches: isObjectPut, fault: 'hold', stored: false },
  { name: 'F2 after the PUT, before the commit', at: 'store', matches: isObjectPut, fault: 'hold-answer', stored: false },
  { name: 'F2 with the commit on its way', at: 'table', matches: isCommit, fault: 'hold', stored: false },
  { name: 'F3 after the commit, before the answer', at: 'table', matches: isCommit, fault: 'hold-answer', stored: true },
];

const KEYED: readonly Point[] = [
  { name: 'before the request is recorded', at: 'table', matches: isRequestPut, fault: 'hold', stored: false },
  { name: 'after it was recorded', at: 'table', matches: isRequestPut, fault: 'hold-answer', stored: false },
  { name: 'after the commit, before the answer', at: 'table', matches: isCommit, fault: 'hold-answer', stored: true },
];

let faulty: FaultyBroker;

beforeAll(async () => {
  faulty = await startFaultyBroker();
}, TEST_MS);
afterEach(() => faulty.clear());
afterAll(() => faulty.close());

const proxyOf = ({ at }: Point): FaultProxy => faulty[at];
const messages = (...texts: string[]) => ({ messages: texts.map((text) => ({ key: 'a', value: valueOf(text) })) });
const valueOf = (text: string) => ({ writer: text, number: 0, filler: '' });

/** Publishes, kills the broker at the point, and answers what is stored then. A fresh one runs afterwards. */
async function killAt(point: Point, publish: () => ReturnType<FaultyBroker['publish']>, topic: string): Promise<(string | undefined)[]> {
  const planted = proxyOf(point).plant({ matches: point.matches, fault: { kind: point.fault } });
  const attempt = publish();
  await planted.struck;
  // A broker that doesn't wait for what is held has all the time for its slip: it answers this meanwhile.
  for (let i = 0; i < 3; i += 1) expect(await faulty.get(`topics/${topic}/segments`)).toMatchObject({ status: 200 });
  await faulty.broker.kill();
  expect(await attempt).toMatchObject({ answered: false });
  const found = await stored(topic);
  await faulty.broker.start();
  planted.end();
  return found;
}

/** Which messages are in bucket and table, in order. */
async function stored(topic: string): Promise<(string | undefined)[]> {
  const { messages: found } = await readStores(faulty.addresses, topic);
  return found.map(({ id }) => id.split('/')[0]);
}

describe('a producer, the broker killed with -9', () => {
  test.each(COMMON)(
    '$name: not acknowledged, and a retry is stored once',
    async (point) => {
      const topic = await faulty.topic(`producer-${COMMON.indexOf(point)}`, 1);
      const headers = { 'kelp-segment': SEGMENT, 'kelp-producer-id': 'p', 'kelp-producer-epoch': '0', 'kelp-producer-sequence': '0' };
      const publish = () => faulty.publish(topic, messages('one', 'two'), headers);
      expect(await killAt(point, publish, topic)).toEqual(point.stored ? ['one', 'two'] : []);
      const again = await publish();
      const results = [0, 1].map((offset) => ({ segment: SEGMENT, offset, ...(point.stored ? { duplicate: true } : {}) }));
      expect(again).toMatchObject({ status: 200, text: JSON.stringify({ results }) });
      expect(await stored(topic)).toEqual(['one', 'two']);
    },
    TEST_MS,
  );
});

describe('a request with an Idempotency-Key, the broker killed with -9', () => {
  test.each(KEYED)(
    '$name: not acknowledged, and a retry is stored once',
    async (point) => {
      const topic = await faulty.topic(`keyed-${KEYED.indexOf(point)}`, 1);
      const publish = () => faulty.publish(topic, messages('one', 'two'), { 'idempotency-key': 'k' });
      expect(await killAt(point, publish, topic)).toEqual(point.stored ? ['one', 'two'] : []);
      for (let i = 0; i < 2; i += 1) {
        const { results } = JSON.parse(((await publish()) as { text: string }).text) as { results: unknown };
        expect(results).toMatchObject([{ offset: 0 }, { offset: 1 }]);
      }
      expect(await stored(topic)).toEqual(['one', 'two']);
    },
    TEST_MS,
  );
});

describe('a spill, the broker killed with -9', () => {
  const SPILLS: readonly Omit<Point, 'stored'>[] = [
    { name: 'before the page', at: 'table', matches: isPagePut, fault: 'hold' },
    { name: 'between page and head', at: 'table', matches: isSpill, fault: 'hold' },
    { name: 'after the head', at: 'table', matches: isSpill, fault: 'hold-answer' },
  ];

  test.each(SPILLS)(
    '$name: nothing is lost or doubled, and the next broker carries on',
    async (point) => {
      const topic = await faulty.topic(`spill-${SPILLS.indexOf(point)}`, 1);
      const planted = proxyOf({ ...point, stored: true }).plant({ matches: point.matches, fault: { kind: point.fault } });
      const sent: string[] = [];
      const publishUntil = async (end: () => boolean): Promise<void> => {
        while (!end()) {
          const text = `m${sent.length}`;
          expect(await faulty.publish(topic, messages(text))).toMatchObject({ status: 200 });
          sent.push(text);
        }
      };
      // Commits go on beside a spill that hangs.
      await publishUntil(() => planted.times() > 0);
      await faulty.broker.kill();
      expect(await stored(topic)).toEqual(sent);
      await faulty.broker.start();
      planted.end();
      const carriedOn = faulty.table.plant({ matches: isSpill, fault: { kind: 'delay', ms: 0 } });
      const before = sent.length;
      await publishUntil(() => carriedOn.times() > 0 && sent.length > before + 1);
      carriedOn.end();
      expect(await stored(topic)).toEqual(sent);
    },
    TEST_MS,
  );
});
