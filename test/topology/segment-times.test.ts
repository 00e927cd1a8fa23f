import { expect, test } from 'vitest';
import { type SegmentId, segmentId } from '../../src/model/ids.ts';
import type { Topic, TopologyChange } from '../../src/model/topic.ts';
import { applyChanges, intend } from '../../src/topology/apply-change.ts';
import { carryOn } from '../../src/topology/carry-on.ts';
import { createTestWorld, type TestWorld } from '../simulation/test-broker.ts';
import { type Fault, faultyTable } from '../simulation/world-faults.ts';

// When a segment was opened and sealed: by whoever did it first, whatever was lost, and whoever did it again.

const split = (topic: Topic): TopologyChange => ({
  id: 'c1',
  kind: 'split',
  parents: [segmentId(0)],
  children: [
    { segment: segmentId(topic.nextSegment), lo: 0, hi: 9 },
    { segment: segmentId(topic.nextSegment + 1), lo: 10, hi: 65_535 },
  ],
});

/** Opened and sealed, after the world's beginning. */
async function timesOf(world: TestWorld, topic: Topic, segment: SegmentId): Promise<(number | undefined)[]> {
  const head = await world.broker().heads.read(topic.id, segment, world.signal);
  return [head?.openedMs, head?.endedMs].map((ms) => (ms === undefined ? undefined : ms - topic.createdMs));
}

test('a child opens once its parent has ended, and a topic is open from its creation on', async () => {
  const world = createTestWorld();
  const topic = await world.topic();
  expect(await timesOf(world, topic, segmentId(0))).toEqual([0, undefined]);
  await world.clock.advance(1_000);
  const change = split(topic);
  const intended = (await intend(world.broker().deps, topic, [change], world.signal)) as Topic;
  await world.run(applyChanges(world.broker().deps, intended, [change], world.signal));
  expect(await timesOf(world, topic, segmentId(0))).toEqual([0, 1_000]);
  for (const child of change.children) expect(await timesOf(world, topic, child.segment)).toEqual([1_000, undefined]);
});

test.each<readonly [readonly Fault[]]>([[['lost', 'lost', 'lost', 'lost']], [['dropped', 'lost']], [['late', 'ok']]])(
  'with updates of heads %j, and carried on by one whose clock is ahead, the times stay',
  async (faults) => {
    const world = createTestWorld();
    const topic = await world.topic();
    await world.clock.advance(1_000);
    const change = split(topic);
    const table = faultyTable(world.table, { 'update head': faults });
    const { deps } = world.broker({ table });
    const intended = (await intend(deps, topic, [change], world.signal)) as Topic;
    await world.run(applyChanges(deps, intended, [change], world.signal));
    const before = await Promise.all([0, 1, 2].map((n) => timesOf(world, topic, segmentId(n))));
    const ahead = world.broker({ clock: world.clock.skewed({ ms: 3_600_000 }) });
    await world.run(applyChanges(ahead.deps, intended, [change], world.signal));
    await table.deliver();
    expect(await Promise.all([0, 1, 2].map((n) => timesOf(world, topic, segmentId(n))))).toEqual(before);
    expect(before[0]?.[1]).toBeLessThan(3_600_000);
  },
);

test('a change that finds its parent sealed by another one says so, and moves no time', async () => {
  const world = createTestWorld();
  const topic = await world.topic();
  const { deps } = world.broker();
  const change = split(topic);
  const intended = (await intend(deps, topic, [change], world.signal)) as Topic;
  await world.run(applyChanges(deps, intended, [change], world.signal));
  await world.clock.advance(1_000);
  const other: TopologyChange = { id: 'c2', kind: 'failover', parents: [segmentId(0)], children: [] };
  await expect(world.run(applyChanges(deps, intended, [other], world.signal))).rejects.toMatchObject({ kind: 'conflict' });
  expect(await timesOf(world, topic, segmentId(0))).toEqual([0, 0]);
});

test('a seal whose answers were all lost is found by whoever carries the change on, and keeps its time', async () => {
  const world = createTestWorld();
  const topic = await world.topic();
  const change = split(topic);
  const { deps } = world.broker({ table: faultyTable(world.table, { 'update head': 'lost' }) });
  const intended = (await intend(deps, topic, [change], world.signal)) as Topic;
  await expect(world.run(applyChanges(deps, intended, [change], world.signal))).rejects.toMatchObject({ kind: 'indefinite' });
  expect(await timesOf(world, topic, segmentId(0))).toEqual([0, 0]);
  await world.clock.advance(60_000);
  const carried = await world.run(carryOn(world.broker().deps, topic.id, world.signal));
  expect(carried.open.map(({ segment }) => segment)).toEqual(change.children.map(({ segment }) => segment));
  expect(await timesOf(world, topic, segmentId(0))).toEqual([0, 0]);
  expect((await timesOf(world, topic, segmentId(1)))[0]).toBeGreaterThanOrEqual(60_000);
});
