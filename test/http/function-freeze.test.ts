import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { createFunctionHandler, createInvocations, functionRuntime } from '../../src/http/function-handler.ts';
import { FUNCTION_READ_BYTES_MAX, FUNCTION_REQUEST_BYTES_MAX, FUNCTION_WAIT_MS_MAX } from '../../src/model/function-limits.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import { KelpError } from '../../src/model/errors.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';
import { contextOf, eventOf } from './function-events.ts';
import { createTestApp, TOKEN } from './test-app.ts';

const SIX_HOURS_MS = 6 * 3_600_000;
const PATH = '/v1/topics/t';
const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/plain' };

test('J-48 frozen for six hours between two publishes: what it remembers, and its dead connections, cost nothing but another try', async () => {
  const [table, store, clock] = [createMemoryTable(), createMemoryStore(), createVirtualClock()];
  const signal = new AbortController().signal;
  // The first request on each connection that was open before the freeze is never answered.
  let dead = 0;
  const reset = (): boolean => dead > 0 && dead-- > 0;
  const lost = (code: string) => Promise.reject(new KelpError('indefinite', code, 'the connection was reset'));
  const frozen = createTestApp({
    clock,
    table: interceptTable(table, (call, make) => (call.op === 'update' && reset() ? lost('table-indefinite') : make())),
    store: interceptStore(store, (call, make) => (call.op === 'put' && reset() ? lost('store-indefinite') : make())),
    change: () => ({
      runtime: functionRuntime,
      limits: { requestBytesMax: FUNCTION_REQUEST_BYTES_MAX, readBytesMax: FUNCTION_READ_BYTES_MAX, waitMsMax: FUNCTION_WAIT_MS_MAX },
    }),
  });
  const handler = createFunctionHandler(frozen.app, createInvocations({ clock, settled: frozen.background.settled }));
  const publish = (body: string) => handler(eventOf('POST', `${PATH}/message?key=a`, { headers, body }), contextOf());
  await frozen.send('PUT', PATH, { body: { partitionKey: 'key' } });
  expect((await clock.run(publish('before'))).statusCode).toBe(200);
  // Nothing is pending that the freeze could stop.
  expect(clock.sleeping()).toBe(0);

  // Meanwhile others fill heads, spill them, and replace the segment.
  const later = createVirtualClock(clock.nowMs() + SIX_HOURS_MS);
  const other = createTestApp({ table, store, clock: later });
  for (let n = 0; n < 40; n += 1) {
    const sent = other.send('POST', `${PATH}/message?key=a`, { body: String(n), headers: { 'content-type': 'text/plain' } });
    expect((await later.run(sent)).status).toBe(200);
  }
  const topic = await other.broker.topics.resolve('t', { fresh: true }, signal);
  const world = { table, clock: later, random: createSeededRandom(1), signal, run: later.run };
  await replaceSegment(world, topic, { segment: 's0000000' as SegmentId, children: 2 });

  await clock.advance(SIX_HOURS_MS);
  dead = 2;
  const after = await clock.run(publish('after'));
  expect([after.statusCode, JSON.parse(after.body ?? '')]).toEqual([200, { segment: 's0000001', offset: 0 }]);
  expect([dead, clock.sleeping()]).toEqual([0, 0]);
  const found: string[] = [];
  for (let cursor = 'earliest'; ;) {
    const page = (await other.send('GET', `${PATH}/messages?cursor=${cursor}`)).json;
    if (page.messages.length === 0) break;
    found.push(...page.messages.map(({ text }: { text: string }) => text));
    cursor = page.cursor;
  }
  expect(found).toEqual(['before', ...Array.from({ length: 40 }, (_, n) => String(n)), 'after']);
});
