import { describe, expect, test } from 'vitest';
import { createRoutes } from '../../src/broker/create-routes.ts';
import { createServedSegments } from '../../src/broker/served-segments.ts';
import { headKey } from '../../src/format/item-key.ts';
import type { Head } from '../../src/model/head.ts';
import { type BrokerId, segmentId, type SegmentId } from '../../src/model/ids.ts';
import {
  ASSIGN_ASK_MS_MIN,
  ASSIGN_ASKS_MAX,
  BROKERS_KNOWN_MS_MAX,
  LEASE_MS,
  ROUTES_KNOWN_MAX,
  SUSPECT_MS_MIN,
} from '../../src/model/limits.ts';
import type { Topic } from '../../src/model/topic.ts';
import type { BrokerDirectory } from '../../src/control/brokers/directory.ts';
import { createBrokerDirectory } from '../../src/control/brokers/directory.ts';
import { createHeads } from '../../src/state/heads.ts';
import { putBroker, someBroker } from '../control/some-broker.ts';
import { createPeerNetwork } from '../simulation/peer-network.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { settle } from '../simulation/virtual-clock.ts';

const [SELF, B, C] = ['a', 'b', 'c'] as const;
const SEGMENT = segmentId(0);

/** A topic whose segments these brokers serve, and a broker that has seen nothing of it yet. */
async function open(brokers: readonly string[] | undefined, options: { readonly state?: Head['state'] } = {}) {
  const world = createTestWorld();
  const topic = await world.topic(2);
  const { state = 'open' } = options;
  const changes = [
    { op: 'set', path: ['state'], value: state },
    { op: 'set', path: ['brokers'], value: brokers ?? [] },
  ] as const;
  await world.table.update(headKey(topic.id, SEGMENT), { condition: [], changes }, world.signal);

  const reads: string[] = [];
  const table = interceptTable(world.table, (call, make) => {
    reads.push(call.name);
    return make();
  });
  const broker = world.broker({ table });
  const directory: BrokerDirectory = createBrokerDirectory({ table, clock: world.clock });
  for (const id of [SELF, B, C]) await putBroker(world.table, someBroker(id));
  await directory.list({ fresh: true }, world.signal);
  reads.length = 0;
  const asked = { assign: [] as SegmentId[], suspect: [] as string[] };
  const answers = { assign: [] as string[], dead: false, ms: 10 };
  const routes = createRoutes({
    self: SELF as BrokerId,
    heads: broker.heads,
    directory,
    peers: createPeerNetwork(world.clock).peers,
    clock: world.clock,
    background: broker.deps.background,
    leader: {
      async assign(_, segment, signal) {
        asked.assign.push(segment);
        await world.clock.sleep(answers.ms, signal);
        return answers.assign as BrokerId[];
      },
      async suspect(_, id, signal) {
        asked.suspect.push(id);
        await world.clock.sleep(answers.ms, signal);
        return { dead: answers.dead };
      },
    },
  });
  const of = async (segment = SEGMENT): Promise<string[]> => (await routes.of(topic, segment, world.signal)).map(({ id }) => id);
  const heads = (): number => reads.filter((name) => name === 'get head').length;
  return { world, topic, routes, broker, directory, asked, answers, of, heads, reads };
}

describe('a segment’s route', () => {
  test('is read once from its head; all who ask meanwhile share the read, and then it is known at once', async () => {
    const { routes, topic, world, of, heads } = await open([B, C]);
    expect(await Promise.all([of(), of(), of()])).toEqual([
      [B, C],
      [B, C],
      [B, C],
    ]);
    expect(heads()).toBe(1);
    expect(routes.of(topic, SEGMENT, world.signal)).toEqual([
      { id: B, url: 'http://b:80' },
      { id: C, url: 'http://c:80' },
    ]);
    expect(heads()).toBe(1);
  });

  test('is here where this broker is among them, and where nobody is left', async () => {
    const mine = await open([B, SELF]);
    expect(await mine.of()).toEqual([]);
    expect(mine.routes.brokersOf(mine.topic, SEGMENT).map(({ id }) => id)).toEqual([B, SELF]);
    const gone = await open(['gone', 'lost']);
    expect(await gone.of()).toEqual([]);
    // Somebody has to find out that nobody serves it any more.
    expect(gone.asked.suspect).toEqual(['gone', 'lost']);
    const one = await open(['gone', C]);
    expect(await one.of()).toEqual([C]);
    expect(gone.asked.assign).toEqual([]);
  });

  test('names all who serve it, once it was seen that not all of them are known', async () => {
    const { world, routes, topic, directory, of, broker } = await open([SELF, 'd']);
    await putBroker(world.table, someBroker('d'));
    expect(await of()).toEqual([]);
    expect(routes.brokersOf(topic, SEGMENT).map(({ id }) => id)).toEqual([SELF]);
    await world.run(broker.notes.idle());
    expect(directory.known('d' as BrokerId)).toBeUndefined();
    await world.run(world.clock.sleep(BROKERS_KNOWN_MS_MAX, world.signal));
    routes.brokersOf(topic, SEGMENT);
    await world.run(broker.notes.idle());
    expect(routes.brokersOf(topic, SEGMENT).map(({ id }) => id)).toEqual([SELF, 'd']);
  });

  test('is here once it is known to be sealed: others could only say the same', async () => {
    const { of } = await open([B], { state: 'sealed' });
    expect(await of()).toEqual([]);
  });

  test('of a segment without a head is here, each time anew', async () => {
    const { of, heads, asked } = await open([B]);
    expect(await of(segmentId(77))).toEqual([]);
    expect(await of(segmentId(77))).toEqual([]);
    expect(heads()).toBe(2);
    expect(asked.assign.length).toBeLessThanOrEqual(1);
  });

  test('ends with its caller while the others wait on', async () => {
    const { routes, topic, world, of } = await open([B]);
    const leaver = new AbortController();
    const left = routes.of(topic, SEGMENT, leaver.signal);
    const stays = of();
    const reason = new Error('gone');
    leaver.abort(reason);
    await expect(Promise.resolve(left)).rejects.toBe(reason);
    expect(await world.run(stays)).toEqual([B]);
  });
});

describe('a segment that nobody serves', () => {
  test('is committed here, while the leader is asked in the background; then it is known', async () => {
    const { world, of, asked, answers, routes, topic } = await open([]);
    answers.assign = [C, B];
    expect(await of()).toEqual([]);
    expect(await of()).toEqual([]);
    await world.clock.advance(20);
    expect(asked.assign).toEqual([SEGMENT]);
    expect(await of()).toEqual([C, B]);
    expect(routes.brokersOf(topic, SEGMENT).map(({ id }) => id)).toEqual([C, B]);
  });

  test('is asked for again only after a while, however many publishes come', async () => {
    const { world, of, asked, broker } = await open([]);
    for (let n = 0; n < 100; n += 1) {
      await of();
      await world.clock.advance(ASSIGN_ASK_MS_MIN / 50);
    }
    expect(asked.assign.length).toBeLessThanOrEqual(3);
    expect(asked.assign.length).toBeGreaterThan(1);
    await broker.notes.idle();
  });

  test('shows in what a commit gives back, too', async () => {
    const { world, of, broker, topic } = await open([]);
    expect(await of()).toEqual([]);
    const head = broker.heads.known(topic.id, SEGMENT);
    if (head === undefined) throw new Error('it was read');
    broker.heads.offer({ ...head, tail: head.tail + 1, brokers: [B as BrokerId] });
    expect(await of()).toEqual([B]);
    await world.clock.advance(100);
  });

  test('a thousand of them ask for a few at a time', async () => {
    const { world, topic, routes, asked } = await open([]);
    const many: Topic = { ...topic, open: Array.from({ length: 1_000 }, (_, n) => ({ segment: segmentId(n), lo: n, hi: n, brokers: [] })) };
    for (const { segment } of many.open) await routes.of(many, segment, world.signal);
    await settle();
    expect(asked.assign).toHaveLength(ASSIGN_ASKS_MAX);
    await world.clock.advance(20);
    for (const { segment } of many.open) await routes.of(many, segment, world.signal);
    await settle();
    expect(asked.assign).toHaveLength(2 * ASSIGN_ASKS_MAX);
    await world.clock.advance(20);
  });
});

describe('a suspect', () => {
  test('is told of once, gets nothing new while the leader asks it, and a while after', async () => {
    const { world, topic, routes, of, asked } = await open([B, C]);
    expect(await of()).toEqual([B, C]);
    for (let n = 0; n < 5; n += 1) void routes.suspect(topic, SEGMENT, someBroker(B));
    expect(asked.suspect).toEqual([B]);
    expect(await of()).toEqual([C]);
    await world.clock.advance(SUSPECT_MS_MIN - 1);
    void routes.suspect(topic, SEGMENT, someBroker(B));
    expect(await of()).toEqual([C]);
    await world.clock.advance(1);
    expect(await of()).toEqual([B, C]);
    void routes.suspect(topic, SEGMENT, someBroker(B));
    expect(asked.suspect).toEqual([B, B]);
    await world.clock.advance(100);
  });

  test('that is dead rests until its segments are elsewhere; with nobody left, it is here', async () => {
    const { world, topic, routes, of, answers } = await open([B, C]);
    await of();
    answers.dead = true;
    void routes.suspect(topic, SEGMENT, someBroker(B));
    void routes.suspect(topic, SEGMENT, someBroker(C));
    await world.clock.advance(100);
    await world.clock.advance(SUSPECT_MS_MIN);
    expect(await of()).toEqual([]);
    await world.clock.advance(LEASE_MS);
    expect(await of()).toEqual([B, C]);
  });

  test('is none of those who refused, which get nothing new for a while: they may come back', async () => {
    const { world, routes, of, asked } = await open([B, C]);
    await of();
    routes.refused(someBroker(B));
    expect(await of()).toEqual([C]);
    await world.clock.advance(SUSPECT_MS_MIN);
    expect(await of()).toEqual([B, C]);
    expect(asked.suspect).toEqual([]);
  });

  test('may live elsewhere by now: the directory is read anew', async () => {
    const { world, topic, routes, of, reads } = await open([B]);
    await of();
    void routes.suspect(topic, SEGMENT, someBroker(B));
    await world.clock.advance(100);
    expect(reads.filter((name) => name === 'query broker')).toHaveLength(1);
  });
});

test('what is remembered is bounded', async () => {
  const { world, topic } = await open([B]);
  const served = createServedSegments({ heads: createHeads(world.table), clock: world.clock });
  served.learn(topic.id, SEGMENT, [C as BrokerId]);
  expect(served.known(topic, SEGMENT)).toEqual([C]);
  for (let n = 1; n <= ROUTES_KNOWN_MAX; n += 1) served.learn(topic.id, segmentId(n), [C as BrokerId]);
  // It is read anew, from where something else stands.
  expect(served.known(topic, SEGMENT)).toBeUndefined();
  expect(await served.read(topic, SEGMENT, world.signal)).toEqual([B]);
});
