import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FunctionHandler } from '../../src/http/function-handler.ts';
import { FUNCTION_ANSWER_BYTES_MAX, FUNCTION_REQUEST_BYTES_MAX } from '../../src/model/function-limits.ts';
import { READ_BYTES_MAX } from '../../src/model/limits.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { bytesOf, contextOf, eventOf, urlEventOf } from '../http/function-events.ts';
import { ResponseStream, streamingPlatform, takesStream } from '../http/streaming-platform.ts';
import { freshTable, sharedStack, type TableAddress } from '../stack.ts';
import { buildFunctions, type BuiltFunctions } from './built-functions.ts';
import { ROOT_TOKEN } from './run-serve.ts';

// The bundles that are deployed, on real stores, with events as both of the platform's front doors make them.

const TEST_MS = 60_000;
const auth = { authorization: `Bearer ${ROOT_TOKEN}` };
const JSON_TYPE = { ...auth, 'content-type': 'application/json' };
let built: BuiltFunctions;
let table: TableAddress;
let handler: FunctionHandler;
beforeAll(async () => {
  built = await buildFunctions();
  table = await freshTable('dynoxide', AbortSignal.timeout(TEST_MS));
  handler = await built.api(sharedStack().store, table);
}, TEST_MS);
afterAll(() => built.remove());

const FRONTS = { 'API Gateway': eventOf, 'a function URL': urlEventOf } as const;

describe.each(Object.entries(FRONTS))('J-46 base64-event-bodies, by %s', (front, makeEvent) => {
  const topic = `/v1/topics/${front.toLowerCase().replaceAll(' ', '-')}`;
  const invoke = (...asked: Parameters<typeof eventOf>): Promise<APIGatewayProxyStructuredResultV2> =>
    handler(makeEvent(...asked), contextOf());
  const publish = async (headers: Record<string, string>, body: string | Buffer | undefined, as64 = Buffer.isBuffer(body)) => {
    const more = body === undefined ? {} : { body: as64 ? Buffer.from(body).toString('base64') : String(body), isBase64Encoded: as64 };
    return invoke('POST', `${topic}/messages`, { headers: { ...auth, ...headers }, ...more });
  };
  beforeAll(async () => {
    expect((await invoke('PUT', topic, { headers: JSON_TYPE, body: '{"partitionKey":"key"}' })).statusCode).toBe(201);
  }, TEST_MS);

  test('bodies come as they were sent, and answers as they are stored', async () => {
    const event = { headers: { ...auth, 'content-type': 'application/octet-stream' }, body: '/wDDKA==', isBase64Encoded: true };
    expect((await invoke('POST', `${topic}/message?key=a`, event)).statusCode).toBe(200);
    const json = '{"messages":[{"key":"größe","value":{"n":9007199254740993,"t":"🚕"}}]}';
    for (const as64 of [false, true]) expect((await publish(JSON_TYPE, json, as64)).statusCode).toBe(200);
    const packed = gzipSync('{"messages":[{"key":"a","text":"packed"}]}');
    expect((await publish({ ...JSON_TYPE, 'content-encoding': 'gzip' }, packed)).statusCode).toBe(200);
    const batch = rawBatch({ records: [{ key: Uint8Array.of(0xff), value: Uint8Array.of(0xff, 0, 0xc3, 0x28) }] });
    expect((await publish({ 'content-type': 'application/vnd.kelp.batch' }, Buffer.from(batch))).statusCode).toBe(200);

    const read = await invoke('GET', `${topic}/messages`, { headers: auth });
    const { messages } = JSON.parse(read.body ?? '');
    const value = { key: 'größe', value: { t: '🚕' } };
    expect(messages).toMatchObject([{ bytes: '/wDDKA==' }, value, value, { text: 'packed' }, { bytes: '/wDDKA==' }]);
    // Exact digits, which no parsed number would show.
    expect(read.body?.split('9007199254740993')).toHaveLength(3);
    const stored = await invoke('GET', `${topic}/segments/s0000000/messages?offset=4`, {
      headers: { ...auth, accept: 'application/vnd.kelp.batch' },
    });
    expect([stored.isBase64Encoded, stored.headers?.['kelp-offset']]).toEqual([true, '4']);
    // Its offset has become that of the log; what its checksum is of is as it was sent.
    const bytes = Buffer.from(bytesOf(stored));
    expect([bytes.readBigInt64BE(0), Buffer.compare(bytes.subarray(8), batch.subarray(8))]).toEqual([4n, 0]);
  });

  test('no body, and one that is not base64 though it says so: 400', async () => {
    expect((await publish(JSON_TYPE, undefined)).statusCode).toBe(400);
    const event = { headers: JSON_TYPE, body: '!!!!', isBase64Encoded: true };
    const refused = await invoke('POST', `${topic}/messages`, event);
    expect([refused.statusCode, JSON.parse(refused.body ?? '').code]).toEqual([400, 'invalid-body']);
  });

  test('4 MiB are taken, in base64 as well, and one byte more is 413', async () => {
    const text = 'x'.repeat(1_000_000);
    const json = JSON.stringify({ messages: Array.from({ length: 4 }, () => ({ key: 'a', text })) });
    for (const as64 of [false, true]) {
      expect((await publish(JSON_TYPE, json.padEnd(FUNCTION_REQUEST_BYTES_MAX), as64)).statusCode).toBe(200);
      const refused = await publish(JSON_TYPE, json.padEnd(FUNCTION_REQUEST_BYTES_MAX + 1), as64);
      expect([refused.statusCode, JSON.parse(refused.body ?? '').detail]).toEqual([
        413,
        expect.stringContaining(String(FUNCTION_REQUEST_BYTES_MAX)),
      ]);
    }
  });
});

test(
  'reading streams at its URL what it gives in pages by API Gateway, and the platform gives a stream to the handler that takes one',
  async () => {
    const path = '/v1/topics/streamed';
    await handler(eventOf('PUT', path, { headers: JSON_TYPE, body: '{"partitionKey":"key"}' }), contextOf());
    for (let n = 0; n < 7; n += 1) {
      const body = randomBytes(1_000_000).toString('base64');
      const headers = { ...auth, 'content-type': 'application/octet-stream' };
      const sent = await handler(eventOf('POST', `${path}/message?key=a`, { headers, body, isBase64Encoded: true }), contextOf());
      expect(sent.statusCode).toBe(200);
    }
    globalThis.awslambda = streamingPlatform;
    const read = (await built.one('read', sharedStack().store, table)) as unknown as (...all: unknown[]) => Promise<void>;
    const buffered = await built.one('readBuffered', sharedStack().store, table);
    Reflect.deleteProperty(globalThis, 'awslambda');
    expect([takesStream(read), takesStream(buffered)]).toEqual([true, false]);
    const target = `${path}/segments/s0000000/messages?maxBytes=${READ_BYTES_MAX}`;
    const answer = async (event: unknown): Promise<ResponseStream> => {
      const stream = new ResponseStream();
      await read(event, stream, contextOf());
      return stream;
    };
    const { status, body } = (await answer(urlEventOf('GET', target, { headers: auth }))).response();
    expect(status).toBe(200);
    expect(body.length).toBeGreaterThan(FUNCTION_ANSWER_BYTES_MAX);
    const all = JSON.parse(body.toString()).messages;
    const page = JSON.parse((await buffered(eventOf('GET', target, { headers: auth }), contextOf())).body ?? '');
    expect([all.length, page.messages]).toEqual([7, all.slice(0, page.nextOffset)]);
    expect(page.nextOffset).toBeLessThan(7);

    const events = new ResponseStream();
    const reading = read(
      urlEventOf('GET', path + '/messages', { headers: { ...auth, accept: 'text/event-stream' } }),
      events,
      contextOf(4_000),
    );
    await events.until('\ndata: ');
    await reading;
    expect(events.response().headers['content-type']).toBe('text/event-stream');
  },
  TEST_MS,
);

test('a wrong environment is said at the cold start, one line for each variable', async () => {
  const store = { ...sharedStack().store, endpoint: 'nowhere', accessKey: '' };
  for (const name of ['broker', 'read', 'readBuffered', 'leader'] as const) {
    await expect(built.one(name, store, table)).rejects.toThrow(
      /^KELP_S3_ENDPOINT must be a URL.*, but is "nowhere"\nKELP_S3_ACCESS_KEY is missing.*$/,
    );
  }
});
