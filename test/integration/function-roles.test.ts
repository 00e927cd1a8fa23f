import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { TABLE_ACTIONS } from '../../infra/stack/roles.ts';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { FunctionHandler } from '../../src/http/function-handler.ts';
import type { Topic } from '../../src/model/topic.ts';
import { UPLOAD_MS } from '../../src/model/upload-limits.ts';
import { bytesOf, contextOf, eventOf, sendEvent } from '../http/function-events.ts';
import { stage } from '../reference/some-uploads.ts';
import { freshTable, sharedStack, type TableAddress } from '../stack.ts';
import { buildFunctions, type BuiltFunctions, functionOf } from './built-functions.ts';
import { type FaultProxy, type Planted, startFaultProxy } from './fault-proxy.ts';
import { makeHotTopic } from './hot-topic.ts';
import type { Send } from './http-scenario.ts';
import { ROOT_TOKEN } from './run-serve.ts';

// Each function reaches the table by a way of its own, which refuses what its role doesn't allow, as the platform would.

const TEST_MS = 120_000;
const MINUTE_MS = 60_000;
const LONG_MS = 10 * MINUTE_MS;
const CARRIED_ON_MS_MAX = 30_000;
const DENIED = { __type: 'com.amazon.coral.service#AccessDeniedException', Message: 'not authorized to perform this' };
const REFUSAL = { kind: 'answer', status: 400, body: JSON.stringify(DENIED) } as const;

type Way = {
  readonly table: TableAddress;
  readonly proxy: FaultProxy;
  readonly used: ReadonlySet<string>;
  /** How often something was refused. */
  denied(): number;
};

let built: BuiltFunctions;
/** What each test has started. */
const started: { close(): unknown }[] = [];
beforeAll(async () => {
  built = await buildFunctions();
}, TEST_MS);
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await Promise.all(started.splice(0).map((one) => one.close()));
});
afterAll(() => built.remove());

async function wayTo(table: TableAddress, actions: readonly string[]): Promise<Way> {
  const used = new Set<string>();
  const proxy = await startFaultProxy(table.endpoint, ({ operation }) => void used.add(operation));
  started.push(proxy);
  const planted = proxy.plant({ matches: ({ operation }) => !actions.includes(operation), fault: REFUSAL, count: Infinity });
  return { table: { ...table, endpoint: proxy.url }, proxy, used, denied: planted.times };
}

/** What is in front of the functions, where others reach the fleet, too. */
async function startGateway(handlerOf: (name: ReturnType<typeof functionOf>) => FunctionHandler): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks).toString('base64');
      const headers = incoming.headers as Record<string, string>;
      const event = eventOf(incoming.method ?? '', incoming.url ?? '', {
        headers,
        ...(body === '' ? {} : { body, isBase64Encoded: true }),
      });
      void handlerOf(functionOf(event))(event, contextOf()).then((result) => {
        outgoing.writeHead(result.statusCode ?? 500, result.headers as Record<string, string>);
        outgoing.end(bytesOf(result));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  started.push(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test(
  'the role of each function is enough for all that it does, and allows nothing that none of it needs',
  async () => {
    const table = await freshTable('dynoxide', AbortSignal.timeout(TEST_MS));
    const { store } = sharedStack();
    // Two functions of one bundle that do the same, behind different doors.
    const { readBuffered, ...allowed } = TABLE_ACTIONS;
    expect(readBuffered).toEqual(allowed['read']);
    const ways = Object.fromEntries(
      await Promise.all(Object.entries(allowed).map(async ([name, actions]) => [name, await wayTo(table, actions)] as const)),
    ) as Record<'broker' | 'read' | 'leader' | 'rebalance' | 'sweep' | 'archive', Way>;
    const handlers = new Map<string, FunctionHandler>();
    const handlerOf = (name: string): FunctionHandler => handlers.get(name) as FunctionHandler;
    const member = { KELP_INTERNAL_SECRET: 'a-secret-among-brokers', KELP_PUBLIC_URL: await startGateway(handlerOf) };
    const log = vi.spyOn(console, 'log').mockReturnValue();
    for (const name of ['broker', 'leader'] as const) handlers.set(name, await built.one(name, store, ways[name].table, member));
    handlers.set('readBuffered', await built.one('readBuffered', store, ways.read.table));
    const send: Send = (method, path, sending) =>
      sendEvent((event, context) => handlerOf(functionOf(event))(event, context), method, path, { token: ROOT_TOKEN, ...sending });

    expect((await send('GET', '/readyz')).status).toBe(200);
    await readMany(send);
    await carryOn(send, ways);

    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    const hot = await makeHotTopic(send, 'hot');
    expect((await send('POST', '/v1/topics/hot/segments/s0000000/brokers', { body: {} })).status).toBe(200);
    const rebalance = await built.rebalance(ways.rebalance.table, { KELP_INTERNAL_SECRET: member.KELP_INTERNAL_SECRET });
    for (const passedMs of [LONG_MS, MINUTE_MS]) {
      await hot.publish(1);
      vi.setSystemTime(Date.now() + passedMs);
      await rebalance({}, contextOf(55_000));
    }
    expect(await hot.openSegments()).toHaveLength(2);

    // What was split is sealed, and so it is due at once.
    const archive = await built.archive(store, ways.archive.table);
    expect(await archive({}, contextOf(290_000))).toMatchObject({ held: 0, failed: 0, complete: true });
    expect((await send('GET', '/v1/topics/hot/files')).json).toMatchObject({ files: [{ segment: 's0000000', firstOffset: 0 }] });
    const cut = await send('POST', '/v1/topics/hot/truncate', { body: { timestamp: Date.now() } });
    expect(cut.json).toMatchObject({
      complete: true,
      segments: expect.arrayContaining([expect.objectContaining({ segment: 's0000000', from: 0 })]),
    });

    await stopDeletions(send, ways.leader.proxy);
    const clock = createSystemClock();
    const stores = { table: createLeanTable({ ...table, clock }), store: createLeanStore({ ...store, clock }) };
    const uploads = (await send('PUT', '/v1/topics/uploads', { body: { partitionKey: 'key' } })).json as Topic;
    await stage(stores, uploads, { nowMs: Date.now() - UPLOAD_MS, name: 'old' });
    const sweep = await built.sweep(store, ways.sweep.table);
    await sweep({}, contextOf(300_000));
    expect(log.mock.calls.map(([line]) => JSON.parse(String(line)) as object)).toContainEqual(
      expect.objectContaining({
        message: 'swept',
        deletions: { carriedOn: 1, cleaned: 2, strays: 0, failed: 0 },
        uploads: expect.objectContaining({ expired: 1, failed: 0 }) as object,
      }),
    );

    expect(Object.values(ways).map((way) => way.denied())).toEqual([0, 0, 0, 0, 0, 0]);
    const used = Object.entries(ways).map(([name, way]) => [name, [...way.used].toSorted()]);
    expect(Object.fromEntries(used)).toEqual(
      Object.fromEntries(Object.entries(allowed).map(([name, actions]) => [name, actions.toSorted()])),
    );
  },
  TEST_MS,
);

/** So much that it is in index pages. */
async function readMany(send: Send): Promise<void> {
  await send('PUT', '/v1/topics/many', { body: { partitionKey: 'key' } });
  for (let n = 0; n < 40; n += 1) {
    const headers = { 'content-type': 'text/plain', 'idempotency-key': `once-${n}` };
    expect((await send('POST', '/v1/topics/many/message?key=a', { body: String(n), headers })).json.offset).toBe(n);
  }
  expect((await send('GET', '/v1/topics/many/messages')).json.messages).toHaveLength(40);
  expect((await send('GET', '/v1/topics')).json.topics).toHaveLength(1);
}

/** A split, and one that is stopped when the segment is to be sealed, and goes on when somebody reads for long enough to see that nobody is at it. */
async function carryOn(send: Send, { leader: { proxy: leader }, read }: Record<'leader' | 'read', Way>): Promise<void> {
  expect((await send('PUT', '/v1/topics/changed', { body: { partitionKey: 'key' } })).status).toBe(201);
  expect((await send('POST', '/v1/topics/changed/segments/s0000000/brokers', { body: {} })).status).toBe(200);
  expect((await send('POST', '/v1/topics/changed/segments/s0000000/split', { body: { at: 32_768 } })).status).toBe(200);
  const split = stopAt(leader, 'UpdateItem');
  await send('POST', '/v1/topics/changed/segments/s0000001/split', { body: { at: 16_384 } });
  expect(split.times()).toBeGreaterThan(0);
  split.end();
  // By it alone: any other function that is asked carries on as well, and whoever is the first one does.
  const goesOn = async (): Promise<void> => {
    expect((await send('GET', '/v1/topics/changed/messages')).status).toBe(200);
    expect(read.used).toContain('DeleteItem');
  };
  await vi.waitFor(goesOn, { timeout: CARRIED_ON_MS_MAX, interval: 250 });
  expect((await send('GET', '/v1/topics/changed/segments')).json.segments).toHaveLength(5);
}

/** One when its segments are to be sealed, one when its index is to go. */
async function stopDeletions(send: Send, leader: FaultProxy): Promise<void> {
  for (const [topic, operation] of [
    ['changed', 'UpdateItem'],
    ['many', 'DeleteItem'],
  ] as const) {
    const planted = stopAt(leader, operation);
    await send('DELETE', `/v1/topics/${topic}`);
    expect(planted.times()).toBeGreaterThan(0);
    planted.end();
  }
}

function stopAt(proxy: FaultProxy, operation: string): Planted {
  return proxy.plant({ matches: (request) => request.operation === operation, fault: REFUSAL, count: Infinity });
}

test(
  'what a role does not allow is refused: one that may only list reads nothing',
  async () => {
    const table = await freshTable('dynoxide', AbortSignal.timeout(TEST_MS));
    const way = await wayTo(table, ['Query']);
    const read = await built.one('read', sharedStack().store, way.table);
    vi.spyOn(console, 'log').mockReturnValue();
    expect((await sendEvent(read, 'GET', '/v1/topics/t/messages', { token: ROOT_TOKEN })).status).toBe(500);
    expect(way.denied()).toBe(1);
  },
  TEST_MS,
);
