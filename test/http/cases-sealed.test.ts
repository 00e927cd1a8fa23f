import { beforeEach, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { type Log, openLog, one } from './log.ts';
import { createTestApp, type TestApp } from './test-app.ts';

// Segments that are really sealed and replaced while clients are at work, as a split does it.

let t: TestApp;
let log: Log;
beforeEach(async () => {
  t = createTestApp();
  log = await openLog(t);
});

const TEST_MS = 10_000;
const CHILDREN = [
  { segment: 's0000001', lo: 0, hi: 32_767 },
  { segment: 's0000002', lo: 32_768, hi: 65_535 },
];
/** As a problem has them: nobody serves them yet. */
const SUCCESSORS = CHILDREN.map((child) => ({ ...child, brokers: [] }));

async function split(): Promise<void> {
  const signal = AbortSignal.timeout(TEST_MS);
  const topic = await t.broker.topics.resolve(log.topic, { fresh: true }, signal);
  const world = { table: t.table, clock: createSystemClock(), random: createSeededRandom(1), signal, run: <T>(work: Promise<T>) => work };
  await replaceSegment(world, topic, { segment: log.segment as SegmentId, children: 2 });
}

/** Page by page, until one is empty. */
async function readAll(): Promise<{ readonly key: string; readonly text: string }[]> {
  const all: { readonly key: string; readonly text: string }[] = [];
  for (let cursor = 'earliest'; ;) {
    const page = (await t.send('GET', `/v1/topics/${log.topic}/messages?cursor=${cursor}`)).json;
    if (page.messages.length === 0) return all;
    all.push(...page.messages);
    cursor = page.cursor;
  }
}

const stamp = (segment: string, sequence: number): Record<string, string> => ({
  'kelp-segment': segment,
  'kelp-producer-id': 'p',
  'kelp-producer-epoch': '0',
  'kelp-producer-sequence': String(sequence),
});

test('J-20 a seal ends a poll at once, with `sealed` and the successors', async () => {
  await log.publish(one({ key: 'k0', text: 'last' }));
  const polls = ['application/json', 'application/x-ndjson', 'application/vnd.kelp.batch'].map((accept) =>
    log.read('?offset=1&waitMs=25000', { accept }),
  );
  const beganMs = performance.now();
  await split();
  const [json, ...lines] = await Promise.all(polls);
  expect(performance.now() - beganMs).toBeLessThan(5_000);
  expect(json?.json).toEqual({ messages: [], nextOffset: 1, tail: 1, sealed: true, successors: CHILDREN });
  for (const page of lines) {
    expect([page.headers.get('kelp-sealed'), page.headers.get('kelp-next-offset'), page.headers.get('kelp-successors')]).toEqual([
      'true',
      '1',
      's0000001:0-32767,s0000002:32768-65535',
    ]);
  }
});

test('a stream ends with its segment and says what comes next; asked again it is 204', async () => {
  await log.publish(one({ key: 'k0', text: 'last' }));
  await split();
  const path = `/v1/topics/${log.topic}/segments/${log.segment}/messages`;
  const stream = await t.send('GET', path, { headers: { accept: 'text/event-stream' } });
  const end = stream.text.split('\n\n').find((event) => event.includes('event: end'));
  expect(JSON.parse(/^data: (.*)$/m.exec(end ?? '')?.[1] ?? '')).toEqual({ nextOffset: 1, successors: CHILDREN });
  const position = /^id: (.*)$/m.exec(end ?? '')?.[1] ?? '';
  expect(position).toBe(`${log.segment}:1`);
  expect((await t.send('GET', path, { headers: { accept: 'text/event-stream', 'last-event-id': position } })).status).toBe(204);
});

describe('a publish to a segment that was sealed', () => {
  test('of a producer is told where to go on, and what landed is a duplicate still', async () => {
    expect((await log.publish(one({ key: 'k0', text: '0' }), stamp(log.segment, 0))).status).toBe(200);
    await split();
    const again = await log.publish(one({ key: 'k0', text: '0' }), stamp(log.segment, 0));
    expect([again.status, again.json.results]).toEqual([200, [{ segment: log.segment, offset: 0, duplicate: true }]]);
    const sealed = await log.publish(one({ key: 'k0', text: '1' }), stamp(log.segment, 1));
    expect([sealed.status, sealed.json]).toEqual([
      409,
      expect.objectContaining({ code: 'segment-sealed', retryable: true, indefinite: false, segment: log.segment, successors: SUCCESSORS }),
    ]);
    const moved = await log.publish(one({ key: 'k0', text: '1' }), stamp('s0000001', 0));
    expect(moved.json.results).toEqual([{ segment: 's0000001', offset: 0 }]);
  });

  test('with an expected tail is not moved', async () => {
    await split();
    const headers = { 'kelp-segment': log.segment, 'kelp-match-tail': '0' };
    expect((await log.publish(one({ key: 'k0', text: '' }), headers)).json).toMatchObject({
      code: 'segment-sealed',
      successors: SUCCESSORS,
    });
    expect(await log.tail()).toBe(0);
  });

  test('of plain messages goes to the successors, each key in order for a reader of the topic', async () => {
    const keys = ['k0', 'k1', 'k2', 'k3'];
    const publish = (round: string) => log.publish({ messages: keys.map((key) => ({ key, text: round })) });
    await publish('first');
    await split();
    const second = await publish('second');
    expect(second.json.results.map(({ segment }: { segment: string }) => segment)).toEqual([
      's0000001',
      's0000002',
      's0000001',
      's0000002',
    ]);
    const read = await readAll();
    expect(read).toHaveLength(8);
    for (const key of keys) expect(read.filter((message) => message.key === key).map(({ text }) => text)).toEqual(['first', 'second']);
  });
});

test('segments say who replaced whom', async () => {
  await split();
  const { segments } = (await t.send('GET', `/v1/topics/${log.topic}/segments`)).json;
  expect(
    segments.map(({ segment, state, predecessors, successors }: Record<string, unknown>) => [segment, state, predecessors, successors]),
  ).toEqual([
    [log.segment, 'sealed', [], ['s0000001', 's0000002']],
    ['s0000001', 'open', [log.segment], []],
    ['s0000002', 'open', [log.segment], []],
  ]);
});
