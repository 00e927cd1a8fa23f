import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Log, one, openLog } from './log.ts';
import type { Answer, Sending, TestApp } from './test-app.ts';
import { createTestFleet, type TestFleet } from './test-fleet.ts';

// What the leader plans and what it knows, as clients of any broker see it, over the real control plane of three of them.

const TEST_MS = 15_000;

let fleet: TestFleet;
let apps: readonly [TestApp, TestApp, TestApp];
let log: Log;
beforeEach(async () => {
  fleet = createTestFleet();
  apps = [await fleet.join('b0'), await fleet.join('b1'), await fleet.join('b2')];
  log = await openLog(apps[0]);
});
afterEach(() => fleet.end());

const rebalance = (app: TestApp, body: Sending['body']): Promise<Answer> =>
  app.send('POST', '/v1/rebalance', body === undefined ? {} : { body });
const topicPath = (): string => `/v1/topics/${log.topic}`;
const wants = (scaling: object): Promise<Answer> => apps[0].send('PATCH', topicPath(), { body: { scaling } });
const segments = async (app: TestApp = apps[0]): Promise<any[]> => (await app.send('GET', `${topicPath()}/segments`)).json.segments;
const open = async (): Promise<string[]> =>
  (await segments()).filter(({ state }) => state === 'open').map(({ segment }) => segment as string);

describe('POST /v1/rebalance', () => {
  test('asked of any broker: a dry run says what the next one makes, and makes nothing', async () => {
    await wants({ minSegments: 2 });
    const said: unknown[] = [];
    for (const app of apps) {
      const dry = await rebalance(app, { topic: log.topic, dryRun: true });
      expect(dry.json.topics).toMatchObject([{ topic: log.topic, segments: 1, changes: [{ kind: 'split', segment: log.segment }] }]);
      const [{ changes }] = dry.json.topics;
      for (const member of ['children', 'refused']) expect(changes[0]).not.toHaveProperty(member);
      said.push(changes);
    }
    expect(await open()).toEqual([log.segment]);

    const made = await rebalance(apps[2], undefined);
    const [{ changes }] = made.json.topics;
    for (const planned of said) expect(changes).toMatchObject(planned as object[]);
    expect(changes[0].children).toEqual(await open());
    const { events } = (await apps[1].send('GET', `${topicPath()}/scaling`)).json;
    expect(events).toMatchObject([{ kind: 'split', by: 'planner', reason: { why: 'minimum', minSegments: 2 }, at: changes[0].at }]);
    expect((await rebalance(apps[0], undefined)).json).toEqual({ topics: [] });
  });

  test('of one topic leaves the others alone, and tells of it though there is nothing to tell', async () => {
    await wants({ minSegments: 2 });
    const other = await openLog(apps[0]);
    const answer = await rebalance(apps[1], { topic: other.topic });
    expect(answer.json).toEqual({ topics: [{ topic: other.topic, segments: 1, changes: [], hotKeys: [], held: [] }] });
    expect(await open()).toEqual([log.segment]);
  });

  test('twice at the same moment splits once', async () => {
    await wants({ minSegments: 2 });
    const answers = await Promise.all(apps.map((app) => rebalance(app, { topic: log.topic })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.flatMap(({ json }) => json.topics[0].changes.flatMap((change: any) => change.children ?? []))).toEqual(await open());
    expect(await open()).toHaveLength(2);
  });

  test('of a topic that is deleted at that moment is 200 or 404', async () => {
    await wants({ minSegments: 8 });
    const [answer] = await Promise.all([rebalance(apps[1], { topic: log.topic }), apps[0].send('DELETE', topicPath())]);
    expect([200, 404]).toContain(answer.status);
    expect((await rebalance(apps[2], { topic: log.topic })).json).toMatchObject({ status: 404, code: 'topic-not-found' });
  });
});

describe('loads', () => {
  test(
    'are shown by every broker once the leader has read a segment twice',
    async () => {
      for (const segment of await segments()) expect(segment).not.toHaveProperty('load');
      const loaded = async (app: TestApp): Promise<any[]> => {
        await log.publish(one({ key: 'k', text: 'x' }));
        await rebalance(apps[1], { topic: log.topic });
        return (await segments(app)).map(({ load }) => load);
      };
      for (const app of apps) await expect.poll(() => loaded(app), { timeout: TEST_MS }).toEqual([expect.any(Object)]);
      const [segment] = await segments();
      expect(segment.load.messagesPerSecond).toBeGreaterThan(0);
      expect(segment.load.ofTarget).toBeGreaterThanOrEqual(0);
      const { json } = await apps[2].send('GET', `${topicPath()}/segments/${log.segment}`);
      expect(json.load.bytesPerSecond).toBeGreaterThan(0);
    },
    2 * TEST_MS,
  );

  test('are not asked for by a broker that nobody knows; nor can it have anything rebalanced', async () => {
    const stranger = fleet.stranger();
    const answer = await stranger.send('GET', `${topicPath()}/segments`);
    expect([answer.status, answer.json.segments.length, answer.json.segments[0].load]).toEqual([200, 1, undefined]);
    expect((await rebalance(stranger, { dryRun: true })).json).toMatchObject({ status: 503, code: 'unavailable', retryable: true });
  });
});
