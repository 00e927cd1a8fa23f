import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { send as sendBy } from '../http/test-app.ts';
import { makeHotTopic, SPREAD_TARGET } from './hot-topic.ts';
import { goThrough, type Send } from './http-scenario.ts';
import { childrenOf, runStart, type Started } from './run-start.ts';

// What `npm run offline` runs: the packaged functions behind HTTP, and their schedules, on SeaweedFS and a table of their own.

const ROLLING_RESTART = join(import.meta.dirname, '..', '..', 'infra', 'local', 'rolling-restart.ts');
const START_MS = 120_000;
/** A schedule's minute, and what a look may take. */
const MINUTE_MS = 90_000;
const BYTES = Uint8Array.of(0xff, 0x00, 0xc3, 0x28);

const dir = mkdtempSync(join(tmpdir(), 'kelp-offline-'));
let started: Started;
let token: string;
let send: Send;

beforeAll(async () => {
  started = runStart(dir, {}, ['--functions']);
  const url = await started.ready();
  token = readFileSync(join(dir, 'root-token'), 'utf8');
  const fetchThere = (request: Request): Promise<Response> => fetch(request.url.replace('http://kelp.test', url), request);
  send = (method, path, sending) => sendBy(fetchThere, method, path, { token, ...sending });
}, START_MS);

afterAll(async () => {
  started.signal('SIGTERM');
  await started.exited;
  rmSync(dir, { recursive: true, force: true });
});

const log = (): string => readFileSync(join(dir, 'functions.log'), 'utf8');

test('the main ways, once through', async () => expect(await goThrough(send, 'ways')).toBe(9));

test('J-46 bytes, and text in either form, are stored as they were sent; what is no message is refused', async () => {
  const path = '/v1/topics/bodies';
  await send('PUT', path, { body: { partitionKey: 'key' } });
  const raw = await send('POST', `${path}/message?key=a`, { body: BYTES, headers: { 'content-type': 'application/octet-stream' } });
  expect([raw.status, raw.json]).toEqual([200, { segment: 's0000000', offset: 0 }]);
  const json = JSON.stringify({ messages: [{ key: 'a', text: 'größe' }] });
  const zipped = { body: gzipSync(json), headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } };
  for (const sending of [{ body: json, headers: { 'content-type': 'application/json' } }, zipped])
    expect((await send('POST', `${path}/messages`, sending)).status).toBe(200);
  const { messages } = (await send('GET', `${path}/messages`)).json;
  expect(messages).toMatchObject([{ bytes: Buffer.from(BYTES).toString('base64') }, { text: 'größe' }, { text: 'größe' }]);

  const type = { 'content-type': 'application/json' };
  expect((await send('POST', `${path}/messages`, { headers: type })).status).toBe(400);
  expect((await send('POST', `${path}/messages`, { ...zipped, body: json })).status).toBe(400);
  const large = { body: new Uint8Array(6_500_000), headers: { 'content-type': 'application/octet-stream' } };
  expect((await send('POST', `${path}/message?key=a`, large)).status).toBe(413);
});

test('whoever waits for messages is woken by what is published meanwhile', async () => {
  const path = '/v1/topics/waiting';
  await send('PUT', path, { body: { partitionKey: 'key' } });
  const { cursor } = (await send('GET', `${path}/messages`)).json;
  const waiting = send('GET', `${path}/messages?cursor=${cursor}&waitMs=5000`);
  await send('POST', `${path}/message?key=a`, { body: 'x', headers: { 'content-type': 'text/plain' } });
  expect((await waiting).json.messages).toMatchObject([{ text: 'x' }]);
});

test(
  'the schedule splits a segment that carries too much, and all is read across the split',
  async () => {
    const topic = await makeHotTopic(send, 'hot', SPREAD_TARGET);
    await topic.publishUntilSplit(2 * MINUTE_MS);
    await expect.poll(log).toMatch(/"message":"rebalanced","splits":1.*"topics":\[\{"name":"hot"/);
    await topic.publish(1);
    await topic.expectAll();
  },
  2 * MINUTE_MS,
);

test('there is nothing for a rolling restart, which says so, and goes on', async () => {
  const refused = spawnSync(process.execPath, [ROLLING_RESTART], { env: { PATH: process.env['PATH'], KELP_DATA: dir }, encoding: 'utf8' });
  expect([refused.status, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toMatch(/^kelp: the kelp on [^\n]+ has no brokers to restart: it runs functions, [^\n]+\n$/);
  started.signal('SIGUSR2');
  await expect.poll(started.output).toContain('functions run here, and no broker: nothing is restarted');
  expect((await send('GET', '/readyz')).status).toBe(200);
});

test('a stop leaves nothing running, and no secret in the log', async () => {
  started.signal('SIGTERM');
  expect(await started.exited).toMatchObject({ code: 0, errors: '' });
  expect(childrenOf(dir)).toEqual([]);
  expect(log()).toContain('PUT /v1/topics/hot');
  expect(log()).not.toContain(token);
});
