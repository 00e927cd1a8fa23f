import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FUNCTION_ANSWER_BYTES_MAX } from '../../src/model/function-limits.ts';
import { READ_BYTES_MAX } from '../../src/model/limits.ts';
import { send as sendBy } from '../http/test-app.ts';
import { sharedStack } from '../stack.ts';
import { type DeployedStack, deployStack } from './deployed-stack.ts';
import { makeHotTopic, SPREAD_TARGET } from './hot-topic.ts';
import { goThrough, type Send } from './http-scenario.ts';
import { ROOT_TOKEN } from './run-serve.ts';

// The stack as it is deployed: its template, its packages and its roles, on SeaweedFS.

const DEPLOY_MS = 240_000;
const TEST_MS = 60_000;
const AT_ONCE = 12;
const STARTS_AT_ONCE = 4;
const LARGE = 7;
const LARGE_BYTES = 1_000_000;
const BYTES = Uint8Array.of(0xff, 0x00, 0xc3, 0x28);

let stack: DeployedStack;
let send: Send;

const sendTo =
  (url: string): Send =>
  (method, path, sending) =>
    sendBy((request) => fetch(request.url.replace('http://kelp.test', url), request), method, path, { token: ROOT_TOKEN, ...sending });

beforeAll(async () => {
  stack = await deployStack(sharedStack().store);
  send = sendTo(stack.url);
}, DEPLOY_MS);
afterAll(() => stack.stop());

test('the main ways, once through', async () => expect(await goThrough(send, 'ways')).toBe(9), TEST_MS);

test('J-46 bytes are stored as they were sent, and read as they are stored', async () => {
  const path = '/v1/topics/bodies';
  await send('PUT', path, { body: { partitionKey: 'key' } });
  const raw = await send('POST', `${path}/message?key=a`, { body: BYTES, headers: { 'content-type': 'application/octet-stream' } });
  expect([raw.status, raw.json]).toEqual([200, { segment: 's0000000', offset: 0 }]);
  const lines = gzipSync(`${JSON.stringify({ key: 'a', text: 'größe' })}\n`);
  const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' };
  expect((await send('POST', `${path}/messages`, { body: lines, headers })).status).toBe(200);
  expect((await send('GET', `${path}/messages`)).json.messages).toMatchObject([
    { bytes: Buffer.from(BYTES).toString('base64') },
    { text: 'größe' },
  ]);
  const batch = await send('GET', `${path}/segments/s0000000/messages`, { headers: { accept: 'application/vnd.kelp.batch' } });
  expect(Buffer.from(batch.bytes).includes(Buffer.from(BYTES))).toBe(true);
  expect((await send('POST', `${path}/messages`, { headers: { 'content-type': 'application/json' } })).status).toBe(400);
});

test(
  'what is more than an answer may have comes in pages, by the function that answers whole',
  async () => {
    const path = '/v1/topics/large';
    await send('PUT', path, { body: { partitionKey: 'key' } });
    const headers = { 'content-type': 'application/octet-stream' };
    for (let n = 0; n < LARGE; n += 1)
      expect((await send('POST', `${path}/message?key=a`, { body: randomBytes(LARGE_BYTES), headers })).json.offset).toBe(n);
    const sizes: number[] = [];
    for (let offset = 0; offset < LARGE;) {
      const page = await send('GET', `${path}/segments/s0000000/messages?offset=${offset}&maxBytes=${READ_BYTES_MAX}`);
      expect([page.status, page.json.messages.length > 0]).toEqual([200, true]);
      sizes.push(page.bytes.length);
      offset = page.json.nextOffset;
    }
    expect(Math.max(...sizes)).toBeLessThan(FUNCTION_ANSWER_BYTES_MAX);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(FUNCTION_ANSWER_BYTES_MAX);
    const spawned = new Set(readFileSync(stack.logFile, 'utf8').match(/(?<=worker spawned for kelp-dev-)read\w*/g));
    expect([...spawned]).toEqual(['readBuffered']);
  },
  TEST_MS,
);

test(
  'the schedule splits a segment that carries too much, and all is read across the split',
  async () => {
    const topic = await makeHotTopic(send, 'hot', SPREAD_TARGET);
    await topic.publishUntilSplit(TEST_MS);
    await expect.poll(() => stack.logOf('rebalance')).toMatch(/"message":"rebalanced","splits":1.*"topics":\[\{"name":"hot"/);
    expect((await send('GET', '/v1/topics/hot/scaling')).json.events).toMatchObject([{ kind: 'split', by: 'planner' }]);
    await topic.publish(1);
    await topic.expectAll();
  },
  2 * TEST_MS,
);

describe('many at once', () => {
  test(
    'are as many instances of the broker: each message is there once',
    async () => {
      const path = '/v1/topics/many';
      await send('PUT', path, { body: { partitionKey: 'key' } });
      const publish = (n: number) => send('POST', `${path}/message?key=a`, { body: String(n), headers: { 'content-type': 'text/plain' } });
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => publish(n)));
      expect(answers.map(({ status }) => status)).toEqual(Array(AT_ONCE).fill(200));
      const offsets = answers.map(({ json }) => json.offset as number);
      expect(offsets.toSorted((a, b) => a - b)).toEqual(Array.from({ length: AT_ONCE }, (_, n) => n));
      const { messages } = (await send('GET', `${path}/messages`)).json as { messages: { text: string }[] };
      expect(offsets.map((offset) => messages[offset]?.text)).toEqual(Array.from({ length: AT_ONCE }, (_, n) => String(n)));
      const instances = readFileSync(stack.logFile, 'utf8').match(/worker spawned for kelp-dev-broker /g);
      expect(instances?.length).toBeGreaterThan(2);
    },
    TEST_MS,
  );

  test(
    'starts of the rebalancer split a segment once',
    async () => {
      const topic = await makeHotTopic(send, 'overlap');
      const starts = (): Promise<unknown> => Promise.all(Array.from({ length: STARTS_AT_ONCE }, () => stack.invoke('rebalance')));
      await expect
        .poll(
          async () => {
            await topic.publish(1);
            expect(await starts()).toMatchObject(Array(STARTS_AT_ONCE).fill({ status: 200, failed: false }));
            return (await topic.openSegments()).length;
          },
          { timeout: TEST_MS },
        )
        .toBe(2);
      const { events } = (await send('GET', '/v1/topics/overlap/scaling')).json;
      expect(events).toMatchObject([{ kind: 'split', parents: ['s0000000'] }]);
      await topic.publish(1);
      await topic.expectAll();
    },
    2 * TEST_MS,
  );
});

test(
  'the role of the archiver is enough for what it does',
  async () => {
    const { payload, ...invoked } = await stack.invoke('archive');
    expect(invoked).toEqual({ status: 200, failed: false });
    expect(JSON.parse(payload)).toMatchObject({ held: 0, failed: 0, complete: true });
  },
  TEST_MS,
);

test(
  'the role of the sweeper is enough for what it does',
  async () => {
    await send('PUT', '/v1/topics/deleted', { body: { partitionKey: 'key' } });
    await send('POST', '/v1/topics/deleted/message?key=a', { body: 'x', headers: { 'content-type': 'text/plain' } });
    expect((await send('DELETE', '/v1/topics/deleted')).status).toBe(204);
    const { payload, ...invoked } = await stack.invoke('sweep');
    expect(invoked).toEqual({ status: 200, failed: false });
    expect(JSON.parse(payload)).toMatchObject({ dryRun: false, complete: true, deletions: { failed: 0 }, uploads: { failed: 0 } });
  },
  TEST_MS,
);
