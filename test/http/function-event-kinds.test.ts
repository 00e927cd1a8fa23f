import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { beforeEach, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createFunctionHandler, createInvocations, type FunctionHandler, functionRuntime } from '../../src/http/function-handler.ts';
import { contextOf, eventOf } from './function-events.ts';
import { type Log, openLog } from './log.ts';
import { createTestApp, TOKEN } from './test-app.ts';

// Whatever else a function can be bound to by mistake.

let handler: FunctionHandler;
let log: Log;
beforeEach(async () => {
  const t = createTestApp({ change: () => ({ runtime: functionRuntime }) });
  handler = createFunctionHandler(t.app, createInvocations({ clock: createSystemClock(), settled: t.background.settled }));
  log = await openLog(t);
});

const auth = { authorization: `Bearer ${TOKEN}` };

describe('an event that is no request of payload 2.0', () => {
  const http = eventOf('POST', '/v1/topics/t/message?key=a', { headers: auth, body: 'x' });
  const { requestContext: _, ...withoutContext } = http;
  const { rawPath: __, ...withoutPath } = http;
  test.each(
    Object.entries({
      nothing: undefined,
      null: null,
      text: 'x',
      list: [],
      empty: {},
      queue: { Records: [{ messageId: '1', body: 'hello', eventSource: 'aws:sqs' }] },
      store: { Records: [{ eventVersion: '2.1', eventSource: 'aws:s3', s3: { bucket: { name: 'b' }, object: { key: 'k' } } }] },
      schedule: { version: '0', 'detail-type': 'Scheduled Event', source: 'aws.events', detail: {} },
      'payload 1.0': { version: '1.0', path: '/v1/topics/t/message', httpMethod: 'POST', headers: auth, requestContext: {}, body: 'x' },
      'a load balancer': { path: '/', httpMethod: 'POST', headers: auth, requestContext: { elb: {} }, body: 'x', isBase64Encoded: false },
      lattice: { version: '2.0', path: '/', method: 'POST', headers: {}, requestContext: { serviceArn: 'arn' } },
      'without a context': withoutContext,
      'without a path': withoutPath,
      'without a method': { ...http, requestContext: { http: {} } },
      'without headers': { ...http, headers: undefined },
      'with no headers': { ...http, headers: null },
    }),
  )('%s fails the invocation, since an answer would be success to whoever sent it', async (_name, event) => {
    await expect(handler(event as APIGatewayProxyEventV2, contextOf())).rejects.toMatchObject({ code: 'invalid-event' });
    expect(await log.messages()).toEqual([]);
  });
});

test.each(['GET', 'HEAD'])('a body of a %s, which its sender may send, means nothing', async (method) => {
  const event = eventOf(method, '/v1/topics', { headers: { ...auth, 'content-length': '1' }, body: 'x' });
  for (const more of [{}, { isBase64Encoded: true, body: 'eA==' }, { isBase64Encoded: true, body: '!' }]) {
    expect(await handler({ ...event, ...more }, contextOf())).toMatchObject({ statusCode: 200 });
  }
});

test('cookies, which a browser has of its own accord, mean nothing', async () => {
  const event = eventOf('GET', '/v1/topics', { headers: auth, cookies: ['a=€', 'b=\ud800'] });
  expect(await handler(event, contextOf())).toMatchObject({ statusCode: 200 });
});

test('a body of null is none', async () => {
  const event = eventOf('POST', `/v1/topics/${log.topic}/message?key=a`, { headers: auth });
  const { statusCode, body } = await handler({ ...event, body: null as unknown as string }, contextOf());
  expect([statusCode, JSON.parse(body ?? '')]).toMatchObject([400, { code: 'invalid-body', detail: 'the event has no body' }]);
  expect(await log.messages()).toEqual([]);
});
