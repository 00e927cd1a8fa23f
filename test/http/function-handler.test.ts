import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createFunctionHandler, createInvocations, type FunctionHandler, functionRuntime } from '../../src/http/function-handler.ts';
import { FUNCTION_READ_BYTES_MAX, FUNCTION_REQUEST_BYTES_MAX, FUNCTION_WAIT_MS_MAX } from '../../src/model/function-limits.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { KelpError } from '../../src/model/errors.ts';
import { REFERENCES } from '../clients/follow-references.ts';
import { interceptStore } from '../simulation/intercept.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { bytesOf, contextOf, eventOf, sendEvent } from './function-events.ts';
import { openLog, type Log } from './log.ts';
import { createTestApp, type TestApp, type TestAppOptions, TOKEN } from './test-app.ts';

let t: TestApp;
let handler: FunctionHandler;
let log: Log;
const clock = createSystemClock();

/** The API as a function; `send` goes through events. */
async function start(options: TestAppOptions = {}, inTime: Clock = clock): Promise<void> {
  const app = createTestApp({
    ...options,
    change: (deps) => ({
      runtime: functionRuntime,
      limits: { requestBytesMax: FUNCTION_REQUEST_BYTES_MAX, readBytesMax: FUNCTION_READ_BYTES_MAX, waitMsMax: FUNCTION_WAIT_MS_MAX },
      ...options.change?.(deps),
    }),
  });
  handler = createFunctionHandler(app.app, createInvocations({ clock: inTime, settled: app.background.settled }));
  t = { ...app, send: (method, path, sending) => sendEvent(handler, method, path, sending) };
  log = await openLog(t);
}
beforeEach(() => start());

const auth = { authorization: `Bearer ${TOKEN}` };
const path = (): string => `/v1/topics/${log.topic}/message?key=a`;

describe('J-46 base64-event-bodies', () => {
  test('bytes arrive as they were', async () => {
    const event = eventOf('POST', path(), {
      headers: { ...auth, 'content-type': 'application/octet-stream' },
      isBase64Encoded: true,
      body: '/wDDKA==',
    });
    expect((await handler(event, contextOf())).statusCode).toBe(200);
    expect((await log.messages())[0].bytes).toBe('/wDDKA==');
  });

  test('JSON is the same as text and as base64', async () => {
    const json = '{"messages":[{"key":"gr\u00f6\u00dfe","value":{"n":9007199254740993,"t":"\ud83d\ude95"}}]}';
    for (const isBase64Encoded of [false, true]) {
      const body = isBase64Encoded ? Buffer.from(json).toString('base64') : json;
      const event = eventOf('POST', `/v1/topics/${log.topic}/messages`, {
        headers: { ...auth, 'content-type': 'application/json' },
        isBase64Encoded,
        body,
      });
      expect((await handler(event, contextOf())).statusCode).toBe(200);
    }
    const [text, base64] = await log.messages();
    expect({ ...base64, offset: 0, timestamp: 0 }).toEqual({ ...text, offset: 0, timestamp: 0 });
    expect((await log.read()).text.split('"value":{"n":9007199254740993,"t":"🚕"}')).toHaveLength(3);
  });

  test('record batches and gzip', async () => {
    expect((await log.publish(rawBatch({ records: [{ value: 'v' }] }), { 'content-type': 'application/vnd.kelp.batch' })).status).toBe(200);
    const event = eventOf('POST', `/v1/topics/${log.topic}/messages`, {
      headers: { ...auth, 'content-type': 'application/json', 'content-encoding': 'gzip' },
      isBase64Encoded: true,
      body: gzipSync('{"messages":[{"key":"a","text":"packed"}]}').toString('base64'),
    });
    expect((await handler(event, contextOf())).statusCode).toBe(200);
    expect(await log.messages()).toMatchObject([{ bytes: 'dg==' }, { text: 'packed' }]);
  });

  test('no body, and one that is not base64 though it says so: 400', async () => {
    for (const target of [path(), `/v1/topics/${log.topic}/messages`]) {
      const headers = { ...auth, 'content-type': 'application/json' };
      for (const event of [
        eventOf('POST', target, { headers }),
        eventOf('POST', target, { headers: { ...headers, 'content-length': '4' } }),
        ...['!!!!', 'abc', 'a===', 'YQ', 'YQ==\n', 'Y===', 'YQ==YQ==', '\u00e4'].map((body) =>
          eventOf('POST', target, { headers, body, isBase64Encoded: true }),
        ),
      ]) {
        const result = await handler(event, contextOf());
        expect([event.body, result.statusCode, JSON.parse(result.body ?? '')]).toMatchObject([
          event.body,
          400,
          { code: 'invalid-body', field: 'body', detail: expect.stringContaining(event.isBase64Encoded ? 'base64' : 'no body') },
        ]);
      }
    }
    expect(await log.tail()).toBe(0);
    const refused = await handler(eventOf('POST', path(), { body: '!!!!', isBase64Encoded: true }), contextOf());
    expect(refused.statusCode).toBe(401);
  });

  test('an empty body that was sent is an empty message', async () => {
    expect((await handler(eventOf('POST', path(), { headers: { ...auth, 'content-length': '0' } }), contextOf())).statusCode).toBe(200);
    expect((await log.messages())[0].bytes).toBe('');
  });

  test('requests about brokers need none, and lose none', async () => {
    const target = `/v1/topics/${log.topic}/segments/${log.segment}/brokers`;
    const status = async (headers: Record<string, string>, more: object = {}): Promise<number | undefined> =>
      (await handler(eventOf('POST', target, { headers: { ...auth, ...headers }, ...more }), contextOf())).statusCode;
    expect(await status({})).toBe(200);
    expect(await status({ 'content-length': '0' })).toBe(200);
    expect(await status({ 'content-length': '15' })).toBe(400);
    expect(await status({ 'content-type': 'application/json' }, { isBase64Encoded: true, body: '{"suspect":"b"}' })).toBe(400);
    expect(await status({ 'content-type': 'application/json' }, { body: '{"suspect":"b"}' })).toBe(200);
    expect(await status({ 'content-type': 'application/json' }, { body: '{"suspect":"-"}' })).toBe(400);
  });

  test('binary answers are flagged, and text ones are text', async () => {
    const batch = rawBatch({ records: [{ key: Uint8Array.of(0xff), value: Uint8Array.of(0xff, 0, 0xc3, 0x28) }] });
    await log.publish(batch, { 'content-type': 'application/vnd.kelp.batch' });
    const segmentPath = `/v1/topics/${log.topic}/segments/${log.segment}/messages`;
    const read = (accept: string): ReturnType<FunctionHandler> =>
      handler(eventOf('GET', segmentPath, { headers: { ...auth, accept } }), contextOf());
    const raw = await read('application/vnd.kelp.batch');
    expect([raw.isBase64Encoded, raw.headers?.['content-type']]).toEqual([true, 'application/vnd.kelp.batch']);
    expect(Buffer.compare(bytesOf(raw), batch)).toBe(0);
    for (const accept of ['application/json', 'application/x-ndjson', 'text/event-stream']) {
      const result = await read(accept);
      expect([accept, result.isBase64Encoded, result.body?.includes('"bytes":"/wDDKA=="')]).toEqual([accept, false, true]);
    }
    const references = await read(REFERENCES.accept);
    expect([references.isBase64Encoded, (JSON.parse(references.body ?? '') as { tail: number }).tail]).toEqual([false, 1]);
    const missing = await handler(eventOf('GET', '/nowhere', { headers: auth }), contextOf());
    expect([missing.isBase64Encoded, missing.headers?.['content-type']]).toEqual([false, 'application/problem+json']);
  });

  test('headers of equal names come joined, and what is not ASCII is refused instead of changed', async () => {
    const headers = { ...auth, 'content-length': '1', 'kelp-header-a': '1,2' };
    await handler(eventOf('POST', path(), { headers, body: 'x' }), contextOf());
    expect((await log.messages())[0].headers).toEqual([['a', '1,2']]);
    const refused = await handler(
      eventOf('POST', path(), { headers: { ...headers, 'kelp-header-a': 'gr\u00f6\u00dfe' }, body: 'x' }),
      contextOf(),
    );
    expect([refused.statusCode, JSON.parse(refused.body ?? '').code]).toEqual([400, 'invalid-header']);
  });

  test('over this endpoint’s limit: 413, and GET /v1 says what it is', async () => {
    const refused = await log.publish(new Uint8Array(FUNCTION_REQUEST_BYTES_MAX + 1).fill(0x20));
    expect([refused.status, refused.json.detail]).toEqual([413, expect.stringContaining(String(FUNCTION_REQUEST_BYTES_MAX))]);
    expect((await t.send('GET', '/v1')).json.limits).toMatchObject({
      requestBytes: FUNCTION_REQUEST_BYTES_MAX,
      readBytes: FUNCTION_READ_BYTES_MAX,
      waitMs: FUNCTION_WAIT_MS_MAX,
    });
  });

  test('an answer over the platform’s limit is a problem of ours', async () => {
    for (let n = 0; n < 3; n += 1)
      await log.publishRaw(new Uint8Array(1_048_576).fill(0x22), { query: '?key=a', headers: { 'content-type': 'text/plain' } });
    const page = await log.read();
    expect([page.status, page.json.messages.length]).toEqual([200, 1]);
    // A batch comes whole, and can be larger than a page.
    await start({
      table: t.table,
      store: t.store,
      change: () => ({ limits: { requestBytesMax: 16_777_216, readBytesMax: 16_777_216, waitMsMax: 0 } }),
    });
    const bytes = randomBytes(1_000_000).toString('base64');
    expect((await log.publish({ messages: Array.from({ length: 5 }, () => ({ key: 'a', bytes })) })).status).toBe(200);
    const refused = await log.read('', { accept: 'application/vnd.kelp.batch' });
    expect([refused.status, refused.json.code, refused.json.field]).toEqual([413, 'too-large', 'maxBytes']);
  });
});

test('A12: paths are judged as they were written', async () => {
  for (const rawPath of ['/v1/topics/%2e%2e/messages', '/v1//topics', '/v1/topics/..']) {
    const result = await handler(eventOf('GET', rawPath, { headers: auth }), contextOf());
    expect([rawPath, result.statusCode]).toEqual([rawPath, 400]);
  }
});

test('a reader waits for 5 s, whatever it asks for', async () => {
  const virtual = createVirtualClock();
  await start({ clock: virtual }, virtual);
  const beganMs = virtual.monotonicMs();
  const segmentPath = `/v1/topics/${log.topic}/segments/${log.segment}/messages`;
  const result = await virtual.run(handler(eventOf('GET', `${segmentPath}?waitMs=20000`, { headers: auth }), contextOf()));
  expect([result.statusCode, JSON.parse(result.body ?? '').messages]).toEqual([200, []]);
  expect(virtual.monotonicMs() - beganMs).toBeGreaterThanOrEqual(FUNCTION_WAIT_MS_MAX);
  expect(virtual.monotonicMs() - beganMs).toBeLessThan(FUNCTION_WAIT_MS_MAX + 1_000);
  expect(virtual.sleeping()).toBe(0);
});

test('events of a stream come together, and waiting ends with the first of them', async () => {
  const segmentPath = `/v1/topics/${log.topic}/segments/${log.segment}/messages`;
  const opening = handler(eventOf('GET', segmentPath, { headers: { ...auth, accept: 'text/event-stream' } }), contextOf());
  await log.publishRaw('x', { query: '?key=a' });
  const result = await opening;
  expect([result.statusCode, result.headers?.['content-type']]).toEqual([200, 'text/event-stream']);
  expect(result.body).toMatch(new RegExp(`^:\n\nid: ${log.segment}:1\ndata: .*\n\n$`));
});

describe('J-48 frozen-and-thawed-function', () => {
  test('an answer comes before the platform’s end, and says what is not known', async () => {
    const hanging = interceptStore(createMemoryStore(), (call, make, signal) =>
      call.op === 'put'
        ? new Promise((_, reject) =>
            signal.addEventListener('abort', () =>
              reject(new KelpError('indefinite', 'store-indefinite', 'cut', { cause: signal.reason })),
            ),
          )
        : make(),
    );
    const virtual = createVirtualClock();
    await start({ store: hanging, clock: virtual }, virtual);
    const beganMs = virtual.monotonicMs();
    const context = contextOf(400, virtual.monotonicMs);
    const result = await virtual.run(handler(eventOf('POST', path(), { headers: auth, body: 'x' }), context));
    expect(virtual.monotonicMs() - beganMs).toBeLessThan(400);
    expect(virtual.sleeping()).toBe(0);
    const problem = JSON.parse(result.body ?? '');
    expect([408, 503, 504]).toContain(result.statusCode);
    expect(problem.retryable).toBe(true);
  });

  test('without time left nothing is begun', async () => {
    const result = await handler(eventOf('POST', path(), { headers: auth, body: 'x' }), contextOf(100));
    expect([result.statusCode, JSON.parse(result.body ?? '').code]).toEqual([408, 'timeout']);
    expect(await log.tail()).toBe(0);
  });

  test('nothing is under way when the handler returns', async () => {
    let underWay = 0;
    const table = createMemoryTable();
    const counting = Object.fromEntries(
      Object.entries(table).map(([name, call]) => [
        name,
        async (...args: unknown[]) => {
          underWay += 1;
          await new Promise((resolve) => setImmediate(resolve));
          return (call as (...all: unknown[]) => Promise<unknown>)(...args).finally(() => (underWay -= 1));
        },
      ]),
    ) as unknown as typeof table;
    await start({ table: counting });
    // More than a head takes: a spill goes on behind the answer.
    for (let n = 0; n < 40; n += 1) {
      await handler(eventOf('POST', path(), { headers: auth, body: String(n) }), contextOf());
      expect(underWay).toBe(0);
    }
    await handler(eventOf('DELETE', `/v1/topics/${log.topic}`, { headers: auth }), contextOf());
    expect(underWay).toBe(0);
  });

  test('a page of a topic that was made again meanwhile: what this instance remembers does no harm', async () => {
    const other = createTestApp({ table: t.table, store: t.store });
    await log.publishRaw('old', { query: '?key=a' });
    await other.send('DELETE', `/v1/topics/${log.topic}`);
    await other.send('PUT', `/v1/topics/${log.topic}`, { body: { partitionKey: 'key' } });
    expect((await log.publishRaw('new', { query: '?key=a' })).status).toBe(200);
    expect((await t.send('GET', `/v1/topics/${log.topic}/messages`)).json.messages).toMatchObject([
      { bytes: Buffer.from('new').toString('base64') },
    ]);
  });
});
