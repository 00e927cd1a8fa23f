import { describe, expect, test } from 'vitest';
import { batchObjectPrefix } from '../../src/format/object-key.ts';
import { pagesPartition } from '../../src/format/item-key.ts';
import { KelpError } from '../../src/model/errors.ts';
import { segmentId } from '../../src/model/ids.ts';
import { SEGMENTS_AT_CREATION_MAX } from '../../src/model/limits.ts';
import type { TopicSettings } from '../../src/model/topic.ts';
import { firstSegment, oneSegment, publishOf } from '../publish/requests.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { readValues } from '../simulation/read-log.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';
import { type Fault, faultyTable } from '../simulation/world-faults.ts';
import { tiles } from '../topology/tiles.ts';

const two: TopicSettings = { partitionKey: { pointer: '/user/id' }, segments: 2, replicas: 2 };
const create = (world: TestWorld, broker: TestBroker, name = 't', settings = oneSegment) =>
  world.run(broker.topics.create(name, settings, world.signal));

describe('creation', () => {
  test.each([1, 2, 3, 7, SEGMENTS_AT_CREATION_MAX])('of %i segments opens ranges that tile', async (segments) => {
    const world = createTestWorld();
    const { topic, created } = await create(world, world.broker(), 't', { ...two, segments });
    expect(created).toBe(true);
    expect(tiles(topic.open)).toBe(true);
    expect(topic.open).toHaveLength(segments);
    const described = await world.run(world.broker().topics.segments(topic, world.signal));
    expect(described.map(({ state }) => state)).toEqual(topic.open.map(() => 'open'));
  });

  test('again is the same topic, with other settings a conflict that names them', async () => {
    const world = createTestWorld();
    const first = await create(world, world.broker(), 't', two);
    const again = await create(world, world.broker(), 't', { ...two });
    expect(again).toEqual({ topic: first.topic, created: false });
    for (const other of [oneSegment, { ...two, segments: 3 }, { ...two, partitionKey: { header: '/user/id' } }]) {
      await expect(create(world, world.broker(), 't', other)).rejects.toMatchObject({
        kind: 'conflict',
        code: 'exists-differently',
        extra: { segments: 2 },
      });
    }
  });

  test('by many at once makes one topic', async () => {
    const world = createTestWorld();
    const brokers = Array.from({ length: 6 }, () => world.broker());
    const results = await world.run(Promise.all(brokers.map((broker) => broker.topics.create('t', oneSegment, world.signal))));
    expect(results.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(results.map(({ topic }) => topic.id)).size).toBe(1);
  });

  test.each<readonly [string, readonly Fault[]]>([
    ['put topic', ['lost', 'lost']],
    ['put topic', ['ok', 'lost', 'dropped']],
    ['put name', ['lost']],
    ['put name', ['late', 'throttled']],
    ['put segment', ['lost', 'late', 'conflict']],
    ['put head', ['late', 'lost', 'unavailable']],
    ['update head', ['lost', 'late', 'throttled']],
  ])('with %s %j works, and leaves nothing half done', async (call, faults) => {
    const world = createTestWorld();
    const table = faultyTable(world.table, { [call]: faults });
    const { topic } = await create(world, world.broker({ table }), 't', two);
    await table.deliver();
    const resolved = await world.run(world.broker().topics.resolve('t', { fresh: true }, world.signal));
    expect(resolved).toEqual(topic);
    expect([resolved.changes, tiles(resolved.open)]).toEqual([[], true]);
  });

  test('that ends in time, or is carried on by the next one', async () => {
    const world = createTestWorld();
    const table = faultyTable(world.table, { 'put head': 'throttled' });
    const creating = world.broker({ table }).topics.create('t', oneSegment, world.clock.deadline(2_000));
    await expect(world.run(creating)).rejects.toMatchObject({ name: 'TimeoutError' });
    expect((await create(world, world.broker())).topic.open).toHaveLength(1);
  });
});

describe('deletion', () => {
  test('of a name that nobody has, or no more, is 404', async () => {
    const world = createTestWorld();
    const broker = world.broker();
    const gone = { kind: 'not-found', code: 'topic-not-found' };
    await expect(world.run(broker.topics.delete('t', world.signal))).rejects.toMatchObject(gone);
    await create(world, broker);
    await world.run(broker.topics.delete('t', world.signal));
    await expect(world.run(broker.topics.delete('t', world.signal))).rejects.toMatchObject(gone);
    await expect(world.run(broker.topics.resolve('t', { fresh: false }, world.signal))).rejects.toMatchObject(gone);
  });

  test('never uses a segment id again, and tells ids of a former life apart', async () => {
    const world = createTestWorld();
    const broker = world.broker();
    const { topic: first } = await create(world, broker, 't', two);
    await world.run(broker.topics.delete('t', world.signal));
    const { topic: second } = await create(world, broker);
    expect(second.open.map(({ segment }) => segment)).toEqual([segmentId(2)]);
    expect(second.id).not.toBe(first.id);
    const segment = (id: number) => world.run(broker.topics.segment(second, segmentId(id), world.signal));
    await expect(segment(1)).rejects.toMatchObject({ code: 'topic-replaced' });
    await expect(segment(3)).rejects.toMatchObject({ code: 'segment-not-found' });
    expect(await segment(2)).toMatchObject({ state: 'open', lo: 0, hi: 65_535, start: 0, tail: 0 });
  });

  test('beside a creation of the same name leaves one or none, whole', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const world = createTestWorld(seed);
      const slow = interceptTable(world.table, async (_, make, signal) => {
        await world.clock.sleep(world.random.integer(10), signal);
        return make();
      });
      await world.topic();
      const settled = Promise.allSettled([
        world.broker({ table: slow }).topics.delete('t', world.signal),
        world.broker({ table: slow }).topics.create('t', oneSegment, world.signal),
        world.broker({ table: slow }).topics.delete('t', world.signal),
        world.broker({ table: slow }).topics.create('t', oneSegment, world.signal),
      ]);
      for (const result of await world.run(settled)) {
        expect(result.status === 'fulfilled' || (result.reason instanceof KelpError && result.reason.code === 'topic-not-found')).toBe(
          true,
        );
      }
      const left = await create(world, world.broker());
      expect(tiles(left.topic.open)).toBe(true);
      expect((await world.run(world.broker().topics.list({ limit: 10 }, world.signal))).topics.map(({ id }) => id)).toEqual([
        left.topic.id,
      ]);
    }
  });
});

describe('clean-up', () => {
  const filled = async (world: TestWorld) => {
    const topic = await world.topic(2);
    const broker = world.broker();
    for (let n = 0; n < 40; n += 1)
      await world.run(
        broker.publisher.publish(
          topic,
          publishOf([
            ['k0', `${n}`],
            ['k1', `${n}`],
          ]),
          world.signal,
        ),
      );
    await world.run(broker.notes.idle());
    return topic;
  };
  const objects = async (world: TestWorld) =>
    (await world.store.list('log/', { limit: 1_000 }, world.signal)).objects.map(({ key }) => key);

  test('takes the objects and pages of the deleted topic, and no byte of the one that has its name now', async () => {
    const world = createTestWorld();
    const old = await filled(world);
    const broker = world.broker();
    await world.run(broker.topics.delete('t', world.signal));
    const { topic } = await create(world, broker);
    await world.run(broker.publisher.publish(topic, publishOf(['new']), world.signal));
    await world.run(broker.notes.idle());
    expect((await objects(world)).map((key) => key.startsWith(batchObjectPrefix(topic.id)))).toEqual([true]);
    const pages = await world.table.query({ pk: pagesPartition(old.id, firstSegment(old)), limit: 10 }, world.signal);
    expect(pages.items).toEqual([]);
    expect(await readValues(world, topic.id)).toEqual(['new']);
  });

  test('goes on though the caller of the deletion has gone', async () => {
    const world = createTestWorld();
    await filled(world);
    const controller = new AbortController();
    const store = interceptStore(world.store, async (_, make, signal) => {
      await world.clock.sleep(100, signal);
      return make();
    });
    const broker = world.broker({ store });
    await broker.topics.delete('t', controller.signal);
    controller.abort();
    await world.run(broker.notes.idle());
    expect(await objects(world)).toEqual([]);
    expect(broker.notes.logs).toEqual([]);
  });

  test('that fails is recorded and told, and bounded in time', async () => {
    const world = createTestWorld();
    await filled(world);
    const store = interceptStore(world.store, (call, make, signal) =>
      call.op === 'delete' ? world.clock.sleep(1e9, signal).then(() => make()) : make(),
    );
    const broker = world.broker({ store });
    await world.run(broker.topics.delete('t', world.signal));
    const before = world.clock.monotonicMs();
    await world.run(broker.notes.idle());
    expect(world.clock.monotonicMs() - before).toBeLessThanOrEqual(60_000);
    expect(broker.notes.counts.get('kelp.cleanups.failed')).toBe(1);
    expect(broker.notes.logs).toHaveLength(1);
    const deletions = await world.table.query({ pk: 'd#main', limit: 10 }, world.signal);
    expect(deletions.items.map((item) => item['state'])).toEqual(['pending']);
  });
});
