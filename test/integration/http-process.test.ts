import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshTable, sharedStack } from '../stack.ts';
import { goThrough } from './http-scenario.ts';
import { runServe, type Served } from './run-serve.ts';
import { sendTo } from './send-to.ts';

// The API of a broker process on a real SeaweedFS and a real table.

const TEST_MS = 60_000;
let served: Served;
let other: Served;
beforeAll(async () => {
  const stores = { store: sharedStack().store, table: await freshTable('dynoxide', AbortSignal.timeout(TEST_MS)) };
  [served, other] = await Promise.all([runServe(stores), runServe(stores)]);
}, TEST_MS);
afterAll(async () => {
  for (const one of [served, other]) {
    one.signal('SIGTERM');
    await one.exited;
  }
});

test('the main ways, once through', async () => expect(await goThrough(sendTo(served), 'process')).toBe(9), TEST_MS);

test('both stores are ready, and metrics say what was done', async () => {
  expect((await sendTo(served)('GET', '/readyz', { token: null })).status).toBe(200);
  const metrics = (await sendTo(served)('GET', '/metrics')).text;
  for (const name of [
    'http_server_request_duration_seconds_bucket',
    'http_server_active_requests',
    'kelp_store_operation_duration_seconds',
    'kelp_table_operation_duration_seconds',
  ]) {
    expect(metrics).toContain(name);
  }
});

test('J-20 a publish on another process ends a poll within a second or so', async () => {
  const path = '/v1/topics/polled';
  await sendTo(served)('PUT', path, { body: { partitionKey: 'key' } });
  const polls = [sendTo(served)('GET', `${path}/messages?waitMs=25000`), sendTo(other)('GET', `${path}/messages?waitMs=25000`)];
  await sendTo(other)('POST', `${path}/message?key=a`, { body: 'x', headers: { 'content-type': 'text/plain' } });
  const ackedMs = performance.now();
  for (const poll of polls) expect((await poll).json.messages).toMatchObject([{ text: 'x' }]);
  expect(performance.now() - ackedMs).toBeLessThan(5_000);
});
