import { describe, expect, test } from 'vitest';
import { parseTopicSchema } from '../../src/format/topic-schema.ts';
import { encodeUtf8 } from '../../src/format/utf8.ts';
import type { ColumnType } from '../../src/model/archive.ts';
import { segmentId } from '../../src/model/ids.ts';
import { CHANGE_ATTEMPTS_MAX } from '../../src/model/limits.ts';
import { SCALING_DEFAULT } from '../../src/model/scaling.ts';
import type { SettingsChange, Topic, TopologyChange } from '../../src/model/topic.ts';
import { applyChanges, intend } from '../../src/topology/apply-change.ts';
import { publishOf } from '../publish/requests.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';
import { conflicted, type Fault, faultyTable } from '../simulation/world-faults.ts';

const FIVE: SettingsChange = { replicas: 5, scaling: { maxSegments: 8 } };

const schemaWith = (type: ColumnType) => parseTopicSchema(encodeUtf8(JSON.stringify({ properties: { a: { type } } })));
const change = (world: TestWorld, broker: TestBroker, wish: SettingsChange = FIVE) =>
  world.run(broker.topics.change('t', wish, world.signal));
const stored = (world: TestWorld): Promise<Topic> => world.run(world.broker().topics.resolve('t', { fresh: true }, world.signal));

/** Each write of a topic's item takes a moment, and so does each read, so that they meet. */
const slowTable = (world: TestWorld) =>
  interceptTable(world.table, async (_, make, signal) => {
    await world.clock.sleep(world.random.integer(10), signal);
    return make();
  });

describe('a change of settings', () => {
  test('is one write, on the version, and whoever made it knows it at once', async () => {
    const world = createTestWorld();
    const before = await world.topic(2);
    const table = faultyTable(world.table, {});
    const broker = world.broker({ table });
    await world.run(broker.topics.resolve('t', { fresh: false }, world.signal));
    const changed = await change(world, broker);
    expect(changed).toEqual({
      ...before,
      version: before.version + 1,
      settings: { ...before.settings, replicas: 5, scaling: { ...SCALING_DEFAULT, maxSegments: 8 } },
    });
    const reads = table.calls.get('get topic');
    expect(await world.run(broker.topics.resolve('t', { fresh: false }, world.signal))).toEqual(changed);
    expect([table.calls.get('put topic'), table.calls.get('get topic')]).toEqual([1, reads]);
    expect(await stored(world)).toEqual(changed);
  });

  test('to what they are already writes nothing', async () => {
    const world = createTestWorld();
    const before = await world.topic();
    const table = faultyTable(world.table, {});
    const broker = world.broker({ table });
    for (const wish of [{}, { scaling: {} }, { replicas: 2, scaling: { ...SCALING_DEFAULT } }]) {
      expect(await change(world, broker, wish)).toEqual(before);
    }
    expect(table.calls.get('put topic')).toBeUndefined();
  });

  test('of a topic that is being deleted is too late', async () => {
    const world = createTestWorld();
    const before = await world.topic();
    const parents = before.open.map(({ segment }) => segment);
    const deletion: TopologyChange = { id: 'c1', kind: 'delete', parents, children: [] };
    await world.run(intend(world.broker().deps, before, [deletion], world.signal));
    await expect(change(world, world.broker())).rejects.toMatchObject({ kind: 'not-found', code: 'topic-not-found' });
  });

  test('does not wait for segments to be moved, nor lose the intent or what is published behind it', async () => {
    const world = createTestWorld();
    const before = await world.topic(2);
    const [parent] = before.open;
    if (parent === undefined) throw new Error('no segment');
    const child = { segment: segmentId(2), lo: parent.lo, hi: parent.hi };
    const move: TopologyChange = { id: 'c1', kind: 'failover', parents: [parent.segment], children: [child] };
    const leader = world.broker();
    const intended = await world.run(intend(leader.deps, before, [move], world.signal));
    if (intended === undefined) throw new Error('not intended');
    // Nobody can carry it on.
    const table = interceptTable(world.table, async (call, make) => {
      if (call.name.endsWith(' head')) throw conflicted();
      return make();
    });
    const changed = await change(world, world.broker({ table }));
    expect([changed.changes, changed.open, changed.settings.replicas]).toEqual([[move], before.open, 5]);
    // The leader goes on with the topic as it was before.
    const published = await world.run(applyChanges(leader.deps, intended, [move], world.signal));
    expect([published.changes, published.settings]).toEqual([[], changed.settings]);
    expect(published.open.map(({ segment }) => segment)).toEqual([child.segment, before.open[1]?.segment]);
    const results = await world.run(leader.publisher.publish(published, publishOf(['1', '2']), world.signal));
    expect(results.every((result) => 'offset' in result)).toBe(true);
  });

  test('beside a change of segments and other changes of settings: all of them are in the topic', async () => {
    for (let seed = 0; seed < 30; seed += 1) {
      const world = createTestWorld(seed);
      const before = await world.topic();
      const range = { lo: 0, hi: 65_535 };
      const move: TopologyChange = {
        id: 'c1',
        kind: 'failover',
        parents: [segmentId(0)],
        children: [{ segment: segmentId(1), ...range }],
      };
      const wishes: readonly SettingsChange[] = [
        { replicas: 3 },
        { scaling: { minSegments: 4 } },
        { scaling: { maxSegments: 16 } },
        { retention: { maxAgeSeconds: 60 } },
        { retention: { maxBytes: 7 } },
        { schema: schemaWith('string') },
        { scaling: { targetBytesPerSecond: 1, schedule: [{ cron: '0 8 * * *', durationSeconds: 60, minSegments: 9 }] } },
      ];
      const leader = world.broker({ table: slowTable(world) });
      const moving = async (): Promise<void> => {
        for (;;) {
          const topic = await leader.topics.resolve('t', { fresh: true }, world.signal);
          const intended = await intend(leader.deps, topic, [move], world.signal);
          if (intended !== undefined) return void (await applyChanges(leader.deps, intended, [move], world.signal));
        }
      };
      const changing = wishes.map((wish) => world.broker({ table: slowTable(world) }).topics.change('t', wish, world.signal));
      await world.run(Promise.all([moving(), ...changing]));
      const after = await stored(world);
      expect(after.settings).toEqual({
        ...before.settings,
        replicas: 3,
        scaling: {
          ...SCALING_DEFAULT,
          minSegments: 4,
          maxSegments: 16,
          targetBytesPerSecond: 1,
          schedule: [{ cron: '0 8 * * *', durationSeconds: 60, minSegments: 9 }],
        },
        retention: { maxAgeSeconds: 60, maxBytes: 7 },
        schema: schemaWith('string'),
      });
      expect([after.open, after.changes]).toEqual([[{ segment: segmentId(1), ...range }], []]);
      // Each write raised the version by one: creation, seven settings, intent and publication.
      expect(after.version).toBe(before.version + wishes.length + 2);
    }
  });

  test('that together with another one makes no sense is refused, whichever comes second', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const world = createTestWorld(seed);
      await world.topic();
      const low = world.broker({ table: slowTable(world) }).topics.change('t', { scaling: { maxSegments: 4 } }, world.signal);
      const high = world.broker({ table: slowTable(world) }).topics.change('t', { scaling: { minSegments: 5 } }, world.signal);
      const results = await world.run(Promise.allSettled([low, high]));
      const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
      expect(refused).toEqual([expect.objectContaining({ kind: 'invalid', code: 'invalid-settings' })]);
      const { scaling } = (await stored(world)).settings;
      expect([scaling?.minSegments, scaling?.maxSegments]).toEqual(results[0].status === 'fulfilled' ? [1, 4] : [5, 1_024]);
    }
  });

  test('that gives a column another type than another one did is refused, whichever comes second', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const world = createTestWorld(seed);
      await world.topic();
      const give = (type: ColumnType) =>
        world.broker({ table: slowTable(world) }).topics.change('t', { schema: schemaWith(type) }, world.signal);
      const results = await world.run(Promise.allSettled([give('string'), give('integer')]));
      const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
      expect(refused).toEqual([expect.objectContaining({ code: 'invalid-schema', field: 'schema.properties.a' })]);
      expect((await stored(world)).settings.schema).toEqual(schemaWith(results[0].status === 'fulfilled' ? 'string' : 'integer'));
    }
  });

  test.each<{ readonly faults: readonly Fault[] }>([
    { faults: ['lost'] },
    { faults: ['dropped'] },
    { faults: ['late'] },
    { faults: ['throttled', 'conflict', 'unavailable'] },
    { faults: ['late', 'lost', 'dropped'] },
  ])('whose writes are $faults lands once', async ({ faults }) => {
    const world = createTestWorld();
    const before = await world.topic();
    const table = faultyTable(world.table, { 'put topic': faults });
    const changed = await change(world, world.broker({ table }));
    await table.deliver();
    expect(changed).toMatchObject({ version: before.version + 1, settings: { replicas: 5, scaling: { maxSegments: 8 } } });
    expect(await stored(world)).toEqual(changed);
  });

  test('of a topic that others keep writing ends, and may be asked for again', async () => {
    const world = createTestWorld();
    await world.topic();
    let reads = 0;
    const table = interceptTable(world.table, async (call, make) => {
      const read = await make();
      if (call.name !== 'get topic') return read;
      reads += 1;
      await world.broker().topics.change('t', { replicas: (reads % 2) + 3 }, world.signal);
      return read;
    });
    await expect(change(world, world.broker({ table }))).rejects.toMatchObject({ kind: 'unavailable', retryAfterMs: 1_000 });
    expect(reads).toBe(CHANGE_ATTEMPTS_MAX);
    expect((await change(world, world.broker())).settings.replicas).toBe(5);
  });

  test('ends with its caller', async () => {
    const world = createTestWorld();
    await world.topic();
    const table = faultyTable(world.table, { 'put topic': 'throttled' });
    const changing = world.broker({ table }).topics.change('t', FIVE, world.clock.deadline(50));
    await expect(world.run(changing)).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});
