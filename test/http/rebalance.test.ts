import { beforeEach, describe, expect, test } from 'vitest';
import type { Control } from '../../src/control/control.ts';
import { KelpError } from '../../src/model/errors.ts';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import { CONTROL_REQUEST_BYTES_MAX } from '../../src/model/limits.ts';
import type { HeldBack, TopicPlan } from '../../src/model/scaling.ts';
import { createFakeControl } from './fake-control.ts';
import { createTestApp, type TestApp } from './test-app.ts';

let control: ReturnType<typeof createFakeControl>;
let t: TestApp;

/** The app over a control plane that answers otherwise. */
async function open(change: Partial<Control> = {}): Promise<void> {
  control = createFakeControl(change);
  t = createTestApp({ change: () => ({ control }) });
  expect((await t.send('PUT', '/v1/topics/orders', { body: { partitionKey: 'key' } })).status).toBe(201);
}
beforeEach(() => open());

const PATH = '/v1/rebalance';
const JSON_TYPE = { 'content-type': 'application/json' };
const [A, B, C, D] = [segmentId(0), segmentId(1), segmentId(2), segmentId(3)];

const planOf = (plan: Partial<TopicPlan> = {}): TopicPlan => {
  return { topic: 'tz7unqpl8fj8enug' as TopicId, name: 'orders', segments: 4, changes: [], hotKeys: [], held: [], ...plan };
};
const finds = (...plans: readonly TopicPlan[]): Promise<void> => open({ rebalance: () => Promise.resolve(plans) });
const asked = () => control.calls.map(({ given }) => given);

describe('POST /v1/rebalance', () => {
  test.each([
    ['', undefined, false],
    ['{}', undefined, false],
    ['{"dryRun":false}', undefined, false],
    ['{"dryRun":true}', undefined, true],
    ['{"topic":"orders"}', 'orders', false],
    [' {"topic" : "ord\\u0065rs", "dryRun" : true } ', 'orders', true],
  ])('%j is what is asked of the leader', async (body, topic, dryRun) => {
    const answer = await t.send('POST', PATH, body === '' ? {} : { body, headers: JSON_TYPE });
    expect([answer.status, answer.json]).toEqual([200, { topics: [] }]);
    expect(control.calls).toEqual([{ name: 'rebalance', given: [topic, dryRun] }]);
  });

  test('tells what was planned and what became of it, topic by topic, and nothing else', async () => {
    const topic = 'tz7unqpl8fj8enug' as TopicId;
    await finds(
      planOf({
        changes: [
          { kind: 'split', segment: A, at: 7, reason: { why: 'severe', load: 17.000_49, measure: 'bytes' }, children: [C, D] },
          { kind: 'split', segment: B, at: 9, reason: { why: 'minimum', load: 0, minSegments: 4 }, refused: 'segment-sealed' },
          { kind: 'merge', segments: [C, D], reason: { why: 'quiet', load: 1 / 3, loadMax: 0.6, average: 2 / 3 } },
        ],
        hotKeys: [{ segment: B, lo: 5, hi: 6, share: 0.987_65, load: 2.5 }],
        held: [{ segment: B, why: 'hot-key', load: 2.5 }],
      }),
      { ...planOf({ topic, name: 'payments', segments: 1 }), secret: 'of the engine' } as TopicPlan,
    );
    expect((await t.send('POST', PATH, { body: { dryRun: true } })).json).toEqual({
      topics: [
        {
          topic: 'orders',
          segments: 4,
          changes: [
            { kind: 'split', segment: A, at: 7, reason: { why: 'severe', load: 17, measure: 'bytes' }, children: [C, D] },
            { kind: 'split', segment: B, at: 9, reason: { why: 'minimum', load: 0, minSegments: 4 }, refused: 'segment-sealed' },
            { kind: 'merge', segments: [C, D], reason: { why: 'quiet', load: 0.333, loadMax: 0.6, average: 0.667 } },
          ],
          hotKeys: [{ segment: B, lo: 5, hi: 6, share: 0.988, load: 2.5 }],
          held: [{ segment: B, why: 'hot-key', load: 2.5 }],
        },
        { topic: 'payments', segments: 1, changes: [], hotKeys: [], held: [] },
      ],
    });
  });

  test.each<HeldBack['why']>(['hot-key', 'one-partition', 'cool-down', 'limit', 'in-vain', 'not-known', 'busy'])(
    'says that a segment is held back: %s',
    async (why) => {
      await finds(planOf({ held: [{ segment: A, why, load: 1.5 }] }));
      expect((await t.send('POST', PATH)).json.topics[0].held).toEqual([{ segment: A, why, load: 1.5 }]);
    },
  );

  test.each([
    ['[]', 'invalid-request', ''],
    ['null', 'invalid-request', ''],
    ['true', 'invalid-request', ''],
    [' ', 'invalid-request', ''],
    ['{"dryrun":true}', 'invalid-request', 'dryrun'],
    ['{"dryRun":true,"topics":["orders"]}', 'invalid-request', 'topics'],
    ['{"__proto__":{"dryRun":true}}', 'invalid-request', '__proto__'],
    ['{"constructor":1}', 'invalid-request', 'constructor'],
    ['{"dryRun":true,"dryRun":true}', 'invalid-json', 'dryRun'],
    ['{"topic":"orders","topic":"orders"}', 'invalid-json', 'topic'],
    ['{"dryRun":true', 'invalid-json', undefined],
    ['{"dryRun":true} x', 'invalid-json', undefined],
    ['{"dryRun":True}', 'invalid-json', undefined],
    ['{"topic":"\\ud800"}', 'invalid-json', undefined],
    ...['"true"', '1', '0', 'null', '[true]', '{}', '""'].map((dryRun) => [`{"dryRun":${dryRun}}`, 'invalid-dry-run', 'dryRun'] as const),
    ...['""', '"Orders"', '"-a"', '"a/b"', `"${'a'.repeat(129)}"`, '1', 'null', '["orders"]', '{}', '"orders\\u0000"'].map(
      (topic) => [`{"topic":${topic}}`, 'invalid-topic', 'topic'] as const,
    ),
  ] as readonly [string, string, string | undefined][])('refuses the body %j', async (body, code, field) => {
    const refused = await t.send('POST', PATH, { body, headers: JSON_TYPE });
    expect([refused.status, refused.json.code, refused.json.field]).toEqual([400, code, field]);
    expect(control.calls).toEqual([]);
  });

  test('takes nothing from the query: what was meant as a dry run would be none', async () => {
    for (const query of ['dryRun=true', 'topic=orders', 'x']) {
      expect((await t.send('POST', `${PATH}?${query}`)).json).toMatchObject({ status: 400, code: 'invalid-query' });
    }
    expect(control.calls).toEqual([]);
  });

  test('a body has a type, and is small', async () => {
    expect((await t.send('POST', PATH, { body: '{}', headers: { 'content-type': 'text/plain' } })).status).toBe(415);
    expect((await t.send('POST', PATH, { body: new TextEncoder().encode('{}') })).status).toBe(415);
    const most = `{}${' '.repeat(CONTROL_REQUEST_BYTES_MAX - 2)}`;
    expect((await t.send('POST', PATH, { body: most, headers: JSON_TYPE })).status).toBe(200);
    expect((await t.send('POST', PATH, { body: `${most} `, headers: JSON_TYPE })).json).toMatchObject({ status: 413, code: 'too-large' });
    expect(asked()).toHaveLength(1);
  });

  test('of a topic that is not there, or not there any more: 404', async () => {
    expect((await t.send('POST', PATH, { body: { topic: 'nowhere' } })).json).toMatchObject({ status: 404, code: 'topic-not-found' });
    await t.send('GET', '/v1/topics/orders/segments');
    const other = createTestApp({ table: t.table, store: t.store });
    expect((await other.send('DELETE', '/v1/topics/orders')).status).toBe(204);
    expect((await t.send('POST', PATH, { body: { topic: 'orders' } })).json).toMatchObject({ status: 404, code: 'topic-not-found' });
    expect(control.calls.filter(({ name }) => name === 'rebalance')).toEqual([]);
  });

  test.each([
    ['unavailable', 'no-leader', 503, 'unavailable'],
    ['unavailable', 'no-brokers', 503, 'unavailable'],
    ['not-found', 'topic-not-found', 404, 'topic-not-found'],
    ['indefinite', 'peer-indefinite', 504, 'indefinite'],
  ] as const)('%s/%s becomes %i %s', async (kind, code, status, expected) => {
    await open({ rebalance: () => Promise.reject(new KelpError(kind, code, 'as the control plane says')) });
    const refused = await t.send('POST', PATH);
    expect([refused.status, refused.json.code]).toEqual([status, expected]);
    expect(refused.headers.has('retry-after')).toBe(status === 503);
  });

  test('the time that the caller has is the control plane’s', async () => {
    await open({
      rebalance: (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    });
    const late = await t.send('POST', PATH, { headers: { 'kelp-timeout-ms': '20' } });
    expect([late.status, late.json.code]).toEqual([408, 'timeout']);
  });

  test('needs a token, and comes by POST alone', async () => {
    expect((await t.send('POST', PATH, { token: null })).status).toBe(401);
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const refused = await t.send(method, PATH);
      expect([method, refused.status, refused.headers.get('allow')]).toEqual([method, 405, 'POST, OPTIONS']);
    }
    expect(control.calls).toEqual([]);
  });

  test('of one that nobody can reach, where nobody leads: it does so for the call', async () => {
    const alone = createTestApp({ plane: {} });
    const answer = await alone.send('POST', PATH, { body: { dryRun: true } });
    expect([answer.status, answer.json]).toEqual([200, { topics: [] }]);
  });
});
