import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ScheduleHandler } from '../../src/cli/schedule-handler.ts';
import { contextOf, sendEvent } from '../http/function-events.ts';
import { freshTable, sharedStack, type TableAddress } from '../stack.ts';
import { buildFunctions, type BuiltFunctions } from './built-functions.ts';
import { makeHotTopic } from './hot-topic.ts';
import type { Send } from './http-scenario.ts';
import { callerOf, ROOT_TOKEN, runServe, type Served } from './run-serve.ts';

// The bundles that are deployed, on real stores: nothing but functions, none of which knows where another one is.

const TEST_MS = 60_000;
const MINUTE_MS = 60_000;
const LONG_MS = 10 * MINUTE_MS;
const MESSAGES = 120;
const PATH = '/v1/topics/t';
const SCHEDULED = { source: 'aws.events', 'detail-type': 'Scheduled Event', detail: {} };

let built: BuiltFunctions;
beforeAll(async () => {
  built = await buildFunctions();
}, TEST_MS);
afterAll(() => built.remove());

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

type Line = Readonly<Record<string, unknown>>;

/** One event, and the lines that it writes; where it fails, they say so. */
async function eventOf(handler: ScheduleHandler, leftMs = 55_000): Promise<readonly Line[]> {
  const lines: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  await handler(SCHEDULED, contextOf(leftMs)).catch(() => undefined);
  return lines.map((line) => JSON.parse(line) as Line);
}

/** What the event's line says that was done. By default, a minute has passed since the one before. */
async function nextEvent(handler: ScheduleHandler, passedMs = MINUTE_MS): Promise<Line> {
  vi.setSystemTime(Date.now() + passedMs);
  const said = await eventOf(handler);
  expect(said.filter(({ level }) => level !== 'info')).toEqual([]);
  const done = said.filter(({ message }) => message === 'rebalanced');
  expect(done).toHaveLength(1);
  return done[0] ?? {};
}

async function sendTo(table: TableAddress): Promise<Send> {
  const handler = await built.api(sharedStack().store, table);
  return (method, path, sending) => sendEvent(handler, method, path, { token: ROOT_TOKEN, ...sending });
}

describe.each(['dynoxide', 'ministack'] as const)('functions alone, on %s', (kind) => {
  test(
    'a segment that carries too much is split at the second event, by any instance, and all goes on',
    async () => {
      const table = await freshTable(kind, AbortSignal.timeout(TEST_MS));
      const send = await sendTo(table);
      const topic = await makeHotTopic(send, 't');
      await topic.publish(1);
      // In its whole life it has carried little: whoever remembers nothing from one event to the next would never split it.
      expect(await nextEvent(await built.rebalance(table), LONG_MS)).toMatchObject({ splits: 0, merges: 0, topics: [] });
      expect(await topic.openSegments()).toHaveLength(1);

      // Twice what it is to carry in a minute.
      await topic.publish(1);
      const split = await nextEvent(await built.rebalance(table));
      expect(split).toMatchObject({ splits: 1, merges: 0, refused: 0, topics: [{ name: 't' }] });
      const [lower, upper, ...others] = await topic.openSegments();
      expect([lower?.lo, upper?.lo, upper?.hi, others]).toEqual([0, (lower?.hi ?? 0) + 1, 65_535, []]);
      const { events } = (await send('GET', `${PATH}/scaling`)).json;
      expect(events).toMatchObject([{ kind: 'split', by: 'planner', parents: ['s0000000'], at: upper?.lo }]);

      await topic.publish(1);
      await topic.expectAll();
    },
    TEST_MS,
  );

  test(
    'it is no broker, leads nobody between two events, and leaves what is quiet as it is',
    async () => {
      const table = await freshTable(kind, AbortSignal.timeout(TEST_MS));
      const send = await sendTo(table);
      const topic = await makeHotTopic(send, 't');
      const handler = await built.rebalance(table);
      for (let minute = 0; minute < 3; minute += 1) expect(await nextEvent(handler)).toMatchObject({ splits: 0, merges: 0, topics: [] });
      expect(await topic.openSegments()).toHaveLength(1);
      expect((await send('GET', '/v1/brokers')).json.brokers).toEqual([]);
      expect((await send('GET', '/v1/leader')).json).toMatchObject({ code: 'unavailable' });
    },
    TEST_MS,
  );
});

test('without a table that answers, the invocation fails, and says so', async () => {
  const table = { ...(await freshTable('dynoxide', AbortSignal.timeout(TEST_MS))), table: 'kelp-that-is-not-there' };
  const handler = await built.rebalance(table);
  vi.spyOn(console, 'log').mockReturnValue();
  await expect(handler(SCHEDULED, contextOf(5_000))).rejects.toMatchObject({ code: expect.any(String) as string });
  expect(await eventOf(handler, 5_000)).toContainEqual(expect.objectContaining({ level: 'error', message: 'rebalancing failed' }));
});

describe('beside a process that leads', () => {
  const secret = { KELP_INTERNAL_SECRET: 'an-internal-secret-of-the-test' };
  let table: TableAddress;
  let served: Served;
  beforeAll(async () => {
    table = await freshTable('dynoxide', AbortSignal.timeout(TEST_MS));
    served = await runServe({ store: sharedStack().store, table, environment: { ...secret, KELP_REBALANCE_MS: '0' } });
  }, TEST_MS);
  afterAll(async () => {
    served.signal('SIGTERM');
    await served.exited;
  });
  beforeEach(() => void vi.useRealTimers());

  const call = (method: string, path: string, body?: unknown): Promise<Response> => callerOf(served)(method, path, body);
  const leaderNow = async (): Promise<unknown> => (await call('GET', '/v1/leader')).json();

  test(
    'it asks that one, which splits, and leads on',
    async () => {
      await expect.poll(async () => (await call('GET', '/v1/leader')).status).toBe(200);
      const leader = await leaderNow();
      await call('PUT', PATH, { partitionKey: 'key', scaling: { targetMessagesPerSecond: 1 } });
      const messages = Array.from({ length: MESSAGES }, (_, n) => ({ key: `k${n}`, text: String(n) }));
      const handler = await built.rebalance(table, secret);
      const said: Line[] = [];
      // Until the leader has known the segment for long enough.
      await expect
        .poll(async () => {
          await call('POST', `${PATH}/messages`, { messages });
          said.push(...(await eventOf(handler)));
          return said.at(-1);
        })
        .toMatchObject({ message: 'rebalanced', splits: 1 });
      // No line but those of the events: it has led nobody.
      expect(said.filter(({ message }) => message !== 'rebalanced')).toEqual([]);
      expect(await leaderNow()).toEqual(leader);
    },
    TEST_MS,
  );

  test(
    'without a way to ask, it waits for the lease as long as it may, and fails',
    async () => {
      await expect.poll(async () => (await call('GET', '/v1/leader')).status).toBe(200);
      const leader = await leaderNow();
      const said = await eventOf(await built.rebalance(table), 5_000);
      expect(said).toMatchObject([{ message: 'rebalancing failed', error: { code: 'out-of-time' } }]);
      expect(await leaderNow()).toEqual(leader);
    },
    TEST_MS,
  );
});
