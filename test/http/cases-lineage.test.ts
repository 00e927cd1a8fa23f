import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { type ChangeWorld, replaceSegments } from '../simulation/replace-segment.ts';
import { requestOf, type TestApp } from './test-app.ts';
import { createTestFleet, type TestFleet } from './test-fleet.ts';

let fleet: TestFleet;
let a: TestApp;
let b: TestApp;
beforeEach(async () => {
  fleet = createTestFleet();
  a = await fleet.join('a');
  b = await fleet.join('b');
});
afterEach(() => fleet.end());

type Seen = { readonly segment: string; readonly offset: number; readonly key: string; readonly text: string };
type Lineage = { readonly parent: string; readonly low: string; readonly high: string; readonly merged: string };

const PATH = '/v1/topics/orders';
/** `k0` lies in the lower half of the partitions, `k1` in the upper one. */
const OF_PARENT = numbered('k0', 1, 1_000);
const OF_LOW = numbered('k0', 1_001, 1_100);
const OF_HIGH = numbered('k1', 1, 100);
const OF_MERGED = [...numbered('k0', 1_101, 1_101), ...numbered('k1', 101, 101)];
const ALL = [...OF_PARENT, ...OF_LOW, ...OF_HIGH, ...OF_MERGED];
/** So few that the index of a segment leaves its head. */
const REQUEST_MESSAGES = 25;
const EPOCH_MS = 1_700_000_000_000;
const WAIT_MS = 1_000;

function numbered(key: string, first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, n) => `${key}#${first + n}`);
}

const timestampOf = (text: string): number => EPOCH_MS + ALL.indexOf(text);

/** By the two brokers in turn; each request is acknowledged before the next one is sent. */
async function publish(texts: readonly string[]): Promise<void> {
  for (let from = 0; from < texts.length; from += REQUEST_MESSAGES) {
    const messages = texts
      .slice(from, from + REQUEST_MESSAGES)
      .map((text) => ({ key: text.slice(0, 2), text, timestamp: timestampOf(text) }));
    const to = from % (2 * REQUEST_MESSAGES) === 0 ? a : b;
    const { status, json } = await to.send('POST', `${PATH}/messages`, { body: { messages } });
    expect([status, json.results.filter((result: object) => !('offset' in result))]).toEqual([200, []]);
  }
}

/** Whoever changes the topic is neither of the brokers: they learn of it as they go. */
async function change(parents: readonly string[], children: number): Promise<string[]> {
  const { signal } = new AbortController();
  const world: ChangeWorld = {
    table: a.table,
    random: createSeededRandom(parents.join()),
    signal,
    clock: createSystemClock(),
    run: (work) => work,
  };
  const topic = await a.broker.topics.resolve('orders', { fresh: true }, signal);
  const changed = await replaceSegments(world, topic, { parents: parents as readonly SegmentId[], children });
  return changed.open.map(({ segment }) => segment);
}

async function openTopic(): Promise<string> {
  expect((await a.send('PUT', PATH, { body: { partitionKey: 'key' } })).status).toBe(201);
  return (await a.send('GET', `${PATH}/segments`)).json.segments[0].segment as string;
}

type Moments = { readonly children?: readonly string[][]; readonly between?: () => Promise<void> };

/** One segment, split into two, merged into one; messages for each of them. */
async function play(parent: string, { children = [OF_LOW, OF_HIGH], between }: Moments = {}): Promise<Lineage> {
  await publish(OF_PARENT);
  const [low = '', high = ''] = await change([parent], 2);
  await publish(children[0] ?? []);
  await between?.();
  await publish(children[1] ?? []);
  const [merged = ''] = await change([low, high], 1);
  await publish(OF_MERGED);
  return { parent, low, high, merged };
}

type Reading = { readonly seen: Seen[]; readonly cursor: string };

/** Page by page, until so many have come; then one page more, which is empty. */
async function readTopic(t: TestApp, { from, count, limit }: { from: string; count: number; limit: number }): Promise<Reading> {
  let cursor = from;
  const seen: Seen[] = [];
  while (seen.length < count) {
    const { status, json } = await t.send('GET', `${PATH}/messages?cursor=${cursor}&limit=${limit}&waitMs=${WAIT_MS}`);
    expect(status).toBe(200);
    seen.push(...json.messages);
    cursor = json.cursor as string;
  }
  const { messages } = (await t.send('GET', `${PATH}/messages?cursor=${cursor}&limit=${limit}`)).json;
  expect(messages).toEqual([]);
  return { seen, cursor };
}

type Event = { readonly id: string; readonly message: Seen };

/** `behind`: the event to go on from. */
async function readEvents(t: TestApp, count: number, behind?: string): Promise<Event[]> {
  const resumed = behind === undefined ? {} : { 'last-event-id': behind };
  const response = await t.app.fetch(requestOf('GET', `${PATH}/messages`, { headers: { accept: 'text/event-stream', ...resumed } }));
  expect(response.status).toBe(200);
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (text.split('\ndata: ').length <= count) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the stream ended after ${text}`);
    text += value;
  }
  await reader.cancel();
  return [...text.matchAll(/id: (.+)\ndata: (.+)\n\n/g)].map(([, id = '', data = '']) => ({ id, message: JSON.parse(data) as Seen }));
}

/** Each key in order and each message once; nothing of a segment before the last one of each of its predecessors. */
function expectInOrder(seen: readonly Seen[], { parent, low, high, merged }: Lineage, expected: readonly string[] = ALL): void {
  for (const key of ['k0', 'k1']) {
    const texts = seen.filter((message) => message.key === key).map(({ text }) => text);
    expect(texts).toEqual(expected.filter((text) => text.startsWith(key)));
  }
  const rank = new Map([
    [parent, 0],
    [low, 1],
    [high, 1],
    [merged, 2],
  ]);
  const ranks = seen.map(({ segment }) => rank.get(segment));
  expect(ranks).toEqual(ranks.toSorted());
  for (const segment of rank.keys()) {
    const offsets = seen.filter((message) => message.segment === segment).map(({ offset }) => offset);
    expect(offsets).toEqual(offsets.map((_, n) => (offsets[0] ?? 0) + n));
  }
}

describe('J-30 parents-before-children', () => {
  test('readers that wait from the beginning, by cursor and by events, go on by themselves', async () => {
    const parent = await openTopic();
    const paged = readTopic(a, { from: 'earliest', count: ALL.length, limit: 300 });
    const byFew = readTopic(b, { from: 'earliest', count: ALL.length, limit: 9 });
    const latest = readTopic(b, { from: 'latest', count: ALL.length, limit: 1_000 });
    const streamed = [readEvents(a, ALL.length), readEvents(b, ALL.length)];
    // Until the one that begins at the end has found it.
    const { cursor } = (await b.send('GET', `${PATH}/messages?cursor=latest&waitMs=100`)).json;
    const known = readTopic(a, { from: cursor, count: ALL.length, limit: 1_000 });
    const lineage = await play(parent);
    for (const { seen } of await Promise.all([paged, byFew, latest, known])) expectInOrder(seen, lineage);
    for (const events of await Promise.all(streamed)) {
      expectInOrder(
        events.map(({ message }) => message),
        lineage,
      );
    }
    const { segments } = (await a.send('GET', `${PATH}/segments`)).json;
    const { parent: first, low, high, merged } = lineage;
    const tails = segments.map(({ segment, tail }: { segment: string; tail: number }) => [segment, tail]);
    expect(tails).toEqual([
      [first, 1_000],
      [low, 100],
      [high, 100],
      [merged, 2],
    ]);
  });

  test('readers that come afterwards, in pages of any size, by events, and from the middle of a child', async () => {
    const lineage = await play(await openTopic());
    const stranger = fleet.stranger();
    for (const limit of [7, 150, 10_000]) {
      const { seen } = await readTopic(stranger, { from: 'earliest', count: ALL.length, limit });
      expectInOrder(seen, lineage);
      expect(seen.slice(-2).map(({ segment }) => segment)).toEqual([lineage.merged, lineage.merged]);
    }
    const events = await readEvents(stranger, ALL.length);
    expectInOrder(
      events.map(({ message }) => message),
      lineage,
    );
    const rest = [...OF_LOW.slice(50), ...OF_HIGH, ...OF_MERGED];
    const from = `timestamp:${timestampOf(OF_LOW[50] ?? '')}`;
    expectInOrder((await readTopic(stranger, { from, count: rest.length, limit: 20 })).seen, lineage, rest);
  });

  test.each([
    ['upper', OF_LOW, OF_HIGH],
    ['lower', OF_HIGH, OF_LOW],
  ])('a reader that stopped between the children goes on with the %s one, at another broker', async (_, first, second) => {
    const parent = await openTopic();
    const stopped: { read?: Reading; events?: Event[] } = {};
    const early = OF_PARENT.length + first.length;
    const lineage = await play(parent, {
      children: [first, second],
      async between() {
        stopped.read = await readTopic(a, { from: 'earliest', count: early, limit: 64 });
        stopped.events = await readEvents(a, early);
      },
    });
    const rest = [...second, ...OF_MERGED];
    const read = await readTopic(b, { from: stopped.read?.cursor ?? '', count: rest.length, limit: 64 });
    expectInOrder(read.seen, lineage, rest);
    const events = await readEvents(b, rest.length, stopped.events?.at(-1)?.id);
    expectInOrder(
      [...(stopped.events ?? []), ...events].map(({ message }) => message),
      lineage,
    );
  });

  test('a stream that is cut anywhere between the split and the merge goes on behind its last event', async () => {
    const lineage = await play(await openTopic());
    const events = await readEvents(a, ALL.length);
    for (let cut = OF_PARENT.length - 5; cut < ALL.length; cut += 6) {
      const rest = await readEvents(fleet.stranger(), ALL.length - cut, events[cut - 1]?.id);
      expectInOrder(
        [...events.slice(0, cut), ...rest].map(({ message }) => message),
        lineage,
      );
    }
  });
});
