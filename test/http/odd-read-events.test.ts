import fc from 'fast-check';
import { beforeEach, expect, test, vi } from 'vitest';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createApp } from '../../src/http/app.ts';
import { createFunctionHandler, createInvocations, functionRuntime } from '../../src/http/function-handler.ts';
import { readingHandlers } from '../../src/http/reading-handlers.ts';
import { createStreamingHandler } from '../../src/http/streaming-handler.ts';
import { KelpError } from '../../src/model/errors.ts';
import { FUNCTION_READ_BYTES_MAX, FUNCTION_WAIT_MS_MAX } from '../../src/model/function-limits.ts';
import { READ_BYTES_MAX } from '../../src/model/limits.ts';
import { bytesOf, contextOf } from './function-events.ts';
import { type Log, openLog } from './log.ts';
import { type OddEvent, oddEvents } from './odd-events.ts';
import { ResponseStream, streamingPlatform } from './streaming-platform.ts';
import { createTestApp } from './test-app.ts';

// Whatever comes to the two handlers that read has an answer in its time, and none is a failure of theirs.

const SEED = 20_261_130;
const EVENTS = 500;
/** Side by side: some wait for what nobody publishes, until their time is over. */
const AT_ONCE = 100;
/** Of an offset that few of the events have. */
const BEYOND_TAIL = '416';
/** Of a busy machine, beyond the time of an event. */
const SLACK_MS = 10_000;

type Answered = { readonly status: number; readonly text: string };
type Ways = Readonly<Record<'streams' | 'answers whole', (odd: OddEvent) => Promise<Answered>>>;

let ways: Ways;
let log: Log;
let isAway: boolean;
beforeEach(async () => {
  // The adapter writes down what it can make no request of.
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  isAway = false;
  const t = createTestApp({ table: leavingTable() });
  const limits = { ...t.deps.limits, readBytesMax: FUNCTION_READ_BYTES_MAX, waitMsMax: FUNCTION_WAIT_MS_MAX };
  const whole = { ...t.deps, runtime: functionRuntime, limits };
  const streamed = { ...whole, runtime: { ...functionRuntime, streams: true }, limits: { ...limits, readBytesMax: READ_BYTES_MAX } };
  const invocations = createInvocations({ clock: createSystemClock(), settled: t.background.settled });
  const handler = createStreamingHandler(createApp(streamed, readingHandlers(streamed)), streamingPlatform, invocations);
  const buffered = createFunctionHandler(createApp(whole, readingHandlers(whole)), invocations);
  ways = {
    streams: async ({ event, leftMs }) => {
      const stream = new ResponseStream();
      await handler(event, stream, contextOf(leftMs));
      expect(stream.writableFinished).toBe(true);
      const { status, body } = stream.response();
      return { status, text: body.toString() };
    },
    'answers whole': async ({ event, leftMs }) => {
      const result = await buffered(event, contextOf(leftMs));
      return { status: result.statusCode ?? 0, text: Buffer.from(bytesOf(result)).toString() };
    },
  };
  log = await openLog(t);
  for (const text of ['one', 'two', 'three']) await log.publish({ messages: [{ key: 'a', text }] });
});

/** Refuses all reads while it is away. */
function leavingTable() {
  const table = createMemoryTable();
  const leaving = <A extends unknown[], R>(read: (...asked: A) => Promise<R>) => {
    return async (...asked: A): Promise<R> => {
      if (isAway) throw new KelpError('unavailable', 'table-unavailable', 'the table is away');
      return read(...asked);
    };
  };
  return { ...table, get: leaving(table.get), query: leaving(table.query) };
}

async function outcomes(way: (odd: OddEvent) => Promise<Answered>): Promise<readonly string[]> {
  const events = fc.sample(oddEvents(log.topic, log.segment), { seed: SEED, numRuns: EVENTS });
  const all: string[] = [];
  for (let at = 0; at < events.length; at += AT_ONCE) {
    all.push(...(await Promise.all(events.slice(at, at + AT_ONCE).map((odd) => outcome(way, odd)))));
  }
  return all;
}

/** What is right, in one word; what is not, with the event. */
async function outcome(way: (odd: OddEvent) => Promise<Answered>, odd: OddEvent): Promise<string> {
  const beganMs = performance.now();
  const result = await way(odd).catch((error: unknown) => ({ status: 0, text: String(error) }));
  const isLate = performance.now() - beganMs > odd.leftMs + SLACK_MS;
  const isProblem = result.status < 400 || odd.event.requestContext.http.method === 'HEAD' || /^\{"type":.*"code":"/.test(result.text);
  const isFine = result.status >= 200 && isProblem && !isLate;
  return isFine ? String(result.status) : JSON.stringify({ ...result, isLate, ...odd });
}

/** Each of these comes, or the events are too much of a kind; and nothing else does. */
async function expectOutcomes(way: keyof Ways, ...expected: readonly string[]): Promise<void> {
  const all = await outcomes(ways[way]);
  expect(all.filter((one) => !expected.includes(one) && one !== BEYOND_TAIL)).toEqual([]);
  expect(expected.filter((one) => !all.includes(one))).toEqual([]);
}

test.each(['streams', 'answers whole'] as const)('the handler that %s refuses what is wrong, and answers in its time', async (way) => {
  await expectOutcomes(way, '200', '204', '400', '401', '404', '405', '406', '408');
});

test.each(['streams', 'answers whole'] as const)('the handler that %s says that it can’t where a store is away', async (way) => {
  isAway = true;
  await expectOutcomes(way, '200', '204', '400', '401', '404', '405', '406', '408', '503');
});
