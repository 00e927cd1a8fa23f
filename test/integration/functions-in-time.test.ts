import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FUNCTION_LEASE_MS } from '../../src/model/function-limits.ts';
import { buildFunctions, type BuiltFunctions } from './built-functions.ts';
import { type FaultProxy, type Passing, startFaultProxy } from './fault-proxy.ts';
import type { FunctionProcess, Invoked } from './functions/function-process.ts';
import { answerOf, asking, createFunctionWorld, type FunctionWorld, PATH, publishing, splitting } from './functions/function-world.ts';

// J-48: the bundles that are deployed, when their time is over, the platform ends them, or it gives them several requests at once.

const TEST_MS = 60_000;
const SLOW_MS = 2_000;
/** What the platform leaves from SIGTERM to the exit; an instance takes less than a tenth of it. */
const END_MS_MAX = 500;

let built: BuiltFunctions;
let world: FunctionWorld;
let store: FaultProxy;
let table: FaultProxy;
beforeAll(async () => {
  built = await buildFunctions();
}, TEST_MS);
afterAll(() => built.remove());
beforeEach(async () => {
  world = await createFunctionWorld(built);
  [store, table] = await Promise.all([startFaultProxy(world.store.endpoint), startFaultProxy(world.table.endpoint)]);
  await world.ask(asking('PUT', PATH, { partitionKey: 'key' }));
});
afterEach(async () => {
  world.end();
  await Promise.all([store.close(), table.close()]);
});

const start = (name: string): Promise<FunctionProcess> => world.start(name, { store: store.url, table: table.url });
const slow = (proxy: FaultProxy) => proxy.plant({ matches: () => true, fault: { kind: 'delay', ms: SLOW_MS }, count: Infinity });
const rebalancing = asking('POST', '/v1/rebalance', { dryRun: false });

/**
 * It has ended by itself, before storage has answered, and nothing of it is under way. That it has ended to the millisecond is
 * tested on virtual time: what waits here for a busy core, is not the instance.
 */
function expectInTime({ ms, pending }: Invoked, msMax = SLOW_MS): void {
  expect(ms).toBeLessThan(msMax);
  expect(pending).toEqual([]);
}

describe('the platform leaves 400 ms, and storage takes 2 s', () => {
  const LEFT_MS = 400;

  test(
    'a publish: a retryable answer, which says whether it is known what became of it; the next one is acked',
    async () => {
      const broker = await start('broker');
      expect(answerOf((await broker.invoke(publishing('first'))).result).status).toBe(200);
      for (const [proxy, expected] of [
        [store, { status: 408, body: { code: 'timeout', retryable: true, indefinite: false } }],
        [table, { status: 504, body: { code: 'indefinite', retryable: true, indefinite: true } }],
      ] as const) {
        const slowed = slow(proxy);
        const late = await broker.invoke(publishing('late'), LEFT_MS);
        expectInTime(late);
        expect(answerOf(late.result)).toMatchObject(expected);
        slowed.end();
      }
      expect(answerOf((await broker.invoke(publishing('last'))).result).status).toBe(200);
      // What was sent when its time was over may come later.
      const texts = await world.texts();
      expect(texts.filter((text) => text !== 'late')).toEqual(['first', 'last']);
      expect(texts.length).toBeLessThanOrEqual(3);
    },
    TEST_MS,
  );

  test(
    'a read, a change, a rebalancing, a sweep, archiving: each ends before',
    async () => {
      const [read, leader, rebalance, sweep, archive] = await Promise.all(['read', 'leader', 'rebalance', 'sweep', 'archive'].map(start));
      slow(store);
      slow(table);
      const http = await Promise.all([
        read?.invoke(asking('GET', `${PATH}/messages`), LEFT_MS),
        ...[splitting('s0000000', 9), asking('PUT', '/v1/topics/u', { partitionKey: 'key' }), asking('DELETE', PATH), rebalancing].map(
          (event) => leader?.invoke(event, LEFT_MS),
        ),
      ]);
      for (const invoked of http) {
        expect(invoked?.ms).toBeLessThan(SLOW_MS);
        expect(answerOf(invoked?.result)).toMatchObject({ status: 408, body: { retryable: true } });
      }
      const rebalanced = (await rebalance?.invoke({}, LEFT_MS)) as Invoked;
      expectInTime(rebalanced);
      expect(rebalanced.error?.code).toBe('out-of-time');
      expectInTime((await sweep?.invoke({}, LEFT_MS)) as Invoked);
      expect(sweep?.lines().at(-1)).toMatchObject({ message: 'swept', complete: false });
      // What it keeps of its time for the file that it is at is more than there is.
      const archived = (await archive?.invoke({}, LEFT_MS)) as Invoked;
      expectInTime(archived);
      expect(archived.error?.code).toBe('out-of-time');
      expect(await world.holder()).toBe('');
    },
    TEST_MS,
  );
});

test(
  'a leader whose lease is taken when its time is nearly over has given it back when its time is over',
  async () => {
    const leader = await start('leader');
    expect(answerOf((await leader.invoke(rebalancing)).result).status).toBe(200);
    const slowed = table.plant({
      matches: ({ operation }) => operation !== 'GetItem',
      fault: { kind: 'delay', ms: 1_000 },
      count: Infinity,
    });
    const leftMs = 5_000;
    const late = await leader.invoke(splitting('s0000000', 9), leftMs);
    expectInTime(late, leftMs);
    expect(answerOf(late.result).body).toMatchObject({ retryable: true });
    slowed.end();
    await expect.poll(() => world.holder()).toBe('');
  },
  TEST_MS,
);

test(
  'what one failure has made useless is over, too, when the answer is given',
  async () => {
    const leader = await start('leader');
    expect(answerOf((await leader.invoke(rebalancing)).result).status).toBe(200);
    const isHead = ({ operation, body }: Passing): boolean => operation === 'PutItem' && body.includes('"S":"h#');
    const refusal = { kind: 'answer', status: 400, body: '{"__type":"x#ValidationException"}' } as const;
    table.plant({ matches: isHead, fault: refusal });
    table.plant({ matches: isHead, fault: { kind: 'delay', ms: SLOW_MS / 2 }, count: Infinity });
    const failed = await leader.invoke(asking('PUT', '/v1/topics/u', { partitionKey: 'key', segments: 8 }));
    expect(answerOf(failed.result).status).toBe(500);
    expect(failed.pending).toEqual([]);
  },
  TEST_MS,
);

describe('the platform ends an instance in the middle of a split', () => {
  test.each([
    { name: 'leader', event: splitting('s0000000', 32_768) },
    { name: 'rebalance', event: {} },
  ])(
    '$name: it leaves no lease, and another one leads at once',
    async ({ name, event }) => {
      await world.ask(asking('PATCH', PATH, { scaling: { targetMessagesPerSecond: 1 } }));
      const messages = Array.from({ length: 120 }, (_, n) => ({ key: `k${n}`, text: String(n) }));
      await world.ask(asking('POST', `${PATH}/messages`, { messages }));
      const instance = await start(name);
      instance.setLate(60_000);
      const held = table.plant({
        matches: ({ operation, body }) => operation === 'UpdateItem' && body.includes('sealed'),
        fault: { kind: 'hold' },
      });
      void instance.invoke(event, 55_000);
      await held.struck;
      expect(await world.holder()).not.toBe('');
      const signalledMs = performance.now();
      instance.signal('SIGTERM');
      const exited = await instance.exited;
      const endMs = performance.now() - signalledMs;
      expect(exited).toBe(0);
      expect(endMs).toBeLessThan(END_MS_MAX);
      expect(await world.holder()).toBe('');
      // By now it has not arrived, and never will; the next one carries the split on.
      held.end();
      const next = await world.start('leader');
      const again = await next.invoke(splitting('s0000000', 32_768));
      expect(again.ms).toBeLessThan(FUNCTION_LEASE_MS / 2);
      expect(answerOf(again.result)).toMatchObject({ status: 409, body: { code: 'segment-sealed' } });
    },
    TEST_MS,
  );
});

describe('several requests at once in one instance', () => {
  test(
    'publishes: each is answered for itself, in its own time, and nothing is left when the last one is',
    async () => {
      const broker = await start('broker');
      await broker.invoke(publishing('first'));
      const slowed = slow(store);
      const hurried = Array.from({ length: 5 }, (_, n) => broker.invoke(publishing(`late ${n}`, `l${n}`), 400));
      const patient = Array.from({ length: 20 }, (_, n) => broker.invoke(publishing(`patient ${n}`, `p${n}`)));
      const known: string[] = [];
      for (const [n, { result, ms }] of (await Promise.all(hurried)).entries()) {
        expect(ms).toBeLessThan(SLOW_MS);
        const { status, body } = answerOf(result);
        expect({ status, ...body }).toMatchObject({ status: body['indefinite'] === true ? 504 : 408, retryable: true });
        if (body['indefinite'] !== true) known.push(`late ${n}`);
      }
      const all = await Promise.all(patient);
      slowed.end();
      expect(all.map(({ result }) => result?.statusCode)).toEqual(all.map(() => 200));
      expect((await broker.invoke(publishing('last'))).pending).toEqual([]);
      const texts = await world.texts();
      expect(new Set(texts).size).toBe(texts.length);
      // Of those that went with others into one object, nobody knew whether it would be committed.
      expect(texts.filter((text) => known.includes(text))).toEqual([]);
      const expected = ['first', 'last', ...Array.from({ length: 20 }, (_, n) => `patient ${n}`)].toSorted();
      expect(texts.filter((text) => !text.startsWith('late')).toSorted()).toEqual(expected);
    },
    TEST_MS,
  );

  test(
    'splits: one after the other under one lease each, none of them in vain',
    async () => {
      expect(await world.ask(asking('DELETE', PATH))).toMatchObject({ status: 204 });
      expect(await world.ask(asking('PUT', PATH, { partitionKey: 'key', segments: 8 }))).toMatchObject({ status: 201 });
      const leader = await start('leader');
      const split = (n: number): Promise<Invoked> => leader.invoke(splitting(`s000000${n + 1}`, n * 8_192 + 4_096));
      const all = await Promise.all(Array.from({ length: 8 }, (_, n) => split(n)));
      expect(all.map(({ result }) => result?.statusCode)).toEqual(all.map(() => 200));
      expect((await leader.invoke(rebalancing)).pending).toEqual([]);
      const { body } = await world.ask(asking('GET', `${PATH}/segments`));
      expect((body['segments'] as { state: string }[]).filter(({ state }) => state === 'open')).toHaveLength(16);
      expect(await world.holder()).toBe('');
    },
    TEST_MS,
  );
});
