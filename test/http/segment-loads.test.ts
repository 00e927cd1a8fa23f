import { beforeEach, describe, expect, test } from 'vitest';
import type { Control } from '../../src/control/control.ts';
import { segmentId } from '../../src/model/ids.ts';
import type { TopicLoads } from '../../src/model/scaling.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { replaceSegments } from '../simulation/replace-segment.ts';
import { createFakeControl } from './fake-control.ts';
import { createTestApp, type TestApp } from './test-app.ts';

const PATH = '/v1/topics/orders/segments';
const { signal } = new AbortController();
const [FIRST, SECOND] = [segmentId(0), segmentId(1)];

let control: ReturnType<typeof createFakeControl>;
let t: TestApp;

async function open(change: Partial<Control> = {}): Promise<void> {
  control = createFakeControl(change);
  t = createTestApp({ change: () => ({ control }) });
  expect((await t.send('PUT', '/v1/topics/orders', { body: { partitionKey: 'key', segments: 2 } })).status).toBe(201);
}
const knows = (loads: TopicLoads): Promise<void> => open({ loads: () => Promise.resolve(loads) });
const asked = (): number => control.calls.filter(({ name }) => name === 'loads').length;

const LOADS: TopicLoads = {
  segments: [{ segment: FIRST, messages: 1_234.567, bytes: 98_765.4, commits: 12.34, load: 1.234_56 }],
  hotKeys: [{ segment: FIRST, lo: 7, hi: 9, share: 0.654_321, load: 1.234_56 }],
};
const SHOWN = {
  load: { messagesPerSecond: 1_234.6, bytesPerSecond: 98_765, commitsPerSecond: 12.3, ofTarget: 1.235 },
  hotKey: { lo: 7, hi: 9, share: 0.654 },
};

beforeEach(() => open());

describe('a segment’s load and hot key', () => {
  test('are shown of those of which they are known, in the list and of one segment', async () => {
    await knows(LOADS);
    const [first, second] = (await t.send('GET', PATH)).json.segments;
    expect(first).toMatchObject({ segment: FIRST, ...SHOWN });
    for (const member of ['load', 'hotKey']) expect(second).not.toHaveProperty(member);
    expect((await t.send('GET', `${PATH}/${FIRST}`)).json).toEqual(first);
    expect((await t.send('GET', `${PATH}/${SECOND}`)).json).toEqual(second);
  });

  test('an idle one has a load, of nothing', async () => {
    await knows({ segments: [{ segment: FIRST, messages: 0.01, bytes: 0.2, commits: 1e-9, load: 1e-7 }], hotKeys: [] });
    const [first] = (await t.send('GET', PATH)).json.segments;
    expect(first.load).toEqual({ messagesPerSecond: 0, bytesPerSecond: 0, commitsPerSecond: 0, ofTarget: 0 });
    expect(first).not.toHaveProperty('hotKey');
  });

  test('are left out where nobody knows them', async () => {
    for (const path of [PATH, `${PATH}/${FIRST}`]) {
      const answer = await t.send('GET', path);
      expect(answer.status).toBe(200);
      expect(answer.text).not.toMatch(/load|hotKey/i);
    }
    expect(asked()).toBe(2);
  });

  test('of what is sealed, or was open once, are not asked for', async () => {
    await knows({ ...LOADS, segments: [...LOADS.segments, { segment: segmentId(2), messages: 1, bytes: 1, commits: 1, load: 0.5 }] });
    const world = {
      table: t.table,
      random: createSeededRandom('loads'),
      signal,
      clock: t.deps.clock,
      run: <T>(work: Promise<T>): Promise<T> => work,
    };
    await replaceSegments(world, await t.deps.topics.resolve('orders', { fresh: true }, signal), { parents: [FIRST, SECOND], children: 1 });
    expect((await t.send('GET', `${PATH}/${FIRST}`)).text).not.toMatch(/load|hotKey/i);
    expect((await t.send('GET', `${PATH}?at=${t.deps.clock.nowMs()}`)).text).not.toMatch(/load|hotKey/i);
    expect(asked()).toBe(0);
    const [first, second, merged] = (await t.send('GET', PATH)).json.segments;
    for (const sealed of [first, second]) expect(sealed).not.toHaveProperty('load');
    expect([merged.segment, merged.load.ofTarget]).toEqual([segmentId(2), 0.5]);
  });

  test('are no reason to wait longer than the caller does', async () => {
    await open({
      loads: (_, ends) => new Promise((_resolve, reject) => ends.addEventListener('abort', () => reject(ends.reason as Error))),
    });
    const late = await t.send('GET', PATH, { headers: { 'kelp-timeout-ms': '20' } });
    expect([late.status, late.json.code]).toEqual([408, 'timeout']);
  });

  test('a broker by itself, that knows no leader, answers without them', async () => {
    const alone = createTestApp({ plane: {} });
    await alone.send('PUT', '/v1/topics/orders', { body: { partitionKey: 'key' } });
    const answer = await alone.send('GET', PATH);
    expect([answer.status, answer.json.segments]).toMatchObject([200, [{ segment: FIRST, state: 'open' }]]);
    expect(answer.text).not.toMatch(/load|hotKey/i);
  });
});
