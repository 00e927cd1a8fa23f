import { randomBytes } from 'node:crypto';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { beforeEach, expect, test } from 'vitest';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createApp } from '../../src/http/app.ts';
import { createFunctionHandler, createInvocations, type FunctionHandler, functionRuntime } from '../../src/http/function-handler.ts';
import { readingHandlers } from '../../src/http/reading-handlers.ts';
import { createStreamingHandler, type StreamingHandler } from '../../src/http/streaming-handler.ts';
import { FUNCTION_ANSWER_BYTES_MAX, FUNCTION_READ_BYTES_MAX, FUNCTION_WAIT_MS_MAX } from '../../src/model/function-limits.ts';
import { MESSAGE_BYTES_MAX, READ_BYTES_MAX } from '../../src/model/limits.ts';
import { contextOf, eventOf, urlEventOf } from './function-events.ts';
import { type Log, openLog } from './log.ts';
import { ResponseStream, streamingPlatform, takesStream } from './streaming-platform.ts';
import { createTestApp, type TestApp, TOKEN } from './test-app.ts';

// The function that reads: pieces by its own URL, an answer as a whole by API Gateway, each by a handler of its kind.

const auth = { authorization: `Bearer ${TOKEN}` };
let t: TestApp;
let log: Log;
let handler: StreamingHandler;
let buffered: FunctionHandler;
beforeEach(async () => {
  t = createTestApp();
  const limits = { ...t.deps.limits, readBytesMax: FUNCTION_READ_BYTES_MAX, waitMsMax: FUNCTION_WAIT_MS_MAX };
  const whole = { ...t.deps, runtime: functionRuntime, limits };
  const streamed = { ...whole, runtime: { ...functionRuntime, streams: true }, limits: { ...limits, readBytesMax: READ_BYTES_MAX } };
  const invocations = createInvocations({ clock: createSystemClock(), settled: t.background.settled });
  handler = createStreamingHandler(createApp(streamed, readingHandlers(streamed)), streamingPlatform, invocations);
  buffered = createFunctionHandler(createApp(whole, readingHandlers(whole)), invocations);
  log = await openLog(t);
});

async function answered(event: APIGatewayProxyEventV2, leftMs?: number): Promise<ResponseStream> {
  const stream = new ResponseStream();
  await handler(event, stream, contextOf(leftMs));
  expect(stream.writableFinished).toBe(true);
  return stream;
}

const messagesPath = (query = ''): string => `/v1/topics/${log.topic}/segments/${log.segment}/messages${query}`;

async function publishMegabytes(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    expect((await log.publish({ messages: [{ key: 'a', bytes: randomBytes(1_000_000).toString('base64') }] })).status).toBe(200);
  }
}

test('more than the platform takes as a whole is streamed by the function’s URL, and comes in pages by API Gateway', async () => {
  await publishMegabytes(7);
  const target = messagesPath(`?maxBytes=${READ_BYTES_MAX}`);
  const { status, headers, body } = (await answered(urlEventOf('GET', target, { headers: auth }))).response();
  expect([status, headers['content-type']]).toEqual([200, 'application/json']);
  expect(headers).not.toHaveProperty('content-length');
  expect(body.length).toBeGreaterThan(FUNCTION_ANSWER_BYTES_MAX);
  const all = JSON.parse(body.toString());
  expect([all.messages.length, all.nextOffset]).toEqual([7, 7]);

  const whole = await buffered(eventOf('GET', target, { headers: auth }), contextOf());
  const page = JSON.parse(whole.body ?? '');
  expect([whole.statusCode, page.messages, page.nextOffset]).toEqual([200, all.messages.slice(0, page.nextOffset), expect.any(Number)]);
  expect(page.nextOffset).toBeLessThan(7);
});

test('a message that is too large as JSON is refused where answers are whole, but for its batch, and streamed', async () => {
  const bytes = new Uint8Array(MESSAGE_BYTES_MAX - 1_024).fill(0x01);
  const sent = await log.publishRaw(bytes, { query: '?key=a', headers: { 'content-type': 'text/plain' } });
  expect(sent.status).toBe(200);
  const target = messagesPath('?limit=1&maxBytes=1');
  for (const accept of ['application/json', 'application/x-ndjson', 'text/event-stream']) {
    const refused = await buffered(eventOf('GET', target, { headers: { ...auth, accept } }), contextOf());
    const { code, field, retryable, detail } = JSON.parse(refused.body ?? '');
    expect([accept, refused.statusCode, code, field, retryable]).toEqual([accept, 413, 'too-large', 'maxBytes', false]);
    expect(detail).toContain('in another form, or at a URL that streams');
  }
  const accept = 'application/vnd.kelp.batch';
  const batch = await buffered(eventOf('GET', target, { headers: { ...auth, accept } }), contextOf());
  expect([batch.statusCode, batch.isBase64Encoded, batch.headers?.['kelp-next-offset']]).toEqual([200, true, '1']);
  const { body } = (await answered(urlEventOf('GET', target, { headers: auth }))).response();
  expect(Buffer.compare(Buffer.from(JSON.parse(body.toString()).messages[0].text), bytes)).toBe(0);
});

test('batches are streamed as they are stored', async () => {
  await publishMegabytes(2);
  const headers = { ...auth, accept: 'application/vnd.kelp.batch' };
  const stream = await answered(urlEventOf('GET', messagesPath(), { headers }));
  expect(Buffer.compare(stream.response().body, (await log.read('', headers)).bytes)).toBe(0);
  const nothing = (await answered(urlEventOf('GET', messagesPath('?from=latest'), { headers }))).response();
  expect([nothing.status, nothing.headers['kelp-next-offset'], nothing.body.length]).toEqual([200, '2', 0]);
});

test('events come as they are published, and end with the function’s time', async () => {
  const stream = new ResponseStream();
  const headers = { ...auth, accept: 'text/event-stream' };
  const beganMs = performance.now();
  const answering = handler(urlEventOf('GET', messagesPath(), { headers }), stream, contextOf(3_000));
  for (const text of ['first', 'second']) {
    await log.publish({ messages: [{ key: 'a', text }] });
    await stream.until(`"text":"${text}"`);
  }
  expect(stream.writableEnded).toBe(false);
  await answering;
  expect(performance.now() - beganMs).toBeGreaterThan(2_000);
  expect(stream.response()).toMatchObject({ status: 200, headers: { 'content-type': 'text/event-stream' } });
  expect(stream.text().match(/^id: .*$/gm)).toEqual([`id: ${log.segment}:1`, `id: ${log.segment}:2`]);
  // Its place is free again: nothing waits on when the handler has returned.
  expect(t.telemetry.total('kelp.http.waiters')).toBe(0);
});

test('a reader that leaves frees its place, and is nobody’s failure', async () => {
  const stream = new ResponseStream();
  const headers = { ...auth, accept: 'text/event-stream' };
  const answering = handler(urlEventOf('GET', messagesPath(), { headers }), stream, contextOf());
  await log.publish({ messages: [{ key: 'a', text: 'first' }] });
  await stream.until('"text":"first"');
  stream.destroy();
  await answering;
  expect(t.telemetry.total('kelp.http.waiters')).toBe(0);
});

test('GET /v1 says of each address what it allows: larger pages by the URL, and no longer waits', async () => {
  const byUrl = (await answered(urlEventOf('GET', '/v1', { headers: auth }))).response().body.toString();
  expect(JSON.parse(byUrl).limits).toMatchObject({ readBytes: READ_BYTES_MAX, waitMs: FUNCTION_WAIT_MS_MAX });
  const byGateway = await buffered(eventOf('GET', '/v1', { headers: auth }), contextOf());
  expect(JSON.parse(byGateway.body ?? '').limits).toMatchObject({ readBytes: FUNCTION_READ_BYTES_MAX, waitMs: FUNCTION_WAIT_MS_MAX });
});

test('answers without a body, refusals, and what another function answers', async () => {
  const statusOf = async (method: string, target: string, headers = {}): Promise<unknown[]> => {
    const { status, body } = (await answered(urlEventOf(method, target, { headers }))).response();
    return [status, body.length === 0 ? '' : JSON.parse(body.toString()).code];
  };
  expect(await statusOf('HEAD', messagesPath(), auth)).toEqual([200, '']);
  expect(await statusOf('OPTIONS', messagesPath(), auth)).toEqual([204, '']);
  expect(await statusOf('GET', messagesPath())).toEqual([401, 'unauthenticated']);
  expect(await statusOf('GET', messagesPath('?limit=x'), auth)).toEqual([400, 'invalid-limit']);
  expect(await statusOf('GET', '/v1//topics', auth)).toEqual([400, 'invalid-path']);
  expect(await statusOf('PUT', `/v1/topics/${log.topic}`, auth)).toEqual([404, 'path-not-found']);
  expect(await statusOf('GET', '/v1', auth)).toEqual([200, undefined]);
});

test.each([{}, { requestContext: {} }])('an event that is no request fails the invocation, as of any other function: %j', async (event) => {
  for (const refused of [buffered(event as never, contextOf()), answered(event as never)]) {
    await expect(refused).rejects.toMatchObject({ code: 'invalid-event' });
  }
});

test('a body of a GET, which its sender may send, means nothing', async () => {
  const event = urlEventOf('GET', messagesPath(), { headers: { ...auth, 'content-length': '1' }, body: 'x' });
  expect((await answered(event)).response().status).toBe(200);
});

test('what stands in front of the URL, by a name of its own, gets pieces as well', async () => {
  await publishMegabytes(7);
  const event = urlEventOf('GET', messagesPath(`?maxBytes=${READ_BYTES_MAX}`), { headers: { ...auth, host: 'read.example.com' } });
  const renamed = { ...event, requestContext: { ...event.requestContext, domainName: 'read.example.com' } };
  expect(JSON.parse((await answered(renamed)).response().body.toString()).messages).toHaveLength(7);
});

test('the platform gives a stream to the one that streams, and none to the other one', () => {
  expect([takesStream(handler), takesStream(buffered)]).toEqual([true, false]);
});
