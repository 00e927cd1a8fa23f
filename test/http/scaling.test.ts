import { beforeEach, describe, expect, test } from 'vitest';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { scalingKey } from '../../src/format/item-key.ts';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import type { ScaleEvent } from '../../src/model/scale-event.ts';
import type { MergeReason, SplitReason } from '../../src/model/scaling.ts';
import { noteScaling } from '../../src/topology/scale-history.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { replaceSegments } from '../simulation/replace-segment.ts';
import { createTestApp, type TestApp } from './test-app.ts';

const PATH = '/v1/topics/orders';
const { signal } = new AbortController();

let t: TestApp;
let topic: TopicId;
beforeEach(async () => {
  t = createTestApp();
  topic = await makeTopic();
});

const makeTopic = async (): Promise<TopicId> => (await t.send('PUT', PATH, { body: { partitionKey: 'key' } })).json.id;
const note = (...events: readonly ScaleEvent[]): Promise<void> =>
  noteScaling({ table: t.table, clock: t.deps.clock, random: createSystemRandom(), telemetry: t.telemetry }, { id: topic }, events, signal);

const byPlanner = (n: number, reason: SplitReason | MergeReason): ScaleEvent => {
  const event = { atMs: n, parents: [segmentId(n)], children: [segmentId(100 + n)], by: 'planner' as const, reason };
  return reason.why === 'quiet' ? { ...event, kind: 'merge' } : { ...event, kind: 'split', at: 1 };
};

describe('GET …/scaling', () => {
  test('of a topic that never scaled is empty', async () => {
    const answer = await t.send('GET', `${PATH}/scaling`);
    expect([answer.status, answer.json]).toEqual([200, { events: [] }]);
  });

  test('tells what was done, by whom and why, newest first', async () => {
    await note({ atMs: 1, kind: 'split', parents: [segmentId(0)], children: [segmentId(1), segmentId(2)], at: 32_768, by: 'hand' });
    await note({ atMs: 2, kind: 'merge', parents: [segmentId(1), segmentId(2)], children: [segmentId(3)], by: 'hand' });
    expect((await t.send('GET', `${PATH}/scaling`)).json).toEqual({
      events: [
        { atMs: 2, kind: 'merge', parents: ['s0000001', 's0000002'], children: ['s0000003'], by: 'hand' },
        { atMs: 1, kind: 'split', parents: ['s0000000'], children: ['s0000001', 's0000002'], at: 32_768, by: 'hand' },
      ],
    });
  });

  test.each<SplitReason | MergeReason>([
    { why: 'over-target', load: 1.3, measure: 'messages' },
    { why: 'severe', load: 17.25, measure: 'bytes' },
    { why: 'throttled', load: 0.063, measure: 'commits' },
    { why: 'minimum', load: 0, minSegments: 4 },
    { why: 'quiet', load: 0.1, loadMax: 0.6, average: 0.2 },
  ])('gives the reason %j', async (reason) => {
    await note(byPlanner(1, reason));
    expect((await t.send('GET', `${PATH}/scaling`)).json.events).toMatchObject([{ by: 'planner', reason }]);
  });

  test('gives loads to three decimals', async () => {
    await note(byPlanner(1, { why: 'over-target', load: 4 / 3, measure: 'messages' }));
    expect((await t.send('GET', `${PATH}/scaling`)).json.events[0].reason.load).toBe(1.333);
  });

  test('of no topic is 404, of a name made again empty', async () => {
    expect((await t.send('GET', '/v1/topics/none/scaling')).json.code).toBe('topic-not-found');
    await note(byPlanner(1, { why: 'minimum', load: 1, minSegments: 2 }));
    await t.send('GET', `${PATH}/scaling`);
    await t.send('DELETE', PATH);
    expect((await t.send('GET', `${PATH}/scaling`)).status).toBe(404);
    await makeTopic();
    expect((await t.send('GET', `${PATH}/scaling`)).json).toEqual({ events: [] });
  });

  test('of a topic that somebody else has deleted is 404, though it is remembered here', async () => {
    await t.send('GET', `${PATH}/segments`);
    const other = createTestApp({ table: t.table, store: t.store });
    expect((await other.send('DELETE', PATH)).status).toBe(204);
    expect((await t.send('GET', `${PATH}/scaling`)).json.code).toBe('topic-not-found');
  });

  test('that is damaged is 500 corrupt', async () => {
    await t.table.put(scalingKey(topic), { v: 1, version: 1, events: [{ t: 1, kind: 'split' }] }, [], signal);
    const answer = await t.send('GET', `${PATH}/scaling`);
    expect([answer.status, answer.json.code]).toEqual([500, 'corrupt']);
  });

  test('takes no parameters and gives JSON alone', async () => {
    expect((await t.send('GET', `${PATH}/scaling?limit=1`)).json).toMatchObject({ code: 'invalid-query', field: 'limit' });
    expect((await t.send('GET', `${PATH}/scaling`, { headers: { accept: 'text/event-stream' } })).status).toBe(406);
  });
});

describe('GET …/segments', () => {
  type Shown = { readonly segment: string; readonly openedMs: number; readonly endedMs?: number };
  const shown = async (query = ''): Promise<readonly Shown[]> => (await t.send('GET', `${PATH}/segments${query}`)).json.segments;
  const at = async (ms: number): Promise<string[]> => (await shown(`?at=${ms}`)).map(({ segment }) => segment);

  /** S0 → S1, S2; then both → S3. */
  async function splitAndMerge(): Promise<readonly [Shown, Shown, Shown, Shown]> {
    const { clock } = t.deps;
    const world = { table: t.table, random: createSeededRandom('scaling'), signal, clock, run: <T>(work: Promise<T>): Promise<T> => work };
    const resolve = () => t.deps.topics.resolve('orders', { fresh: true }, signal);
    for (const [parents, children] of [[[segmentId(0)], 2] as const, [[segmentId(1), segmentId(2)], 1] as const]) {
      const beganMs = clock.nowMs();
      // So that no two times of this topic's life are one.
      await expect.poll(() => clock.nowMs()).toBeGreaterThan(beganMs + 1);
      await replaceSegments(world, await resolve(), { parents, children });
    }
    return (await shown()) as readonly [Shown, Shown, Shown, Shown];
  }

  test('shows since when a segment is open, and until when it was', async () => {
    const { createdMs } = (await t.send('GET', PATH)).json;
    const [first, low, high, merged] = await splitAndMerge();
    expect(first.openedMs).toBeGreaterThanOrEqual(createdMs);
    for (const child of [low, high]) {
      expect(child.openedMs).toBeGreaterThanOrEqual(first.endedMs as number);
      expect(merged.openedMs).toBeGreaterThanOrEqual(child.endedMs as number);
    }
    expect(merged).not.toHaveProperty('endedMs');
    expect((await t.send('GET', `${PATH}/segments/${first.segment}`)).json).toEqual(first);
  });

  test('?at= shows those that were open then, as they are now', async () => {
    const [first, low, high, merged] = await splitAndMerge();
    expect(await at(0)).toEqual([]);
    expect(await at(first.openedMs)).toEqual([first.segment]);
    expect(await at((first.endedMs as number) - 1)).toEqual([first.segment]);
    expect(await at(Math.max(low.openedMs, high.openedMs))).toEqual([low.segment, high.segment]);
    expect(await at(merged.openedMs)).toEqual([merged.segment]);
    expect(await at(253_402_300_799_999)).toEqual([merged.segment]);
    expect(await shown(`?at=${first.openedMs}`)).toEqual([first]);
  });

  test.each(['at=-1', 'at=1.5', 'at=', 'at', 'at=253402300800000', 'at=now', 'at=1&at=2', 'At=1'])('refuses ?%s', async (query) => {
    const refused = await t.send('GET', `${PATH}/segments?${query}`);
    expect([refused.status, refused.json.code]).toEqual([
      400,
      query.includes('&') || query.startsWith('A') ? 'invalid-query' : 'invalid-at',
    ]);
    expect(refused.json.field.toLowerCase()).toBe('at');
  });
});
