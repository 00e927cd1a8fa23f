import { describe, expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { assembleRebalance } from '../../src/cli/assemble-rebalance.ts';
import { leaseKey } from '../../src/format/item-key.ts';
import { SCALING_DEFAULT } from '../../src/model/scaling.ts';
import type { Topic } from '../../src/model/topic.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Item, MetadataTable } from '../../src/ports/metadata-table.ts';
import { readTopic } from '../../src/topology/apply-change.ts';
import { contextOf } from '../http/function-events.ts';
import { publishOf } from '../publish/requests.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { createTestBroker, type TestBroker } from '../simulation/test-broker.ts';
import { freshTable } from '../stack.ts';

// The schedule's function, started twice, at once, or frozen in the middle, on real tables (F11). Time passes when the test says so.

const TEST_MS = 60_000;
const MINUTE_MS = 60_000;
const MESSAGES = 120;
/** More calls than a look at one topic makes. */
const CALLS_MAX = 100;
const AT_ONCE = 4;

const system = createSystemClock();
const { signal } = new AbortController();

type World = {
  readonly table: MetadataTable;
  readonly clock: Clock;
  readonly broker: TestBroker;
  readonly topic: Topic;
  pass(ms: number): void;
};

/** A topic whose one segment has carried twice its target in the minute since it was made. */
async function hotTopic(kind: 'dynoxide' | 'ministack'): Promise<World> {
  let passedMs = 0;
  const clock: Clock = { ...system, nowMs: () => system.nowMs() + passedMs, monotonicMs: () => system.monotonicMs() + passedMs };
  const table = createLeanTable({ ...(await freshTable(kind, AbortSignal.timeout(TEST_MS))), clock: system });
  const broker = createTestBroker({ table, store: createMemoryStore(), clock, random: createSeededRandom(kind), wrapped: true });
  const scaling = { ...SCALING_DEFAULT, targetMessagesPerSecond: 1 };
  const { topic } = await broker.topics.create('t', { partitionKey: 'key', segments: 1, replicas: 2, scaling }, signal);
  const values = Array.from({ length: MESSAGES }, (_, n) => [`k${n}`, String(n)] as const);
  await broker.publisher.publish(topic, publishOf(values), signal);
  passedMs += MINUTE_MS;
  return { table, clock, broker, topic, pass: (ms) => void (passedMs += ms) };
}

type Told = { readonly message?: string; readonly splits?: number };
type Instance = {
  event(): Promise<unknown>;
  /** Splits that it says it has made. */
  splits(): number;
  /** What it says of its events. */
  said(): readonly string[];
};

/** An instance of the function, which knows nothing of what others did. */
function instance({ table, clock }: World, own: MetadataTable = table): Instance {
  const lines: Told[] = [];
  const handler = assembleRebalance(
    {},
    { table: own, clock, write: (line) => lines.push(JSON.parse(line) as Told), onTerminate: () => undefined },
  );
  return {
    event: () => handler({}, contextOf(55_000)),
    splits: () => lines.reduce((sum, { splits = 0 }) => sum + splits, 0),
    said: () => lines.flatMap(({ message = '' }) => (message.startsWith('rebalanc') ? message : [])),
  };
}

const openOf = async ({ broker, topic }: World): Promise<number> => (await readTopic(broker.deps, topic.id, signal)).open.length;

describe.each(['dynoxide', 'ministack'] as const)('on %s', (kind) => {
  test(
    'two at once, and two more: one split',
    async () => {
      const world = await hotTopic(kind);
      const both = [instance(world), instance(world)];
      for (let round = 0; round < 2; round += 1) await Promise.all(both.map((one) => one.event()));
      expect([await openOf(world), both.reduce((sum, one) => sum + one.splits(), 0)]).toEqual([2, 1]);
    },
    TEST_MS,
  );

  test(
    'twice in a row, by one instance or by two: one split',
    async () => {
      const world = await hotTopic(kind);
      const [one, other] = [instance(world), instance(world)];
      for (const next of [one, one, other, one]) await next.event();
      expect([await openOf(world), one.splits(), other.splits()]).toEqual([2, 1, 0]);
    },
    TEST_MS,
  );
});

type Frozen = { readonly instance: Instance; /** Whether it came so far. */ readonly struck: Promise<boolean>; thaw(): Promise<void> };

/**
 * Stands still at its `at`th call: before it is sent, or before its answer has come. When it goes on, what has waited for the
 * call comes first, and its timers after that.
 */
function freezeAt(world: World, { at, sent }: { readonly at: number; readonly sent: boolean }): Frozen {
  const struck = Promise.withResolvers<boolean>();
  const thawed = Promise.withResolvers<void>();
  const { clock, ring } = createAlarms(world.clock);
  let calls = 0;
  const own = interceptTable(world.table, async (_, make) => {
    calls += 1;
    if (calls !== at) return make();
    const made = sent ? await make() : undefined;
    struck.resolve(true);
    await thawed.promise;
    return sent ? (made as Awaited<ReturnType<typeof make>>) : make();
  });
  const frozen = instance({ ...world, clock }, own);
  const over = frozen.event().catch(() => undefined);
  void over.then(() => struck.resolve(false));
  const thaw = async (): Promise<void> => {
    thawed.resolve();
    setImmediate(ring);
    await over;
  };
  return { instance: frozen, struck: struck.promise, thaw };
}

/** A clock whose sleepers notice that time has passed only when `ring` is called. */
function createAlarms(clock: Clock): { readonly clock: Clock; ring(): void } {
  const sleeping = new Map<() => void, number>();
  return {
    clock: {
      ...clock,
      sleep(ms, own) {
        const { promise, resolve } = Promise.withResolvers<void>();
        sleeping.set(resolve, clock.monotonicMs() + ms);
        return Promise.race([promise, clock.sleep(ms, own)]).finally(() => sleeping.delete(resolve));
      },
    },
    ring() {
      for (const [wake, dueMs] of sleeping) if (dueMs <= clock.monotonicMs()) wake();
    },
  };
}

/** All that is stored of the topic and its segments, but for the history of what was done. */
async function storedOf({ table, topic, broker }: World): Promise<readonly Item[]> {
  const { nextSegment } = await readTopic(broker.deps, topic.id, signal);
  expect(nextSegment).toBeLessThan(10);
  const partitions = [`t#${topic.id}`, `s#${topic.id}`, ...Array.from({ length: nextSegment }, (_, n) => `h#${topic.id}#s000000${n}`)];
  const pages = await Promise.all(partitions.map((pk) => table.query({ pk, limit: 100 }, signal)));
  return pages.flatMap(({ items }) => items).filter(({ sk }) => sk !== 'scaling');
}

async function epochOf({ table }: World): Promise<number> {
  return Number((await table.get(leaseKey(), signal))?.['epoch'] ?? 0);
}

/** `run` at each call that a look makes; it answers whether there was one. Answers how many there are. */
async function atEachCall(run: (at: number) => Promise<boolean>): Promise<number> {
  for (let first = 1; first < CALLS_MAX; first += AT_ONCE) {
    const came = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => run(first + n)));
    if (came.includes(false)) return first - 1 + came.indexOf(false);
  }
  throw new Error('a look that does not end');
}

describe('frozen at any of its calls, and going on after another one has led', () => {
  test.each([{ sent: false }, { sent: true }])(
    'it changes nothing, and there is one split; the call sent: $sent',
    async ({ sent }) => {
      let compared = 0;
      const calls = await atEachCall(async (at) => {
        const world = await hotTopic('dynoxide');
        const frozen = freezeAt(world, { at, sent });
        if (!(await frozen.struck)) return false;
        world.pass(MINUTE_MS / 2);
        const other = instance(world);
        await other.event();
        const [epoch, stored] = [await epochOf(world), await storedOf(world)];
        await frozen.thaw();
        expect({ at, open: await openOf(world) }).toEqual({ at, open: 2 });
        // Frozen before it led, it may lead after the other one, and finds what that one has made.
        if ((await epochOf(world)) !== epoch) return true;
        compared += 1;
        expect({ at, stored: await storedOf(world) }).toEqual({ at, stored });
        // Whose write it was that counts: it can't be both.
        expect(frozen.instance.splits() + other.splits(), `call ${at}`).toBeLessThanOrEqual(1);
        expect(frozen.instance.said()).toHaveLength(1);
        return true;
      });
      expect(compared).toBeGreaterThan(15);
      expect(compared).toBeGreaterThanOrEqual(calls - 4);
    },
    2 * TEST_MS,
  );

  test.each([{ sent: false }, { sent: true }])(
    'what was decided by settings of before is not done any more; the call sent: $sent',
    async ({ sent }) => {
      let compared = 0;
      await atEachCall(async (at) => {
        const world = await hotTopic('dynoxide');
        const frozen = freezeAt(world, { at, sent });
        if (!(await frozen.struck)) return false;
        await world.broker.topics.change('t', { scaling: { targetMessagesPerSecond: 1_000_000 } }, signal);
        world.pass(MINUTE_MS / 2);
        await instance(world).event();
        const open = await openOf(world);
        await frozen.thaw();
        expect({ at, open: await openOf(world) }).toEqual({ at, open });
        if (open === 1) compared += 1;
        return true;
      });
      expect(compared).toBeGreaterThan(10);
    },
    2 * TEST_MS,
  );
});
