import { beforeEach, describe, expect, test } from 'vitest';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { KelpError } from '../../src/model/errors.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { type Log, openLog, one } from './log.ts';
import { createTestApp, type TestApp } from './test-app.ts';

let t: TestApp;
beforeEach(() => {
  t = createTestApp();
});

describe('J-18 failure-never-inside-200-and-partial-retry', () => {
  const throttled = new Set<string>();
  const keys = ['k0', 'k1', 'k2', 'k3', 'k6', 'k4'];
  const messages = keys.map((key) => ({ key, text: key }));

  function createThrottling(): TestApp {
    throttled.clear();
    const table = interceptTable(createMemoryTable(), (call, make) => {
      const segment = call.name === 'update head' && 'key' in call ? call.key.pk.split('#')[2] : undefined;
      if (segment === undefined || !throttled.has(segment)) return make();
      return Promise.reject(new KelpError('throttled', 'table-throttled', 'slow down'));
    });
    return createTestApp({ table });
  }

  test('a part that failed is a problem in its place, with when to come back', async () => {
    t = createThrottling();
    const log = await openLog(t, { segments: 2 });
    const [low, high] = (await t.send('GET', `/v1/topics/${log.topic}/segments`)).json.segments.map(
      ({ segment }: { segment: string }) => segment,
    );
    throttled.add(high);
    const partly = await log.publish({ messages }, { 'kelp-timeout-ms': '300' });
    expect(partly.status).toBe(207);
    expect(partly.headers.get('retry-after')).toMatch(/^[1-9]/);
    partly.json.results.forEach((result: Record<string, unknown>, index: number) => {
      if (index % 2 === 0) expect(result).toEqual({ segment: low, offset: index / 2 });
      else
        expect(result).toMatchObject({
          code: 'throttled',
          status: 429,
          retryable: true,
          indefinite: false,
          reason: 'segment',
          retryAfterMs: expect.any(Number),
        });
    });
    expect(await log.tail()).toBe(3);

    throttled.add(low);
    const none = await log.publish({ messages }, { 'kelp-timeout-ms': '300' });
    expect([none.status, none.json.code, none.json.retryable]).toEqual([429, 'throttled', true]);
    expect(await log.tail()).toBe(3);
  });

  test('the whole request again, under an Idempotency-Key: what was stored keeps its offsets, nothing comes twice', async () => {
    t = createThrottling();
    const log = await openLog(t, { segments: 2 });
    const segments = (await t.send('GET', `/v1/topics/${log.topic}/segments`)).json.segments;
    throttled.add(segments[1].segment);
    const headers = { 'idempotency-key': 'order-1', 'kelp-timeout-ms': '300' };
    const partly = await log.publish({ messages }, headers);
    expect([partly.status, partly.json]).toEqual([207, expect.anything()]);
    throttled.clear();
    const again = await log.publish({ messages }, headers);
    expect(again.status).toBe(200);
    const stored = partly.json.results.filter((result: { offset?: number }) => result.offset !== undefined);
    expect(again.json.results.filter((_: unknown, index: number) => index % 2 === 0)).toMatchObject(stored);
    expect(await log.tail()).toBe(6);
    const third = await log.publish({ messages }, headers);
    expect(third.json.results.map(({ segment, offset }: { segment: string; offset: number }) => [segment, offset])).toEqual(
      again.json.results.map(({ segment, offset }: { segment: string; offset: number }) => [segment, offset]),
    );
    const other = await log.publish({ messages: messages.slice(1) }, headers);
    expect([other.status, other.json.code]).toEqual([422, 'key-reused']);
    expect(await log.tail()).toBe(6);
  });

  test('a key’s messages stay in order through failures', async () => {
    t = createThrottling();
    const log = await openLog(t, { segments: 2 });
    const segments = (await t.send('GET', `/v1/topics/${log.topic}/segments`)).json.segments;
    throttled.add(segments[1].segment);
    const first = one({ key: 'k1', text: 'first' });
    for (let tries = 0; tries < 2; tries += 1) expect((await log.publish(first, { 'kelp-timeout-ms': '200' })).status).toBe(429);
    throttled.clear();
    expect((await log.publish(first)).status).toBe(200);
    expect((await log.publish(one({ key: 'k1', text: 'second' }))).status).toBe(200);
    const read = (await t.send('GET', `/v1/topics/${log.topic}/messages`)).json.messages;
    expect(read.map(({ text }: { text: string }) => text)).toEqual(['first', 'second']);
  });
});

test('a request whose parts fail in two ways is as unsure as its worst part', async () => {
  const results = [
    new KelpError('throttled', 'throttled', 'later', { retryAfterMs: 1_500 }),
    new KelpError('indefinite', 'indefinite', 'who knows'),
    new KelpError('unavailable', 'unavailable', 'down', { retryAfterMs: 4_200 }),
  ];
  let stored = 0;
  t = createTestApp({
    change: ({ publisher }) => ({
      publisher: {
        ...publisher,
        publish: async () => [
          ...results.slice(0, 3 - stored),
          ...Array.from({ length: stored }, () => ({ segment: 's0000000' as never, offset: 0, duplicate: false })),
        ],
      },
    }),
  });
  const log = await openLog(t);
  const envelope = { messages: [1, 2, 3].map(() => ({ key: 'a', text: '' })) };
  const all = await log.publish(envelope);
  expect([all.status, all.json.code, all.json.indefinite, all.json.retryable]).toEqual([504, 'indefinite', true, true]);
  stored = 1;
  const partly = await log.publish(envelope);
  expect([partly.status, partly.headers.get('retry-after')]).toEqual([207, '2']);
  expect(partly.json.results[1]).toMatchObject({ code: 'indefinite', indefinite: true });
});

describe('J-24 producer-sequences', () => {
  let log: Log;
  const send = (epoch: number | string, sequence: number | string, count = 1): ReturnType<Log['publish']> =>
    log.publish(
      { messages: Array.from({ length: count }, (_, index) => ({ key: 'a', text: `${sequence}+${index}` })) },
      {
        'kelp-segment': log.segment,
        'kelp-producer-id': 'p',
        'kelp-producer-epoch': String(epoch),
        'kelp-producer-sequence': String(sequence),
      },
    );
  const offsets = (answer: { json: { results: { offset: number }[] } }): number[] => answer.json.results.map(({ offset }) => offset);
  beforeEach(async () => {
    log = await openLog(t);
  });

  test('every answer leaves the client able to go on', async () => {
    expect(offsets(await send(0, 0, 3))).toEqual([0, 1, 2]);
    const again = await send(0, 0, 3);
    expect(offsets(again)).toEqual([0, 1, 2]);
    expect(again.json.results.every(({ duplicate }: { duplicate: boolean }) => duplicate)).toBe(true);
    expect(await log.tail()).toBe(3);
    expect(offsets(await send(0, 3))).toEqual([3]);
    const gap = await send(0, 5);
    expect([gap.status, gap.json.code, gap.json.expected, gap.json.retryable]).toEqual([409, 'sequence-gap', 4, true]);
    const overlap = await send(0, 2, 3);
    expect([overlap.status, overlap.json.code, overlap.json.retryable]).toEqual([409, 'sequence-overlap', false]);
    expect(await log.tail()).toBe(4);
    expect(offsets(await send(0, 4))).toEqual([4]);
    expect((await send(0, 6)).json.code).toBe('sequence-gap');
    expect(offsets(await send(0, 5))).toEqual([5]);
    expect(offsets(await send(0, 6))).toEqual([6]);
    expect(offsets(await send(1, 0))).toEqual([7]);
    const fenced = await send(0, 7);
    expect([fenced.status, fenced.json.code, fenced.json.epoch]).toEqual([409, 'producer-fenced', 1]);
    expect((await send(2, 4)).status).toBe(409);
    expect(await log.tail()).toBe(8);
  });

  test.each([
    [{ 'kelp-producer-sequence': undefined }, 'Kelp-Producer-Sequence'],
    [{ 'kelp-producer-epoch': undefined }, 'Kelp-Producer-Epoch'],
    [{ 'kelp-producer-id': undefined }, 'Kelp-Producer-Id'],
    [{ 'kelp-segment': undefined }, 'Kelp-Segment'],
    [{ 'kelp-producer-sequence': '-1' }, 'Kelp-Producer-Sequence'],
    [{ 'kelp-producer-sequence': '1.5' }, 'Kelp-Producer-Sequence'],
    [{ 'kelp-producer-sequence': '9007199254740993' }, 'Kelp-Producer-Sequence'],
    [{ 'kelp-producer-epoch': '1e3' }, 'Kelp-Producer-Epoch'],
    [{ 'kelp-producer-id': '' }, 'Kelp-Producer-Id'],
    [{ 'kelp-producer-id': 'a b' }, 'Kelp-Producer-Id'],
    [{ 'kelp-producer-id': 'x'.repeat(65) }, 'Kelp-Producer-Id'],
  ])('%j is refused', async (change, field) => {
    const headers = {
      'kelp-segment': log.segment,
      'kelp-producer-id': 'p',
      'kelp-producer-epoch': '0',
      'kelp-producer-sequence': '0',
      ...change,
    };
    const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<string, string>;
    await log.refuses(log.publish(one({ key: 'a', text: '' }), given), 400, { code: 'invalid-header', field });
  });

  test('record batches and raw messages count, too', async () => {
    const stamp = (sequence: number): Record<string, string> => ({
      'kelp-segment': log.segment,
      'kelp-producer-id': 'p',
      'kelp-producer-epoch': '0',
      'kelp-producer-sequence': String(sequence),
    });
    const batch = rawBatch({ records: [{ value: '0' }, { value: '1' }] });
    const type = { 'content-type': 'application/vnd.kelp.batch' };
    expect((await log.publish(batch, { ...type, ...stamp(0) })).json.results).toEqual([{ segment: log.segment, offset: 0, count: 2 }]);
    expect((await log.publish(batch, { ...type, ...stamp(0) })).json.results).toEqual([
      { segment: log.segment, offset: 0, count: 2, duplicate: true },
    ]);
    expect((await log.publishRaw('2', { query: '?key=a', headers: stamp(2) })).json).toEqual({ segment: log.segment, offset: 2 });
  });
});

describe('Kelp-Segment and Kelp-Match-Tail', () => {
  test('a tail that is another one stores nothing', async () => {
    const log = await openLog(t);
    expect((await log.publish(one({ key: 'a', text: '' }), { 'kelp-match-tail': '0' })).status).toBe(200);
    const refused = await log.publish(one({ key: 'a', text: '' }), { 'kelp-match-tail': '0' });
    expect([refused.status, refused.json.code, refused.json.tail]).toEqual([412, 'tail-mismatch', 1]);
    expect((await log.publishRaw('', { query: '?key=a', headers: { 'kelp-match-tail': '1', 'kelp-segment': log.segment } })).status).toBe(
      200,
    );
    expect(await log.tail()).toBe(2);
  });

  test('a topic of several segments needs the segment’s name, and its keys must lie there', async () => {
    const log = await openLog(t, { segments: 2 });
    await log.refuses(log.publish(one({ key: 'k0', text: '' }), { 'kelp-match-tail': '0' }), 400, { field: 'Kelp-Segment' });
    await log.refuses(log.publish(one({ key: 'k1', text: '' }), { 'kelp-segment': log.segment }), 400, { code: 'invalid-segment' });
    await log.refuses(log.publish(one({ key: 'k0', text: '' }), { 'kelp-segment': 'szzzzzzz' }), 404, { code: 'segment-not-found' });
    expect((await log.publish(one({ key: 'k0', text: '' }), { 'kelp-match-tail': '0', 'kelp-segment': log.segment })).status).toBe(200);
  });
});

test('Idempotency-Key: a raw message’s key, headers and type belong to the request, its trace does not', async () => {
  const log = await openLog(t);
  const headers = { 'idempotency-key': 'k', 'content-type': 'text/plain', 'kelp-header-a': '1' };
  const first = await log.publishRaw('x', { query: '?key=a', headers });
  const traced = await log.publishRaw('x', {
    query: '?key=a',
    headers: { ...headers, traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
  });
  expect(traced.json).toMatchObject(first.json);
  for (const other of [
    log.publishRaw('y', { query: '?key=a', headers }),
    log.publishRaw('x', { query: '?key=b', headers }),
    log.publishRaw('x', { query: '?key=a', headers: { ...headers, 'kelp-header-a': '2' } }),
    log.publishRaw('x', { query: '?key=a', headers: { ...headers, 'content-type': 'text/html' } }),
  ]) {
    expect((await other).json.code).toBe('key-reused');
  }
  expect(await log.tail()).toBe(1);
});
