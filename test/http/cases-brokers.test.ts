import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Log, openLog, one } from './log.ts';
import type { Answer, TestApp } from './test-app.ts';
import { createTestFleet, type TestFleet } from './test-fleet.ts';

// The API over the real control plane: brokers that come, serve, die and leave, as clients see it.

const WAIT_MS = 15_000;

let fleet: TestFleet;
let apps: TestApp[];
let t: TestApp;
let log: Log;

/** Brokers b0, b1 …; `t` is the first one's API, and `log` a topic. */
async function start(brokers: number, segments = 1): Promise<void> {
  apps = [];
  for (let n = 0; n < brokers; n += 1) apps.push(await fleet.join(`b${n}`));
  t = apps[0] ?? fleet.stranger();
  log = await openLog(t, { segments });
}
beforeEach(() => {
  fleet = createTestFleet();
});
afterEach(() => fleet.end());

type Address = { readonly id: string; readonly url: string };
type Assigned = { readonly segment: string; readonly brokers: readonly Address[]; readonly successors?: readonly Assigned[] };

const ask = (segment = log.segment, body?: object, app = t): Promise<Answer> =>
  app.send('POST', `/v1/topics/${log.topic}/segments/${segment}/brokers`, body === undefined ? {} : { body });
const assigned = async (segment?: string, body?: object, app?: TestApp): Promise<Assigned> => (await ask(segment, body, app)).json;
const idsOf = ({ brokers }: Pick<Assigned, 'brokers'>): string[] => brokers.map(({ id }) => id);
const listed = async (app = t): Promise<[id: string, segments: number, draining: boolean][]> =>
  (await app.send('GET', '/v1/brokers')).json.brokers.map((broker: Record<string, unknown>) => [
    broker['id'],
    broker['segments'],
    broker['draining'],
  ]);
const leaderOf = async (app = t): Promise<string | undefined> => (await app.send('GET', '/v1/leader')).json.leader?.id;

/** Who leads, once somebody does. */
async function leader(): Promise<string> {
  await expect.poll(() => leaderOf(), { timeout: WAIT_MS }).toBeTypeOf('string');
  return (await leaderOf()) ?? '';
}

const producer = (segment: string, sequence: number): Record<string, string> => ({
  'kelp-segment': segment,
  'kelp-producer-id': 'p',
  'kelp-producer-epoch': '0',
  'kelp-producer-sequence': String(sequence),
});

/** Texts of the whole topic, by cursor, until an empty page. */
async function readAll(app = t): Promise<string[]> {
  const texts: string[] = [];
  for (let cursor = 'earliest'; ;) {
    const page = (await app.send('GET', `/v1/topics/${log.topic}/messages?cursor=${cursor}`)).json;
    if (page.messages.length === 0) return texts;
    texts.push(...page.messages.map(({ text }: { text: string }) => text));
    cursor = page.cursor;
  }
}

describe('brokers that are there', () => {
  test('are listed by each of them, and one leads', async () => {
    await start(3);
    const id = await leader();
    for (const app of apps) {
      expect(await listed(app)).toEqual(['b0', 'b1', 'b2'].map((broker) => [broker, 0, false]));
      expect((await app.send('GET', '/v1/leader')).json).toEqual({ leader: { id, url: `http://${id}:7333` }, epoch: 1 });
    }
  });

  test('serve a segment for ever once anybody has asked, whoever is asked', async () => {
    await start(3);
    const first = await assigned();
    expect([first.segment, first.brokers.length, first.successors]).toEqual([log.segment, 2, undefined]);
    for (const app of [...apps, fleet.stranger()]) expect(await assigned(log.segment, undefined, app)).toEqual(first);
    const serving = (await listed()).filter(([, segments]) => segments === 1).map(([id]) => id);
    expect(serving).toEqual(idsOf(first).toSorted());
  });

  test('are as many as the topic wants, or as there are', async () => {
    await start(3);
    for (const replicas of [1, 3, 8]) {
      const path = `/v1/topics/r${replicas}`;
      await t.send('PUT', path, { body: { partitionKey: 'key', replicas } });
      const { brokers } = (await t.send('POST', `${path}/segments/s0000000/brokers`)).json;
      expect(new Set(idsOf({ brokers })).size).toBe(Math.min(replicas, 3));
    }
  });

  test('are as many as the topic wanted when they were chosen', async () => {
    await start(3);
    const path = '/v1/topics/changed';
    await t.send('PUT', path, { body: { partitionKey: 'key', segments: 2, replicas: 3 } });
    const askFor = async (segment: string): Promise<Assigned> => (await t.send('POST', `${path}/segments/${segment}/brokers`)).json;
    const before = await askFor('s0000000');
    expect((await t.send('PATCH', path, { body: { replicas: 1 } })).json.replicas).toBe(1);
    // The leader may go by what it knew for a moment.
    for (const app of apps) app.broker.topics.forget('changed');
    expect(idsOf(await askFor('s0000001'))).toHaveLength(1);
    expect([idsOf(before).length, await askFor('s0000000')]).toEqual([3, before]);
  });

  test('are named by publishes of whoever knows them, and by nobody else', async () => {
    await start(2);
    expect((await log.publish(one({ key: 'k', text: '0' }))).headers.has('kelp-brokers')).toBe(false);
    const { brokers } = await assigned();
    const hint = `${log.segment} ${brokers.map(({ url }) => url).join(' ')}`;
    expect((await log.publish(one({ key: 'k', text: '1' }))).headers.get('kelp-brokers')).toBe(hint);
    expect((await log.publishRaw('2', { query: '?key=k' })).headers.get('kelp-brokers')).toBe(hint);
  });
});

describe('bad input', () => {
  test('segments that are not there, or no more', async () => {
    await start(1);
    const missing = await ask('szzzzzz9');
    expect([missing.status, missing.json.code]).toEqual([404, 'segment-not-found']);
    await t.send('DELETE', `/v1/topics/${log.topic}`);
    const deleted = await ask();
    expect([deleted.status, deleted.json.code]).toEqual([404, 'topic-not-found']);
    await t.send('PUT', `/v1/topics/${log.topic}`, { body: { partitionKey: 'key' } });
    const former = await ask();
    expect([former.status, former.json.code]).toEqual([410, 'topic-replaced']);
    expect((await ask('s0000001')).status).toBe(200);
  });

  test('a report against a healthy broker, a stranger, or one that serves something else, changes nothing', async () => {
    await start(3);
    const before = await assigned();
    const [other] = ['b0', 'b1', 'b2'].filter((id) => !idsOf(before).includes(id));
    for (const suspect of [...idsOf(before), ...idsOf(before), other, 'nobody']) {
      const answer = await ask(log.segment, { suspect });
      expect([suspect, answer.status, answer.json]).toEqual([suspect, 200, before]);
    }
    expect((await t.send('GET', `/v1/topics/${log.topic}/segments`)).json.segments).toHaveLength(1);
  });

  test('a drain of nobody, and of the last one', async () => {
    await start(1);
    await leader();
    const nobody = await t.send('POST', '/v1/brokers/nobody/drain');
    expect([nobody.status, nobody.json.code, nobody.json.retryable]).toEqual([404, 'broker-not-found', false]);
    const last = await t.send('POST', '/v1/brokers/b0/drain');
    expect([last.status, last.json.code, last.json.retryable]).toEqual([409, 'last-broker', false]);
    expect(await listed()).toEqual([['b0', 0, false]]);
  });

  test('nobody leads: what needs no leader goes on, the rest is 503', async () => {
    await start(0, 2);
    expect(await listed()).toEqual([]);
    const none = await t.send('GET', '/v1/leader');
    expect([none.status, none.json.code, none.headers.get('retry-after')]).toEqual([503, 'unavailable', '1']);
    for (const path of [`/v1/topics/${log.topic}/segments/${log.segment}/brokers`, '/v1/brokers/b0/drain']) {
      const refused = await t.send('POST', path, { headers: { 'kelp-timeout-ms': '500' } });
      expect([path, refused.status, refused.json.code]).toEqual([path, 503, 'unavailable']);
    }
    const b0 = await fleet.join('b0');
    const saved = await assigned(log.segment, undefined, b0);
    expect(idsOf(saved)).toEqual(['b0']);
    await fleet.kill('b0');
    expect(await assigned()).toEqual(saved);
    expect((await log.publish(one({ key: 'k0', text: 'x' }))).status).toBe(200);
  });
});

describe('a broker that dies', () => {
  test('is reported: the segment goes on elsewhere, and every client finds it there', { timeout: WAIT_MS * 2 }, async () => {
    await start(4);
    const led = await leader();
    const before = await assigned();
    expect((await log.publish(one({ key: 'k', text: '0' }), producer(log.segment, 0))).status).toBe(200);
    const [victim = ''] = idsOf(before).filter((id) => id !== led);
    const alive = apps.find((_, n) => `b${n}` === led) ?? t;
    await fleet.kill(victim);
    await expect
      .poll(() => assigned(log.segment, { suspect: victim }, alive), { timeout: WAIT_MS })
      .toMatchObject({ segment: log.segment, brokers: [], successors: [{ segment: 's0000001', lo: 0, hi: 65_535 }] });
    const found = await assigned(log.segment, undefined, alive);
    const [successor] = found.successors ?? [];
    expect(successor?.brokers).toHaveLength(2);
    expect(idsOf(successor ?? { brokers: [] })).not.toContain(victim);
    expect(await assigned('s0000001', undefined, alive)).toEqual({ segment: 's0000001', brokers: successor?.brokers });

    const path = `/v1/topics/${log.topic}/messages`;
    const stale = await alive.send('POST', path, { body: one({ key: 'k', text: '1' }), headers: producer(log.segment, 1) });
    expect([stale.status, stale.json]).toMatchObject([409, { code: 'segment-sealed', retryable: true, successors: [successor] }]);
    expect(stale.headers.get('kelp-brokers')).toBe(`s0000001 ${successor?.brokers.map(({ url }) => url).join(' ')}`);
    const moved = await alive.send('POST', path, { body: one({ key: 'k', text: '1' }), headers: producer('s0000001', 0) });
    expect(moved.json.results).toEqual([{ segment: 's0000001', offset: 0 }]);
    expect((await alive.send('POST', path, { body: one({ key: 'k', text: '2' }) })).status).toBe(200);
    expect(await readAll(alive)).toEqual(['0', '1', '2']);
    await expect.poll(async () => (await listed(alive)).map(([id]) => id), { timeout: WAIT_MS }).not.toContain(victim);
  });
});

describe('a broker that is drained', () => {
  test('hands its segments on and leaves, while everything is stored and read', { timeout: WAIT_MS * 2 }, async () => {
    await start(3, 4);
    const led = await leader();
    for (let n = 0; n < 4; n += 1) await assigned(`s000000${n}`);
    const victim = ['b0', 'b1', 'b2'].find((id) => id !== led) ?? '';
    const serves = new Map((await listed()).map(([id, segments]) => [id, segments])).get(victim) ?? 0;
    expect(serves).toBeGreaterThan(0);
    const accepted = await t.send('POST', `/v1/brokers/${victim}/drain`, { body: { perSecond: 1_000 } });
    expect([accepted.status, accepted.json]).toEqual([202, { broker: victim, segments: serves }]);
    let sent = 0;
    const publishUntilGone = async (): Promise<boolean> => {
      const body = { messages: ['k0', 'k1', 'k2', 'k3'].map((key) => ({ key, text: String(sent) })) };
      const published = await apps[sent % apps.length]?.send('POST', `/v1/topics/${log.topic}/messages`, { body });
      expect(published?.status).toBe(200);
      sent += 1;
      return (await listed()).some(([id]) => id === victim);
    };
    await expect.poll(publishUntilGone, { timeout: WAIT_MS }).toBe(false);
    expect(await readAll()).toHaveLength(4 * sent);
    for (const { segment, state } of (await t.send('GET', `/v1/topics/${log.topic}/segments`)).json.segments) {
      const { brokers, successors = [] } = await assigned(segment);
      expect([segment, state, brokers.length > 0, successors.length > 0]).toEqual([segment, state, state === 'open', state === 'sealed']);
      for (const range of [{ brokers }, ...successors]) expect(idsOf(range)).not.toContain(victim);
    }
  });

  test('SIGTERM does the same, and the last of all just goes', { timeout: WAIT_MS * 2 }, async () => {
    await start(2);
    await leader();
    const before = await assigned();
    expect(idsOf(before).toSorted()).toEqual(['b0', 'b1']);
    await fleet.leave('b1');
    expect((await listed()).map(([id]) => id)).toEqual(['b0']);
    const after = await assigned();
    expect([after.brokers, after.successors?.map(idsOf)]).toEqual([[], [['b0']]]);
    await fleet.leave('b0');
    const witness = fleet.stranger();
    expect(await leaderOf(witness)).toBeUndefined();
    expect(idsOf(await assigned(after.successors?.[0]?.segment, undefined, witness)).length).toBeLessThanOrEqual(1);
  });
});

test('a fleet leads for the time of a call', async () => {
  t = await fleet.join('f0', 'fleet');
  log = await openLog(t);
  expect(idsOf(await assigned())).toEqual(['f0']);
  expect((await t.send('GET', '/v1/brokers')).json.brokers).toMatchObject([{ id: 'f0', kind: 'fleet', segments: 1, draining: false }]);
  expect((await t.send('GET', '/v1/leader')).status).toBe(503);
});
