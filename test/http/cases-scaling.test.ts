import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { topicKey } from '../../src/format/item-key.ts';
import { decodeTopic } from '../../src/format/topic-item.ts';
import { PARTITIONS } from '../../src/model/limits.ts';
import type { SegmentRange } from '../../src/model/topic.ts';
import { tiles } from '../topology/tiles.ts';
import { type Log, one, openLog } from './log.ts';
import type { Answer, Sending, TestApp } from './test-app.ts';
import { createTestFleet, type TestFleet } from './test-fleet.ts';

// Splits and merges by hand, over the real control plane of three brokers, as clients see it.

const TEST_MS = 10_000;
const LAST = PARTITIONS - 1;

let fleet: TestFleet;
let apps: TestApp[];
let t: TestApp;
let log: Log;
beforeEach(async () => {
  fleet = createTestFleet();
  apps = [];
  for (const id of ['b0', 'b1', 'b2']) apps.push(await fleet.join(id));
  t = apps[0] as TestApp;
  log = await openLog(t);
});
afterEach(async () => {
  expect(await open()).toSatisfy(tiles);
  await fleet.end();
});

type Broker = { readonly id: string };
type Successor = { readonly segment: string; readonly lo: number; readonly hi: number };

const split = (segment: string, body: Sending['body'], { app = t, topic = log.topic } = {}): Promise<Answer> =>
  app.send('POST', `/v1/topics/${topic}/segments/${segment}/split`, body === undefined ? {} : { body });
const merge = (segments: unknown, { app = t, topic = log.topic } = {}): Promise<Answer> =>
  app.send('POST', `/v1/topics/${topic}/segments/merge`, { body: { segments } });
const rangesOf = ({ json }: Answer): [segment: string, lo: number, hi: number][] =>
  json.successors.map(({ segment, lo, hi }: Successor) => [segment, lo, hi]);
const problemOf = ({ status, json }: Answer): [status: number, code: string, field?: string] =>
  json.field === undefined ? [status, json.code] : [status, json.code, json.field];

/** The topic's list, as stored: nothing of it is pending. */
async function open(): Promise<readonly SegmentRange[]> {
  const signal = AbortSignal.timeout(TEST_MS);
  const { id } = await t.broker.topics.resolve(log.topic, { fresh: true }, signal);
  const topic = decodeTopic((await t.table.get(topicKey(id), signal)) ?? {});
  expect(topic.changes).toEqual([]);
  return topic.open;
}
const openIds = async (): Promise<string[]> => (await open()).map(({ segment }) => segment);

const HALVES = [
  ['s0000001', 0, 32_767],
  ['s0000002', 32_768, LAST],
];

describe('J-33 a split', () => {
  test('answers the two that continue, and who serves them; twice at the same moment, one is made, and the other told of it', async () => {
    const answers = await Promise.all(apps.map((app) => split(log.segment, { at: 32_768 }, { app })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
    for (const answer of answers) {
      expect(rangesOf(answer)).toEqual(HALVES);
      if (answer.status === 200) expect(Object.keys(answer.json)).toEqual(['segment', 'successors']);
      else expect([answer.json.code, answer.json.retryable, answer.json.segment]).toEqual(['segment-sealed', true, log.segment]);
    }
    const made = answers.find(({ status }) => status === 200);
    for (const { brokers } of made?.json.successors ?? []) expect(new Set(brokers.map(({ id }: Broker) => id)).size).toBe(2);
    expect(await openIds()).toEqual(['s0000001', 's0000002']);
    const { json } = await t.send('POST', `/v1/topics/${log.topic}/segments/s0000001/brokers`);
    expect(json.brokers).toEqual(made?.json.successors[0].brokers);
  });

  test('is in the history, and so is a merge', async () => {
    await split(log.segment, { at: 9 });
    await merge(['s0000002', 's0000001'], { app: apps[1] as TestApp });
    const { events } = (await t.send('GET', `/v1/topics/${log.topic}/scaling`)).json;
    expect(events).toMatchObject([
      { kind: 'merge', by: 'hand', parents: ['s0000001', 's0000002'], children: ['s0000003'] },
      { kind: 'split', by: 'hand', parents: [log.segment], children: ['s0000001', 's0000002'], at: 9 },
    ]);
  });

  test('elsewhere at the same moment: one of the two is made', async () => {
    const answers = await Promise.all([100, 200].map((at, n) => split(log.segment, { at }, { app: apps[n] as TestApp })));
    const [made] = answers.filter(({ status }) => status === 200);
    const [refused] = answers.filter(({ status }) => status === 409);
    expect(rangesOf(refused as Answer)).toEqual(rangesOf(made as Answer));
    expect(await openIds()).toHaveLength(2);
  });

  test('of a sealed segment is refused with the successors, also by whoever has never heard of them', async () => {
    await split(log.segment, { at: 32_768 });
    const again = await split(log.segment, { at: 7 }, { app: apps[2] as TestApp });
    expect(problemOf(again)).toEqual([409, 'segment-sealed']);
    expect(rangesOf(again)).toEqual(HALVES);
  });

  test.each([0, PARTITIONS, -1, 1.5, '100', null, [1], true, 1e99])('at %j: 400 that names it', async (at) => {
    expect(problemOf(await split(log.segment, { at }))).toEqual([400, 'invalid-at', 'at']);
    expect(await openIds()).toEqual([log.segment]);
  });

  test('at nowhere, or with anything else, is refused as well', async () => {
    expect(problemOf(await split(log.segment, {}))).toEqual([400, 'invalid-at', 'at']);
    expect(problemOf(await split(log.segment, { at: 7, to: 9 }))).toEqual([400, 'invalid-request', 'to']);
    expect(problemOf(await split(log.segment, undefined))).toEqual([415, 'unsupported-type', 'Content-Type']);
    expect(problemOf(await split('merge', { at: 7 }))).toEqual([400, 'invalid-segment', 'segment']);
    expect(problemOf(await split('s0000009', { at: 7 }))).toEqual([404, 'segment-not-found']);
    expect(problemOf(await split(log.segment, { at: 7 }, { topic: 'nowhere' }))).toEqual([404, 'topic-not-found']);
    expect(await openIds()).toEqual([log.segment]);
  });

  test('outside of the range of its segment: 400, by the range that it has', async () => {
    await split(log.segment, { at: 32_768 });
    for (const [segment, at] of [
      ['s0000001', 32_768],
      ['s0000001', 65_535],
      ['s0000002', 32_768],
      ['s0000002', 1],
    ] as const) {
      expect(problemOf(await split(segment, { at }))).toEqual([400, 'invalid-at', 'at']);
    }
    expect((await split('s0000001', { at: 32_767 })).status).toBe(200);
    expect((await split('s0000002', { at: 32_769 })).status).toBe(200);
    expect((await open()).map(({ lo, hi }) => hi - lo + 1)).toEqual([32_767, 1, 1, 32_767]);
  });

  test('of one partition: 409', async () => {
    await split(log.segment, { at: 1 });
    for (const at of [1, 32_768]) expect(problemOf(await split('s0000001', { at }))).toEqual([409, 'not-splittable']);
    expect(await openIds()).toEqual(['s0000001', 's0000002']);
  });

  test('of a former life of the name: 410', async () => {
    await t.send('DELETE', `/v1/topics/${log.topic}`);
    await t.send('PUT', `/v1/topics/${log.topic}`, { body: { partitionKey: 'key' } });
    for (const app of apps) expect(problemOf(await split(log.segment, { at: 7 }, { app }))).toEqual([410, 'topic-replaced']);
    expect(await openIds()).toEqual(['s0000001']);
  });
});

test('J-33 neither goes beyond what the topic is set to', async () => {
  log = await openLog(t, { segments: 2 });
  const scaling = { minSegments: 2, maxSegments: 3 };
  expect((await t.send('PATCH', `/v1/topics/${log.topic}`, { body: { scaling } })).status).toBe(200);
  expect(problemOf(await merge(['s0000000', 's0000001']))).toEqual([409, 'not-mergeable']);
  expect((await split('s0000000', { at: 7 })).status).toBe(200);
  expect(problemOf(await split('s0000001', { at: 40_000 }))).toEqual([409, 'not-splittable']);
  expect((await merge(['s0000002', 's0000003'])).status).toBe(200);
  expect(await openIds()).toEqual(['s0000004', 's0000001']);
});

describe('J-33 a merge', () => {
  const [a, b, c] = ['s0000000', 's0000001', 's0000002'];
  beforeEach(async () => {
    log = await openLog(t, { segments: 3 });
  });

  test.each([
    [[a, b], 0],
    [[b, a], 0],
    [[c, b], 1],
  ])('of %j makes one of two neighbours, in either order', async (segments, place) => {
    const before = await open();
    const merged = await merge(segments, { app: apps[1] as TestApp });
    expect([merged.status, merged.json.segments]).toEqual([200, segments]);
    expect(rangesOf(merged)).toEqual([['s0000003', before[place]?.lo, before[place + 1]?.hi]]);
    expect(merged.json.successors[0].brokers).toHaveLength(2);
    expect(await openIds()).toEqual(place === 0 ? ['s0000003', c] : [a, 's0000003']);
  });

  test.each([[[a]], [[]], [[a, a]], [[a, b, c]], [[a, 7]], [[a, 'merge']], ['s0000000'], [null], [{ a }]])(
    'of %j: 400 that names them',
    async (segments) => {
      expect(problemOf(await merge(segments))).toEqual([400, 'invalid-segments', 'segments']);
      expect(await openIds()).toEqual([a, b, c]);
    },
  );

  test('of segments that are no neighbours, of one of another topic, of one that is sealed', async () => {
    expect(problemOf(await merge([a, c]))).toEqual([409, 'not-neighbours']);
    expect(problemOf(await merge([c, a]))).toEqual([409, 'not-neighbours']);
    const more = await openLog(t, { segments: 5 });
    expect((await t.send('GET', `/v1/topics/${more.topic}/segments/s0000004`)).status).toBe(200);
    expect(problemOf(await merge([c, 's0000004']))).toEqual([404, 'segment-not-found']);
    expect((await split(b ?? '', { at: 30_000 })).status).toBe(200);
    for (const segments of [
      [a, b],
      [b, c],
    ]) {
      const sealed = await merge(segments);
      expect([...problemOf(sealed), sealed.json.segment]).toEqual([409, 'segment-sealed', b]);
      expect(rangesOf(sealed).map(([segment]) => segment)).toEqual(['s0000003', 's0000004']);
    }
    expect(await openIds()).toEqual([a, 's0000003', 's0000004', c]);
  });

  test('at the moment of a split of one of them: one of both is made, or one after the other', async () => {
    const [merged, cut] = await Promise.all([merge([a, b], { app: apps[1] as TestApp }), split(b ?? '', { at: 30_000 })]);
    expect([merged.status, cut.status].toSorted()).toEqual([200, 409]);
    const refused = merged.status === 409 ? merged : cut;
    expect(problemOf(refused)).toEqual([409, 'segment-sealed']);
    expect(rangesOf(refused)).toEqual(rangesOf(merged.status === 200 ? merged : cut));
  });
});

test('publishes and topic cursors go on through all of it: each key in order, each message once', async () => {
  const keys = ['k0', 'k1', 'k2', 'k3', 'k4', 'k5'];
  const over = new AbortController();
  const write = async (key: string, n: number): Promise<number> => {
    let count = 0;
    for (; !over.signal.aborted; count += 1) {
      const app = apps[(n + count) % apps.length] as TestApp;
      const answer = await app.send('POST', `/v1/topics/${log.topic}/messages`, { body: one({ key, text: String(count) }) });
      expect(answer.status).toBe(200);
      // Stores in memory answer at once: without it nothing else would have a turn.
      await setImmediate();
    }
    return count;
  };
  const read = new Map<string, string[]>(keys.map((key) => [key, []]));
  const total = (): number => [...read.values()].reduce((sum, texts) => sum + texts.length, 0);
  const follow = async (enough: () => boolean): Promise<void> => {
    for (let cursor = 'earliest'; !enough();) {
      const page = await (apps[2] as TestApp).send('GET', `/v1/topics/${log.topic}/messages?cursor=${cursor}&waitMs=200`);
      expect(page.status).toBe(200);
      for (const { key, text } of page.json.messages) read.get(key)?.push(text);
      ({ cursor } = page.json);
    }
  };
  let written = Number.POSITIVE_INFINITY;
  const reading = follow(() => total() >= written);
  const writing = Promise.all(keys.map(write));
  try {
    for (const [n, [kind, of]] of CHANGES.entries()) {
      const app = apps[n % apps.length] as TestApp;
      const seen = total();
      const answer = kind === 'merge' ? await merge(of, { app }) : await split(of[0], { at: of[1] }, { app });
      expect(answer.status).toBe(200);
      await expect.poll(total, { timeout: TEST_MS }).toBeGreaterThan(seen);
    }
  } finally {
    over.abort();
    written = await writing.then(
      (counts) => counts.reduce((sum, count) => sum + count, 0),
      () => 0,
    );
  }
  await reading;
  const counts = await writing;
  for (const [n, key] of keys.entries()) {
    expect(read.get(key)).toEqual(Array.from({ length: counts[n] ?? 0 }, (_, text) => String(text)));
  }
  expect(await openIds()).toEqual(['s0000009']);
});

/** From one segment two, three, two, one, two, and one again. */
const CHANGES = [
  ['split', ['s0000000', 32_768]],
  ['split', ['s0000001', 16_384]],
  ['merge', ['s0000004', 's0000002']],
  ['merge', ['s0000003', 's0000005']],
  ['split', ['s0000006', 40_000]],
  ['merge', ['s0000007', 's0000008']],
] as const;
