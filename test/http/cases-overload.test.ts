import { beforeEach, describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { KelpError } from '../../src/model/errors.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';
import { openLog, one } from './log.ts';
import { createTestApp, requestOf, type TestApp } from './test-app.ts';

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

const forEver = new AbortController().signal;
const JSON_TYPE = { 'content-type': 'application/json' };

describe('deadlines', () => {
  test('A15 a body that does not come is 408, and nothing is stored', async () => {
    const clock = createVirtualClock();
    t = createTestApp({ clock });
    const log = await openLog(t);
    let cancelledWith: unknown;
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"messages":[')),
      cancel: (reason) => void (cancelledWith = reason),
    });
    const request = requestOf('POST', `/v1/topics/${log.topic}/messages`, { headers: JSON_TYPE, body });
    const answer = Promise.resolve(t.app.fetch(request));
    await clock.advance(30_000);
    const response = await answer;
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([408, 'timeout']);
    expect(cancelledWith).toMatchObject({ code: 'timeout' });
    expect(await log.tail()).toBe(0);
    expect(clock.sleeping()).toBe(0);
  });

  test('a store that does not answer: 504 if a write was sent, and the outcome says so', async () => {
    const clock = createVirtualClock();
    let hang = false;
    const lost = (signal: AbortSignal): KelpError => new KelpError('indefinite', 'table-indefinite', 'no answer', { cause: signal.reason });
    const never = (signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(lost(signal))));
    const table = interceptTable(createMemoryTable(), (call, make, signal) =>
      hang && call.name === 'update head' ? never(signal) : make(),
    );
    t = createTestApp({ clock, table });
    const log = await openLog(t);
    await log.publish(one({ key: 'a', text: 'before' }));
    hang = true;
    const answer = log.publish(one({ key: 'a', text: 'lost?' }), { 'kelp-timeout-ms': '2000' });
    await clock.advance(2_100);
    const { status, json } = await answer;
    expect([status, json.code, json.indefinite, json.retryable]).toEqual([504, 'indefinite', true, true]);
  });

  test('a caller who has gone before the body was whole leaves nothing', async () => {
    const log = await openLog(t);
    const caller = new AbortController();
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{"messages":[')) });
    const request = requestOf('POST', `/v1/topics/${log.topic}/messages`, { headers: JSON_TYPE, body, signal: caller.signal });
    const answer = Promise.resolve(t.app.fetch(request));
    caller.abort();
    expect((await answer).status).toBe(499);
    expect(await log.tail()).toBe(0);
  });
});

describe('a full or failing broker', () => {
  test('refuses before it reads the body, and says when to come back', async () => {
    t = createTestApp({ change: ({ publisher }) => ({ publisher: { ...publisher, isFull: () => true } }) });
    const log = await openLog(t);
    let pulled = false;
    const body = new ReadableStream({ pull: () => void (pulled = true) }, { highWaterMark: 0 });
    const request = requestOf('POST', `/v1/topics/${log.topic}/messages`, { headers: JSON_TYPE, body });
    const response = await t.app.fetch(request);
    expect([response.status, response.headers.get('retry-after'), pulled]).toEqual([503, '1', false]);
  });

  test('holds bodies up to a bound and no more', async () => {
    const clock = createVirtualClock();
    t = createTestApp({ clock });
    const log = await openLog(t);
    const piece = new Uint8Array(16_000_000).fill(0x20);
    const holding = (): Promise<Response> => {
      const body = new ReadableStream({ start: (controller) => controller.enqueue(piece) });
      const request = requestOf('POST', `/v1/topics/${log.topic}/messages`, { headers: JSON_TYPE, body });
      return Promise.resolve(t.app.fetch(request));
    };
    const answers = Array.from({ length: 8 }, holding);
    const early = await Promise.race(answers.map(async (answer) => (await answer).status));
    expect(early).toBe(503);
    await clock.advance(30_000);
    const statuses = (await Promise.all(answers)).map(({ status }) => status).toSorted();
    expect(statuses).toEqual([408, 408, 408, 408, 408, 408, 503, 503]);
    // All of it was given back.
    expect((await Promise.all(Array.from({ length: 6 }, () => log.publish(piece)))).map(({ status }) => status)).toEqual(
      Array(6).fill(400),
    );
  });

  test('a stopped broker says 503 and stores nothing', async () => {
    const log = await openLog(t);
    await t.broker.publisher.stop(forEver);
    await log.refuses(log.publish(one({ key: 'a', text: '' })), 503, { code: 'unavailable', retryable: true });
    await log.refuses(log.publishRaw('', { query: '?key=a' }), 503);
  });

  test.each([new KelpError('throttled', 'store-throttled', 'SlowDown'), new KelpError('unavailable', 'store-unavailable', 'down')])(
    'a store that fails: %s',
    async (error) => {
      const store = interceptStore(createMemoryStore(), (call, make) => (call.op === 'put' ? Promise.reject(error) : make()));
      t = createTestApp({ store });
      const log = await openLog(t);
      const refused = await log.publish(one({ key: 'a', text: '' }), { 'kelp-timeout-ms': '300' });
      expect([429, 503]).toContain(refused.status);
      expect([refused.json.retryable, refused.json.indefinite, await log.tail()]).toEqual([true, false, 0]);
    },
  );

  test('what nobody expected stays inside', async () => {
    t = createTestApp({ change: ({ topics }) => ({ topics: { ...topics, resolve: () => Promise.reject(new Error('secret payload')) } }) });
    const failed = await t.send('GET', '/v1/topics/a');
    expect([failed.status, failed.json.code, failed.text.includes('secret')]).toEqual([500, 'internal', false]);
    expect(t.telemetry.logs).toMatchObject([{ level: 'error', message: 'request failed', fields: { route: 'GET /v1/topics/:topic' } }]);
  });
});

test('readyz tells what a probe of both stores says, and asks once for all who ask', async () => {
  let probes = 0;
  let fails = false;
  const clock = createVirtualClock();
  t = createTestApp({
    clock,
    change: () => ({
      probe: () => {
        probes += 1;
        return fails ? Promise.reject(new KelpError('unavailable', 'not-ready', 'the table: table-unavailable')) : Promise.resolve();
      },
    }),
  });
  const ask = async (): Promise<number> => (await t.send('GET', '/readyz', { token: null })).status;
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([200, 200, 200]);
  expect(probes).toBe(1);
  fails = true;
  expect(await ask()).toBe(200);
  await clock.advance(1_100);
  expect([await ask(), probes]).toEqual([503, 2]);
  const real = createTestApp();
  expect((await real.send('GET', '/readyz', { token: null })).json).toEqual({ status: 'ok' });
});
