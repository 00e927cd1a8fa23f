import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { buildFunctions, type BuiltFunctions } from './built-functions.ts';
import { type FaultProxy, type Passing, startFaultProxy } from './fault-proxy.ts';
import type { FunctionProcess, Invoked } from './functions/function-process.ts';
import {
  type Answered,
  answerOf,
  asking,
  createFunctionWorld,
  type FunctionWorld,
  PATH,
  publishing,
  splitting,
} from './functions/function-world.ts';
import { startTcpProxy, type TcpProxy } from './functions/tcp-proxy.ts';

// J-48, F10: the bundles that are deployed, each instance in a process of its own that is frozen (SIGSTOP) and goes on hours later.

const TEST_MS = 60_000;
const MINUTE_MS = 60_000;
const SIX_HOURS_MS = 6 * 3_600_000;
/** Far more than a request takes with another connection, and less than one that waits for an answer which never comes. */
const USUAL_MS_MAX = 3_000;

let built: BuiltFunctions;
let world: FunctionWorld;
const ends: (() => unknown)[] = [];
beforeAll(async () => {
  built = await buildFunctions();
}, TEST_MS);
afterAll(() => built.remove());
beforeEach(async () => {
  world = await createFunctionWorld(built);
});
afterEach(async () => {
  world.end();
  for (const end of ends.splice(0)) await end();
});

const openSegments = async (): Promise<string[]> => {
  const { body } = await world.ask(asking('GET', `${PATH}/segments`));
  const segments = body['segments'] as { segment: string; state: string }[];
  return segments.filter(({ state }) => state === 'open').map(({ segment }) => segment);
};

describe('frozen for six hours between two requests', () => {
  let proxies: readonly TcpProxy[];
  beforeEach(async () => {
    proxies = await Promise.all([startTcpProxy(world.store.endpoint), startTcpProxy(world.table.endpoint)]);
    ends.push(...proxies.map(({ close }) => close));
  });
  // As in the stack, where others know it; nobody is there who would ask.
  const fleet = { KELP_PUBLIC_URL: 'http://127.0.0.1:9', KELP_INTERNAL_SECRET: 'an-internal-secret-of-the-test' };
  const start = (name: string): Promise<FunctionProcess> =>
    world.start(name, { store: proxies[0]?.url ?? '', table: proxies[1]?.url ?? '' }, fleet);

  /** The answer, within the usual time, and with nothing under way behind it. */
  async function usual(asked: Promise<Invoked>): Promise<Answered> {
    const { result, ms, pending } = await asked;
    expect([answerOf(result).status, pending]).toEqual([200, []]);
    expect(ms).toBeLessThan(USUAL_MS_MAX);
    return answerOf(result);
  }

  /** Twice, since the first time is a cold one; then six hours pass, in which `meanwhile` happens, and connections are lost. */
  async function freeze(instance: FunctionProcess, ask: () => Promise<Invoked>, meanwhile: () => Promise<void>, fate: 'reset' | 'forget') {
    await usual(ask());
    await usual(ask());
    instance.freeze();
    await meanwhile();
    const before = proxies.map(({ connections }) => connections());
    for (const proxy of proxies) proxy[fate]();
    instance.thaw(SIX_HOURS_MS);
    const answer = await usual(ask());
    // One for what was asked, and one for what is asked beside: each has connected anew, and none of them twice.
    for (const [n, proxy] of proxies.entries()) expect(proxy.connections() - (before[n] ?? 0)).toBeLessThanOrEqual(2);
    return answer;
  }

  test.each(['reset', 'forget'] as const)(
    'a publish: heads were filled, spilled, and replaced, and connections: %s',
    async (fate) => {
      await world.ask(asking('PUT', PATH, { partitionKey: 'key' }));
      const instance = await start('broker');
      const others = Array.from({ length: 40 }, (_, n) => `other ${n}`);
      let own = 0;
      const answer = await freeze(
        instance,
        () => instance.invoke(publishing(`own ${own++}`)),
        async () => {
          for (const text of others) expect(await world.ask(publishing(text))).toMatchObject({ status: 200 });
          expect(await world.ask(splitting('s0000000', 32_768))).toMatchObject({ status: 200 });
        },
        fate,
      );
      expect(answer.body).toEqual({ segment: 's0000001', offset: 0 });
      await usual(instance.invoke(publishing('own 3')));
      expect(await world.texts()).toEqual(['own 0', 'own 1', ...others, 'own 2', 'own 3']);
    },
    TEST_MS,
  );

  test(
    'a publish: the topic was made anew',
    async () => {
      await world.ask(asking('PUT', PATH, { partitionKey: 'key' }));
      const instance = await start('broker');
      const answer = await freeze(
        instance,
        () => instance.invoke(publishing('own')),
        async () => {
          expect(await world.ask(asking('DELETE', PATH))).toMatchObject({ status: 204 });
          expect(await world.ask(asking('PUT', PATH, { partitionKey: 'key' }))).toMatchObject({ status: 201 });
        },
        'reset',
      );
      expect(answer.body).toEqual({ segment: 's0000001', offset: 0 });
      expect(await world.texts()).toEqual(['own']);
    },
    TEST_MS,
  );

  test.each(['broker', 'leader'])(
    'the fleet was taken for dead meanwhile: it is registered again behind the next request, of the %s',
    async (name) => {
      await world.ask(asking('PUT', PATH, { partitionKey: 'key' }));
      const instance = await start(name);
      const ask = (): Promise<Invoked> =>
        instance.invoke(name === 'broker' ? publishing('own') : asking('POST', '/v1/rebalance', { dryRun: true }));
      await freeze(
        instance,
        ask,
        async () => {
          expect(await world.fleet()).toMatchObject({ kind: 'fleet', version: 1 });
          await world.deleteFleet();
        },
        'forget',
      );
      expect(await world.fleet()).toMatchObject({ kind: 'fleet', url: fleet.KELP_PUBLIC_URL, version: 2 });
    },
    TEST_MS,
  );

  test(
    'a read, and a look by the leader',
    async () => {
      await world.ask(asking('PUT', PATH, { partitionKey: 'key' }));
      const reader = await start('read');
      const meanwhile = async (): Promise<void> => void (await world.ask(publishing('x')));
      const page = await freeze(reader, () => reader.invoke(asking('GET', `${PATH}/messages`)), meanwhile, 'forget');
      expect(page.body).toMatchObject({ messages: [{ text: 'x' }] });
      const leader = await start('leader');
      const looked = await freeze(leader, () => leader.invoke(asking('POST', '/v1/rebalance', { dryRun: false })), meanwhile, 'forget');
      expect(looked.body).toEqual({ topics: [] });
      expect(await world.holder()).toBe('');
    },
    TEST_MS,
  );
});

describe('frozen in the middle of a publish, and going on hours after its segment was split', () => {
  /** The upload, or the commit behind it, on its way or on its way back. */
  const isUpload = ({ method, path }: Passing): boolean => method === 'PUT' && path.includes('/log/');
  const isCommit = ({ operation, body }: Passing): boolean => operation === 'UpdateItem' && /"S":"h#/.test(body.toString());

  test.each([
    { point: 'the upload', kind: 'hold' },
    { point: 'the commit', kind: 'hold' },
    { point: 'the commit', kind: 'hold-answer' },
  ] as const)(
    'at $point ($kind): the message is there once, where its answer says',
    async ({ point, kind }) => {
      const [store, table] = await Promise.all([startFaultProxy(world.store.endpoint), startFaultProxy(world.table.endpoint)]);
      ends.push(store.close, table.close);
      await world.ask(asking('PUT', PATH, { partitionKey: 'key' }));
      const broker = await world.start('broker', { store: store.url, table: table.url });
      expect(answerOf((await broker.invoke(publishing('first'))).result).status).toBe(200);
      const held =
        point === 'the upload' ? store.plant({ matches: isUpload, fault: { kind } }) : table.plant({ matches: isCommit, fault: { kind } });
      const over = broker.invoke(publishing('frozen'), SIX_HOURS_MS + MINUTE_MS);
      await held.struck;
      broker.freeze();
      expect(await world.ask(publishing('other'))).toMatchObject({ status: 200 });
      expect(await world.ask(splitting('s0000000', 32_768))).toMatchObject({ status: 200 });
      held.end();
      broker.thaw(SIX_HOURS_MS);
      const { result, pending } = await over;
      expect([answerOf(result).status, pending]).toEqual([200, []]);
      // What came before the split is there; what would have come after it goes to who continues its range.
      expect(answerOf(result).body).toEqual(
        kind === 'hold-answer' ? { segment: 's0000000', offset: 1 } : { segment: 's0000001', offset: 0 },
      );
      expect(await world.texts()).toEqual(kind === 'hold-answer' ? ['first', 'frozen', 'other'] : ['first', 'other', 'frozen']);
      expect(await world.ask(publishing('last'))).toMatchObject({ status: 200 });
    },
    TEST_MS,
  );
});

/** Of a split: the intent in the topic's item, the seal of the parent, the publication in the topic's item. */
const isOfTopic = ({ operation, body }: Passing): boolean => operation === 'PutItem' && /"S":"t#/.test(body.toString());
const SPLIT = {
  'the intent': { matches: isOfTopic, from: 1 },
  'the seal': { matches: ({ operation, body }: Passing) => operation === 'UpdateItem' && body.includes('sealed'), from: 1 },
  'the publication': { matches: isOfTopic, from: 2 },
};
type Point = { readonly point: keyof typeof SPLIT; readonly kind: 'hold' | 'hold-answer' };
const POINTS: readonly Point[] = [
  { point: 'the intent', kind: 'hold' },
  { point: 'the intent', kind: 'hold-answer' },
  { point: 'the seal', kind: 'hold' },
  { point: 'the publication', kind: 'hold' },
];

describe('frozen in the middle of a split, and going on hours after another one has led', () => {
  let proxy: FaultProxy;
  beforeEach(async () => {
    proxy = await startFaultProxy(world.table.endpoint);
    ends.push(proxy.close);
    await world.ask(asking('PUT', PATH, { partitionKey: 'key', scaling: { targetMessagesPerSecond: 1 } }));
    // Twice what the topic's one segment is to carry in a minute.
    const messages = Array.from({ length: 120 }, (_, n) => ({ key: `k${n}`, text: String(n) }));
    expect(await world.ask(asking('POST', `${PATH}/messages`, { messages }))).toMatchObject({ status: 200 });
  });

  type Frozen = {
    readonly at: Point;
    readonly frozen: FunctionProcess;
    readonly event: unknown;
    readonly leadNext: () => Promise<void>;
  };

  /** The request that is held arrives, or its answer does, when others have gone further. What the instance says in the end. */
  async function thawAfterOthers({ at: { point, kind }, frozen, event, leadNext }: Frozen): Promise<Invoked> {
    const held = proxy.plant({ ...SPLIT[point], fault: { kind } });
    const over = frozen.invoke(event, 55_000);
    await held.struck;
    frozen.freeze();
    await leadNext();
    const [stored, open] = [await world.stored(), await openSegments()];
    expect(open.length).toBeGreaterThan(1);
    held.end();
    frozen.thaw(SIX_HOURS_MS);
    const said = await over;
    expect(said.pending).toEqual([]);
    expect([await world.stored(), await openSegments()]).toEqual([stored, open]);
    expect(await world.holder()).toBe('');
    return said;
  }

  test.each(POINTS)(
    'the rebalancer, at $point ($kind): it changes nothing, says so, and one of both says that it has split',
    async (at) => {
      const [frozen, next] = [await world.start('rebalance', { table: proxy.url }), await world.start('rebalance')];
      frozen.setLate(MINUTE_MS);
      // Longer than the lease of the one before, by a clock that everybody has.
      next.setLate(1.4 * MINUTE_MS);
      const leadNext = async (): Promise<void> => expect(await next.invoke({}, 55_000)).toMatchObject({ pending: [] });
      await thawAfterOthers({ at, frozen, event: {}, leadNext });
      const [said, nextSaid] = [frozen.lines().at(-1), next.lines().at(-1)];
      expect(Number(said?.['splits']) + Number(nextSaid?.['splits'])).toBe(1);
      expect([said, nextSaid]).toMatchObject([
        { message: 'rebalanced', counts: { 'kelp.rebalance.memory.unwritten': 1 } },
        { message: 'rebalanced', counts: { 'kelp.leader.terms': 1 } },
      ]);
    },
    TEST_MS,
  );

  test.each(POINTS)(
    'the leader, at $point ($kind): what stands is the split that came first, and both say that',
    async (at) => {
      const [frozen, next] = [await world.start('leader', { table: proxy.url }), await world.start('leader')];
      next.setLate(MINUTE_MS);
      let other: Answered | undefined;
      const leadNext = async (): Promise<void> => {
        other = answerOf((await next.invoke(splitting('s0000000', 16_384))).result);
      };
      const own = answerOf((await thawAfterOthers({ at, frozen, event: splitting('s0000000', 32_768), leadNext })).result);
      // An intent that nobody has seen is no change; one that stands is carried on by whoever comes.
      const isOther = at.kind === 'hold' && at.point === 'the intent';
      expect([own.status, other?.status]).toEqual(isOther ? [409, 200] : [200, 409]);
      const open = await openSegments();
      for (const { body } of [own, other as Answered]) {
        expect((body['successors'] as { segment: string }[]).map(({ segment }) => segment)).toEqual(open);
      }
    },
    TEST_MS,
  );
});
