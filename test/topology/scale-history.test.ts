import { describe, expect, test } from 'vitest';
import { scalingKey } from '../../src/format/item-key.ts';
import { decodeScaleHistory } from '../../src/format/scale-history-item.ts';
import { itemBytes } from '../../src/adapters/memory/item-bytes.ts';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import type { ScaleEvent } from '../../src/model/scale-event.ts';
import { SCALE_EVENTS_MAX } from '../../src/model/scaling-limits.ts';
import { noteScaling, readScaling } from '../../src/topology/scale-history.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';
import { type Fault, faultyTable } from '../simulation/world-faults.ts';

const topic = { id: 't123456789012345' as TopicId };

/** A split of segment n into two that nothing else ever made. */
const split = (n: number): ScaleEvent => ({
  atMs: 1_800_000_000_000 + n,
  kind: 'split',
  parents: [segmentId(n)],
  children: [segmentId(1_000 + 2 * n), segmentId(1_001 + 2 * n)],
  at: 32_768,
  by: 'planner',
  reason: { why: 'over-target', load: 1.3, measure: 'messages' },
});
const merge: ScaleEvent = { atMs: 7, kind: 'merge', parents: [segmentId(1), segmentId(2)], children: [segmentId(3)], by: 'hand' };

const note = (world: TestWorld, broker: TestBroker, ...events: readonly ScaleEvent[]): Promise<void> =>
  world.run(noteScaling(broker.deps, topic, events, world.signal));
const read = (world: TestWorld): Promise<readonly ScaleEvent[]> => readScaling(world, topic, world.signal);
const unnoted = (broker: TestBroker): number => broker.notes.counts.get('kelp.scaling.unnoted') ?? 0;

test('of a topic that never scaled there is none', async () => {
  expect(await read(createTestWorld())).toEqual([]);
});

test('what is noted last comes first', async () => {
  const world = createTestWorld();
  await note(world, world.broker(), split(1));
  await note(world, world.broker(), merge, split(2));
  expect(await read(world)).toEqual([merge, split(2), split(1)]);
});

test('the oldest go, and the item stays small', async () => {
  const world = createTestWorld();
  const broker = world.broker();
  for (let n = 0; n < SCALE_EVENTS_MAX + 5; n += 1) await note(world, broker, split(n));
  const events = await read(world);
  expect(events).toHaveLength(SCALE_EVENTS_MAX);
  expect([events[0], events.at(-1)]).toEqual([split(SCALE_EVENTS_MAX + 4), split(5)]);
  const item = await world.table.get(scalingKey(topic.id), world.signal);
  expect(itemBytes(item ?? {})).toBeLessThan(20_480);
});

test('a change that two have published is there once, as it was noted first', async () => {
  const world = createTestWorld();
  await note(world, world.broker(), split(1));
  await note(world, world.broker(), { ...split(1), atMs: 9 }, split(2));
  expect(await read(world)).toEqual([split(2), split(1)]);
});

test.each([0, 1])('many at once lose nothing, %i events being there', async (before) => {
  const world = createTestWorld();
  const all = Array.from({ length: 8 + before }, (_, n) => split(n));
  await note(world, world.broker(), ...all.slice(0, before));
  const noted = all.slice(before).map((event) => ({ event, broker: world.broker() }));
  await world.run(Promise.all(noted.map(({ event, broker }) => noteScaling(broker.deps, topic, [event], world.signal))));
  expect((await read(world)).toSorted((one, other) => one.atMs - other.atMs)).toEqual(all);
  expect(noted.map(({ broker }) => unnoted(broker))).toEqual(noted.map(() => 0));
});

describe('on a table with faults', () => {
  test.each<readonly [string, readonly Fault[]]>([
    ['put topic', ['lost']],
    ['put topic', ['dropped', 'throttled', 'lost']],
    ['put topic', ['late', 'conflict']],
    ['get topic', ['unavailable', 'throttled']],
  ])('%s %j is written once', async (call, faults) => {
    const world = createTestWorld();
    await note(world, world.broker(), split(1));
    const table = faultyTable(world.table, { [call]: faults });
    const broker = world.broker({ table });
    await note(world, broker, split(2));
    await table.deliver();
    expect([await read(world), unnoted(broker)]).toEqual([[split(2), split(1)], 0]);
  });

  test('what can never be written is counted, logged, and no error', async () => {
    const world = createTestWorld();
    const broker = world.broker({ table: faultyTable(world.table, { 'put topic': 'throttled' }) });
    await note(world, broker, split(1), merge);
    expect([await read(world), unnoted(broker)]).toEqual([[], 2]);
    expect(broker.notes.logs.map(({ level }) => level)).toEqual(['warn']);
  });

  test('a damaged history is left as it is: written over, nobody would see that', async () => {
    const world = createTestWorld();
    await note(world, world.broker(), split(1));
    await world.table.update(scalingKey(topic.id), { condition: [], changes: [{ op: 'set', path: ['events'], value: 'x' }] }, world.signal);
    const table = faultyTable(world.table, {});
    const broker = world.broker({ table });
    await note(world, broker, split(2));
    expect([unnoted(broker), table.calls.get('get topic')]).toEqual([1, 1]);
    const item = (await world.table.get(scalingKey(topic.id), world.signal)) ?? {};
    expect(item['events']).toBe('x');
    expect(() => decodeScaleHistory(item)).toThrow(expect.objectContaining({ kind: 'corrupt' }));
    await expect(read(world)).rejects.toMatchObject({ kind: 'corrupt' });
  });

  test('it ends with its caller, by the reason of that one', async () => {
    const world = createTestWorld();
    const broker = world.broker({ table: faultyTable(world.table, { 'put topic': 'throttled' }) });
    const noting = noteScaling(broker.deps, topic, [merge], world.clock.deadline(200));
    await expect(world.run(noting)).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(unnoted(broker)).toBe(0);
  });
});
