import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FunctionHandler } from '../../src/http/function-handler.ts';
import { contextOf, eventOf, sendEvent } from '../http/function-events.ts';
import { type OwnStack, startOwnStack } from '../own-stack.ts';
import { freshTable, sharedStack } from '../stack.ts';
import { buildFunctions, type BuiltFunctions } from './built-functions.ts';
import { goThrough, type Send } from './http-scenario.ts';
import { ROOT_TOKEN } from './run-serve.ts';

// The bundle that is deployed, with events as the platform makes them, one request at a time, on real stores.

const TEST_MS = 60_000;
const auth = { authorization: `Bearer ${ROOT_TOKEN}` };
let built: BuiltFunctions;
beforeAll(async () => {
  built = await buildFunctions();
}, TEST_MS);
afterAll(() => built.remove());

const sendTo =
  (handler: FunctionHandler): Send =>
  (method, path, sending) =>
    sendEvent(handler, method, path, { token: ROOT_TOKEN, ...sending });

describe.each(['dynoxide', 'ministack'] as const)('on SeaweedFS and %s', (kind) => {
  let handler: FunctionHandler;
  beforeAll(async () => {
    handler = await built.api(sharedStack().store, await freshTable(kind, AbortSignal.timeout(TEST_MS)));
  }, TEST_MS);

  test('the main ways, once through', async () => expect(await goThrough(sendTo(handler), `function-${kind}`)).toBe(9), TEST_MS);

  test('header lines that the platform has joined, and bytes in and out, by API Gateway and by a function URL', async () => {
    const path = `/v1/topics/events-${kind}`;
    await sendTo(handler)('PUT', path, { body: { partitionKey: 'key' } });
    const headers = { ...auth, 'content-type': 'application/octet-stream', 'content-length': '4', 'kelp-header-a': '1,2,3' };
    const gateway = eventOf('POST', `${path}/message?key=a`, { headers, body: '/wDDKA==', isBase64Encoded: true });
    const url = { ...gateway.requestContext, domainName: 'abc.lambda-url.eu-west-1.on.aws', domainPrefix: 'abc' };
    for (const [offset, event] of [gateway, { ...gateway, requestContext: url }].entries()) {
      const result = await handler(event, contextOf());
      expect([result.statusCode, JSON.parse(result.body ?? '')]).toEqual([200, { segment: 's0000000', offset }]);
    }
    const accept = { ...auth, accept: 'application/vnd.kelp.batch' };
    const read = await handler(eventOf('GET', `${path}/segments/s0000000/messages`, { headers: accept }), contextOf());
    expect(read.isBase64Encoded).toBe(true);
    expect(Buffer.from(read.body ?? '', 'base64').includes(Buffer.from('/wDDKA==', 'base64'))).toBe(true);
    const { messages } = (await sendTo(handler)('GET', `${path}/messages`)).json;
    expect(messages).toMatchObject(Array(2).fill({ bytes: '/wDDKA==', headers: [['a', '1,2,3']] }));
  });

  test('many small publishes spill behind their answers, and all of it is read', async () => {
    const send = sendTo(handler);
    const path = `/v1/topics/many-${kind}`;
    await send('PUT', path, { body: { partitionKey: 'key' } });
    for (let n = 0; n < 60; n += 1) {
      const answer = await send('POST', `${path}/message?key=a`, { body: String(n), headers: { 'content-type': 'text/plain' } });
      expect(answer.json.offset).toBe(n);
    }
    const { messages } = (await send('GET', `${path}/messages`)).json;
    expect(messages.map(({ text }: { text: string }) => text)).toEqual(Array.from({ length: 60 }, (_, n) => String(n)));
    expect((await send('GET', '/readyz', { token: null })).status).toBe(200);
  });
});

test(
  'another instance knows nothing and finds everything',
  async () => {
    const table = await freshTable('dynoxide', AbortSignal.timeout(TEST_MS));
    const first = sendTo(await built.api(sharedStack().store, table));
    await first('PUT', '/v1/topics/t', { body: { partitionKey: 'key' } });
    await first('POST', '/v1/topics/t/message?key=a', { body: 'x', headers: { 'content-type': 'text/plain' } });
    const second = sendTo(await built.api(sharedStack().store, table));
    const { messages, cursor } = (await second('GET', '/v1/topics/t/messages')).json;
    expect(messages).toMatchObject([{ text: 'x' }]);
    expect((await first('GET', `/v1/topics/t/messages?cursor=${cursor}`)).json.messages).toEqual([]);
  },
  TEST_MS,
);

describe('J-48 with stores of its own', () => {
  let own: OwnStack;
  beforeAll(async () => {
    own = await startOwnStack();
  }, TEST_MS);
  afterAll(() => own.stop());

  test(
    'a store that is gone and back: an answer in time, then the message',
    async () => {
      const handler = await built.api(own.store, own.table);
      const send = sendTo(handler);
      await send('PUT', '/v1/topics/t', { body: { partitionKey: 'key' } });
      await own.killStore();
      const event = eventOf('POST', '/v1/topics/t/message', { headers: auth, rawQueryString: 'key=a', body: 'lost' });
      const beganMs = performance.now();
      const result = await handler(event, contextOf(2_000));
      // Exactly so on virtual time (function-handler.test.ts); here other processes share the processors. Nobody waits for 30 s.
      expect(performance.now() - beganMs).toBeLessThan(10_000);
      expect(JSON.parse(result.body ?? '')).toMatchObject({ retryable: true });
      await own.restartStore();
      // Connections of the time before are dead, and the next request has to notice.
      const answer = await send('POST', '/v1/topics/t/message?key=a', { body: 'after', headers: { 'content-type': 'text/plain' } });
      expect(answer.status).toBe(200);
      const { messages } = (await send('GET', '/v1/topics/t/messages')).json;
      expect(messages.map(({ text }: { text?: string }) => text)).toEqual(['after']);
    },
    TEST_MS,
  );
});
