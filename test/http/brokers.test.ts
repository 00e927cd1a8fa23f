import { beforeEach, describe, expect, test } from 'vitest';
import type { Control } from '../../src/control/control.ts';
import { IDLE } from '../../src/model/broker.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { BrokerId, SegmentId } from '../../src/model/ids.ts';
import { CONTROL_REQUEST_BYTES_MAX, DRAIN_PER_SECOND_DEFAULT, DRAIN_PER_SECOND_MAX, REPLICAS_MAX } from '../../src/model/limits.ts';
import { brokerStatus, createFakeControl } from './fake-control.ts';
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

const SEGMENT = 's0000000';
const ASSIGNMENT = `/v1/topics/orders/segments/${SEGMENT}/brokers`;
const DRAIN = '/v1/brokers/a/drain';
const A = { id: 'a', url: 'http://a:7333' };
const B = { id: 'b', url: 'http://b:7333' };
const JSON_TYPE = { 'content-type': 'application/json' };

const fails = (kind: KelpError['kind'], code: string) => () => Promise.reject(new KelpError(kind, code, 'as the control plane says'));

describe('GET /v1/brokers', () => {
  test('has what is promised of each broker, and nothing else', async () => {
    const load = { ...IDLE, requests: 1, bytesPerSecond: 2, messagesPerSecond: 3, commitMs: 4, eventLoopDelayMs: 5, busyPercent: 6 };
    await open({ brokers: () => Promise.resolve([brokerStatus('a', { load, segments: 9 }), brokerStatus('b', { drainPerSecond: 1 })]) });
    const { status, json } = await t.send('GET', '/v1/brokers');
    const rest = { kind: 'process', zone: '', startedMs: 1, heartbeatMs: 2 };
    expect([status, json]).toEqual([
      200,
      {
        brokers: [
          { ...A, ...rest, draining: false, segments: 9, load },
          { ...B, ...rest, draining: true, segments: 0, load: IDLE },
        ],
      },
    ]);
  });

  test('is empty where nobody is registered', async () => {
    await open({ brokers: () => Promise.resolve([]) });
    expect((await t.send('GET', '/v1/brokers')).json).toEqual({ brokers: [] });
  });
});

describe('GET /v1/leader', () => {
  test('says who leads, and since which epoch', async () => {
    const { status, json } = await t.send('GET', '/v1/leader');
    expect([status, json]).toEqual([200, { leader: A, epoch: 3 }]);
  });

  test('nobody leads: 503, and when to ask again', async () => {
    await open({ leader: () => Promise.resolve(undefined) });
    const none = await t.send('GET', '/v1/leader');
    expect([none.status, none.json.code, none.json.retryable, none.headers.get('retry-after')]).toEqual([503, 'unavailable', true, '1']);
  });
});

test.each(['/v1/brokers', '/v1/leader'])('%s takes no parameter, gives JSON alone, and answers HEAD', async (path) => {
  expect((await t.send('GET', `${path}?limit=1`)).json).toMatchObject({ status: 400, code: 'invalid-query', field: 'limit' });
  expect((await t.send('GET', path, { headers: { accept: 'application/x-ndjson' } })).json.code).toBe('not-acceptable');
  const head = await t.send('HEAD', path);
  expect([head.status, head.text, head.headers.get('cache-control')]).toEqual([200, '', 'no-store']);
});

describe('POST …/brokers', () => {
  test('of an open segment: its brokers, whatever type an empty body has', async () => {
    for (const headers of [{}, { 'content-type': 'text/plain' }, { 'content-type': 'application/json' }, { accept: 'image/png' }]) {
      const { status, json } = await t.send('POST', ASSIGNMENT, { headers });
      expect([status, json]).toEqual([200, { segment: SEGMENT, brokers: [A, B] }]);
    }
    expect(control.calls.at(-1)).toEqual({ name: 'assignment', given: ['orders', SEGMENT, {}] });
  });

  test.each(['{}', ' { } ', '{"suspect":"b-2"}', '{"suspect" : "b\\u002d2"}'])('takes %s', async (body) => {
    expect((await t.send('POST', ASSIGNMENT, { body, headers: JSON_TYPE })).status).toBe(200);
    expect(control.calls.at(-1)?.given[2]).toEqual(body.includes('suspect') ? { suspect: 'b-2' } : {});
  });

  test('of a sealed segment: the successors, with the brokers of each', async () => {
    const child = (segment: string, lo: number, hi: number, addresses: readonly (typeof A)[]) => ({
      segment: segment as SegmentId,
      lo,
      hi,
      addresses: addresses.map(({ id }) => brokerStatus(id)),
      brokers: ['a', 'zz'] as readonly string[] as readonly BrokerId[],
    });
    await open({
      assignment: (_, segment) =>
        Promise.resolve({ segment, brokers: [], successors: [child('s0000001', 0, 9, [B]), child('s0000002', 10, 65_535, [])] }),
    });
    expect((await t.send('POST', ASSIGNMENT, { body: { suspect: 'a' } })).json).toEqual({
      segment: SEGMENT,
      brokers: [],
      successors: [
        { segment: 's0000001', lo: 0, hi: 9, brokers: [B] },
        { segment: 's0000002', lo: 10, hi: 65_535, brokers: [] },
      ],
    });
  });

  test.each([
    ['[]', 'invalid-request', ''],
    ['null', 'invalid-request', ''],
    ['"b"', 'invalid-request', ''],
    ['{"broker":"b"}', 'invalid-request', 'broker'],
    ['{"suspect":"b","why":1}', 'invalid-request', 'why'],
    ['{"__proto__":{"suspect":"b"}}', 'invalid-request', '__proto__'],
    ['{"suspect":"b","suspect":"b"}', 'invalid-json', 'suspect'],
    ['{"suspect":"b"} x', 'invalid-json', undefined],
    ['{"suspect":"b",}', 'invalid-json', undefined],
    ['{"suspect":"\\ud800"}', 'invalid-json', undefined],
    [' ', 'invalid-request', ''],
    ['\ufeff{}', 'invalid-request', ''],
    ...['""', '"B"', '"-b"', '"b_"', '"b.c"', `"${'b'.repeat(33)}"`, '"http://b"', '1', 'null', 'true', '["b"]', '{}', '"b\\u0000"'].map(
      (suspect) => [`{"suspect":${suspect}}`, 'invalid-broker', 'suspect'] as const,
    ),
  ] as readonly [string, string, string | undefined][])('refuses the body %j', async (body, code, field) => {
    const refused = await t.send('POST', ASSIGNMENT, { body, headers: JSON_TYPE });
    expect([refused.status, refused.json.code, refused.json.field]).toEqual([400, code, field]);
    expect(control.calls).toEqual([]);
  });

  test.each([
    ['a segment that is none', '/v1/topics/orders/segments/S0000000/brokers', 400, 'invalid-segment'],
    ['a topic that is none', `/v1/topics/-/segments/${SEGMENT}/brokers`, 400, 'invalid-topic'],
    ['a topic that is not there', `/v1/topics/zz/segments/${SEGMENT}/brokers`, 404, 'topic-not-found'],
  ])('%s', async (_, path, status, code) => {
    const refused = await t.send('POST', path);
    expect([refused.status, refused.json.code, control.calls]).toEqual([status, code, []]);
  });

  test.each([
    ['not-found', 'segment-not-found', 404, 'segment-not-found'],
    ['not-found', 'topic-replaced', 410, 'topic-replaced'],
    ['not-found', 'topic-not-found', 404, 'topic-not-found'],
    ['unavailable', 'no-brokers', 503, 'unavailable'],
    ['unavailable', 'no-lease', 503, 'unavailable'],
    ['unavailable', 'not-leader', 503, 'unavailable'],
    ['indefinite', 'peer-indefinite', 504, 'indefinite'],
  ] as const)('%s/%s becomes %i %s', async (kind, code, status, expected) => {
    await open({ assignment: fails(kind, code) });
    const refused = await t.send('POST', ASSIGNMENT);
    expect([refused.status, refused.json.code]).toEqual([status, expected]);
    expect(refused.headers.has('retry-after')).toBe(status === 503);
  });

  test('the time that the caller has is the control plane’s', async () => {
    await open({
      assignment: (_topic, _segment, _options, signal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    });
    const late = await t.send('POST', ASSIGNMENT, { headers: { 'kelp-timeout-ms': '20' } });
    expect([late.status, late.json.code]).toEqual([408, 'timeout']);
  });
});

describe('POST /v1/brokers/{broker}/drain', () => {
  test.each([
    ['', DRAIN_PER_SECOND_DEFAULT],
    ['{}', DRAIN_PER_SECOND_DEFAULT],
    ['{"perSecond":1}', 1],
    [`{"perSecond":${DRAIN_PER_SECOND_MAX}}`, DRAIN_PER_SECOND_MAX],
  ])('%j: so many a second', async (body, perSecond) => {
    const accepted = await t.send('POST', DRAIN, body === '' ? {} : { body, headers: JSON_TYPE });
    expect([accepted.status, accepted.json]).toEqual([202, { broker: 'a', segments: 3 }]);
    expect(control.calls).toEqual([{ name: 'drain', given: ['a', { perSecond }] }]);
  });

  test.each([
    ['[]', 'invalid-request', ''],
    ['{"PerSecond":1}', 'invalid-request', 'PerSecond'],
    ['{"perSecond":1,"perSecond":1}', 'invalid-json', 'perSecond'],
    ['{"perSecond":1', 'invalid-json', undefined],
    ...['0', '01', '-1', '1.0', '1e0', `${DRAIN_PER_SECOND_MAX + 1}`, '"1"', 'null', '[1]', '{}', 'true'].map(
      (perSecond) => [`{"perSecond":${perSecond}}`, 'invalid-per-second', 'perSecond'] as const,
    ),
  ] as readonly [string, string, string | undefined][])('refuses the body %s', async (body, code, field) => {
    const refused = await t.send('POST', DRAIN, { body, headers: JSON_TYPE });
    expect([refused.status, refused.json.code, refused.json.field, control.calls]).toEqual([400, code, field, []]);
  });

  test.each(['A', '-a', 'a_b', 'a.b', 'a%2Fb', 'a%00', '%C3%A4', 'a%zz', 'a'.repeat(33)])('%s is no broker', async (id) => {
    const refused = await t.send('POST', `/v1/brokers/${id}/drain`);
    expect([refused.status, refused.json.code, refused.json.field, control.calls]).toEqual([400, 'invalid-broker', 'broker', []]);
  });

  test.each([
    ['not-found', 'broker-not-found', 404],
    ['conflict', 'last-broker', 409],
    ['unavailable', 'no-lease', 503],
  ] as const)('%s/%s: %i', async (kind, code, status) => {
    await open({ drain: fails(kind, code) });
    const refused = await t.send('POST', DRAIN);
    expect([refused.status, refused.json.code]).toEqual([status, status === 503 ? 'unavailable' : code]);
    expect(refused.json.retryable).toBe(status === 503);
  });
});

describe.each([ASSIGNMENT, DRAIN])('a body of POST %s', (path) => {
  test('has a type, if it is there', async () => {
    for (const headers of [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/json; charset=latin1' },
      { 'content-type': 'x' },
    ]) {
      expect((await t.send('POST', path, { body: '{}', headers })).json).toMatchObject({ status: 415, field: 'Content-Type' });
    }
    expect((await t.send('POST', path, { body: new TextEncoder().encode('{}') })).status).toBe(415);
    expect((await t.send('POST', path, { body: '{}', headers: { ...JSON_TYPE, 'content-encoding': 'br' } })).status).toBe(415);
    expect(control.calls).toEqual([]);
  });

  test('is small', async () => {
    const most = `{}${' '.repeat(CONTROL_REQUEST_BYTES_MAX - 2)}`;
    expect((await t.send('POST', path, { body: most, headers: JSON_TYPE })).status).toBeLessThan(300);
    expect((await t.send('POST', path, { body: `${most} `, headers: JSON_TYPE })).json).toMatchObject({ status: 413, code: 'too-large' });
    expect(control.calls).toHaveLength(1);
  });

  test('is not looked at without a token, and the query is no place for it', async () => {
    const refused = await t.send('POST', path, { token: null, body: 'x'.repeat(CONTROL_REQUEST_BYTES_MAX + 1) });
    expect([refused.status, control.calls]).toEqual([401, []]);
    expect((await t.send('POST', `${path}?suspect=b&perSecond=9`)).status).toBeLessThan(300);
    expect(JSON.stringify(control.calls)).not.toMatch(/"b"|9/);
  });

  test('comes by POST alone', async () => {
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
      const refused = await t.send(method, path);
      expect([method, refused.status, refused.headers.get('allow')]).toEqual([method, 405, 'POST, OPTIONS']);
    }
    expect((await t.send('OPTIONS', path)).headers.get('allow')).toBe('POST, OPTIONS');
  });
});

test('GET /v1 says how many replicas, and how fast a drain may go', async () => {
  expect((await t.send('GET', '/v1')).json.limits).toMatchObject({ replicas: REPLICAS_MAX, drainPerSecond: DRAIN_PER_SECOND_MAX });
});
