import { describe, expect, test } from 'vitest';
import { type AssignerDeps, createAssigner } from '../../../src/control/assignment/assign.ts';
import { countServed, createSegmentCounts } from '../../../src/control/assignment/segment-counts.ts';
import { createBrokerDirectory } from '../../../src/control/brokers/directory.ts';
import { servedPartition } from '../../../src/format/item-key.ts';
import { decodeServed } from '../../../src/format/served-item.ts';
import { segmentId, type SegmentId } from '../../../src/model/ids.ts';
import type { Topic } from '../../../src/model/topic.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import { createHeads } from '../../../src/state/heads.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { replaceSegment } from '../../simulation/replace-segment.ts';
import { createTestWorld, type TestWorld } from '../../simulation/test-broker.ts';
import { createKiller, faultyTable } from '../../simulation/world-faults.ts';
import { brokerId, putBroker, someBroker } from '../some-broker.ts';

type LeaderOptions = { readonly table?: MetadataTable; readonly isUsable?: AssignerDeps['isUsable'] };

/** A leader that knows nothing yet. */
function leaderIn(world: TestWorld, { table = world.table, isUsable }: LeaderOptions = {}) {
  const deps = { table, clock: world.clock, random: world.random.fork(`leader ${world.random.base36(4)}`), heads: createHeads(table) };
  const directory = createBrokerDirectory(deps);
  const counts = createSegmentCounts(deps);
  const assigner = createAssigner({ ...deps, directory, counts, ...(isUsable === undefined ? {} : { isUsable }) });
  return { ...deps, directory, counts, assigner };
}

async function worldOf(brokers: readonly string[], segments = 1): Promise<{ world: TestWorld; topic: Topic }> {
  const world = createTestWorld();
  for (const id of brokers) await putBroker(world.table, someBroker(id));
  return { world, topic: await world.topic(segments) };
}

const FIRST = segmentId(0);
const assignAt = (world: TestWorld, leader: ReturnType<typeof leaderIn>, topic: Topic, segment: SegmentId = FIRST) =>
  world.run(leader.assigner.assign(topic, segment, world.signal));
const headOf = (world: TestWorld, topic: Topic, segment: SegmentId = FIRST) =>
  createHeads(world.table).read(topic.id, segment, world.signal);
async function servedBy(world: TestWorld, broker: string): Promise<string[]> {
  const { items } = await world.table.query({ pk: servedPartition(brokerId(broker)), limit: 100 }, world.signal);
  return items.map((item) => decodeServed(item).segment);
}

describe('an assignment', () => {
  test('is of as many brokers as the topic wants, saved in the head and in their lists', async () => {
    const { world, topic } = await worldOf(['a', 'b', 'c']);
    const leader = leaderIn(world);
    const brokers = await assignAt(world, leader, topic);
    expect(new Set(brokers).size).toBe(2);
    expect((await headOf(world, topic))?.brokers).toEqual(brokers);
    expect(leader.heads.known(topic.id, FIRST)?.brokers).toEqual(brokers);
    for (const id of ['a', 'b', 'c']) expect(await servedBy(world, id)).toEqual(brokers.includes(brokerId(id)) ? [FIRST] : []);
  });

  test('that is saved stays, whoever comes or goes; nobody is needed to read it', async () => {
    const { world, topic } = await worldOf(['a', 'b']);
    const first = await assignAt(world, leaderIn(world), topic);
    await putBroker(world.table, someBroker('c'));
    await putBroker(world.table, someBroker('a', { drainPerSecond: 1 }));
    expect(await assignAt(world, leaderIn(world), topic)).toEqual(first);
  });

  test('is of fewer where fewer are there, never of one that drains or is taken for dead', async () => {
    const { world, topic } = await worldOf(['a', 'dead'], 2);
    await putBroker(world.table, someBroker('draining', { drainPerSecond: 1 }));
    const leader = leaderIn(world, { isUsable: async ({ id }) => id !== 'dead' });
    expect(await assignAt(world, leader, topic)).toEqual(['a']);
    expect(await world.run(leader.assigner.choose(3, new Set([brokerId('dead')]), world.signal))).toEqual(['a']);
    const nobody = world.run(leader.assigner.choose(2, new Set([brokerId('a')]), world.signal));
    await expect(nobody).rejects.toMatchObject({ kind: 'unavailable', code: 'no-brokers' });
  });

  test('of a segment that is not there, or sealed', async () => {
    const { world, topic } = await worldOf(['a']);
    const leader = leaderIn(world);
    await expect(assignAt(world, leader, topic, segmentId(9))).rejects.toMatchObject({ code: 'segment-not-found' });
    await replaceSegment(world, topic, { segment: FIRST, children: 1 });
    expect(await assignAt(world, leader, topic)).toEqual([]);
    expect(await servedBy(world, 'a')).toEqual([]);
    expect(await assignAt(world, leader, topic, segmentId(1))).toEqual(['a']);
  });
});

describe('two leaders', () => {
  test('that assign one segment at once answer the one choice that was saved', async () => {
    for (let round = 0; round < 50; round += 1) {
      const { world, topic } = await worldOf(['a', 'b', 'c', 'd', 'e', 'f']);
      const leaders = [leaderIn(world), leaderIn(world), leaderIn(world)];
      const answers = await Promise.all(leaders.map((leader) => assignAt(world, leader, topic)));
      const saved = (await headOf(world, topic))?.brokers ?? [];
      expect(answers).toEqual([saved, saved, saved]);
      // Whoever lost leaves nothing in the lists.
      for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) {
        expect(await servedBy(world, id)).toEqual(saved.includes(brokerId(id)) ? [FIRST] : []);
      }
    }
  });

  test('a segment that is sealed just before it is assigned is nobody’s', async () => {
    const { world, topic } = await worldOf(['a', 'b']);
    const table = interceptTable(world.table, async (call, make) => {
      if (call.name === 'update head') await replaceSegment(world, topic, { segment: FIRST, children: 1 });
      return make();
    });
    const leader = leaderIn(world, { table });
    expect(await assignAt(world, leader, topic)).toEqual([]);
    expect([...(await servedBy(world, 'a')), ...(await servedBy(world, 'b'))]).toEqual([]);
    expect(leader.counts.of(brokerId('a'))).toBe(0);
  });
});

test('who is late with the same choice for a segment that was assigned and sealed meanwhile leaves nothing in the lists', async () => {
  const { world, topic } = await worldOf(['a', 'b']);
  let overtaken = false;
  const table = interceptTable(world.table, async (call, make) => {
    if (call.name === 'put served' && !overtaken) {
      overtaken = true;
      await assignAt(world, leaderIn(world), topic);
      await replaceSegment(world, topic, { segment: FIRST, children: 1 });
    }
    return make();
  });
  const brokers = await assignAt(world, leaderIn(world, { table }), topic);
  expect(brokers.toSorted()).toEqual(['a', 'b']);
  expect([...(await servedBy(world, 'a')), ...(await servedBy(world, 'b'))]).toEqual([]);
});

describe('a lost answer', () => {
  test('of the head’s update is found again', async () => {
    const { world, topic } = await worldOf(['a', 'b', 'c', 'd', 'e']);
    const table = faultyTable(world.table, { 'update head': ['lost', 'dropped'], 'put served': ['lost', 'throttled', 'lost'] });
    const leader = leaderIn(world, { table });
    const brokers = await assignAt(world, leader, topic);
    expect((await headOf(world, topic))?.brokers).toEqual(brokers);
    for (const id of brokers) expect(leader.counts.of(id)).toBe(1);
  });

  test('a leader that is killed between any two steps leaves entries that mean nothing, and the next one assigns', async () => {
    const { world: probe, topic: probed } = await worldOf(['a', 'b', 'c']);
    const counting = createKiller({ table: probe.table, store: probe.store }, { at: Infinity, done: false });
    await assignAt(probe, leaderIn(probe, { table: counting.table }), probed);
    expect(counting.calls()).toBeGreaterThan(6);
    for (let at = 1; at <= counting.calls(); at += 1) {
      for (const done of [false, true]) {
        const { world, topic } = await worldOf(['a', 'b', 'c']);
        const killer = createKiller({ table: world.table, store: world.store }, { at, done });
        void leaderIn(world, { table: killer.table }).assigner.assign(topic, FIRST, world.signal);
        await killer.struck;
        const brokers = await assignAt(world, leaderIn(world), topic);
        expect(brokers).toHaveLength(2);
        expect((await headOf(world, topic))?.brokers).toEqual(brokers);
        for (const id of brokers) expect(await servedBy(world, id)).toEqual([FIRST]);
      }
    }
  });
});

describe('the leader’s counts', () => {
  test('are read once a term, then kept; the next choice goes by them', async () => {
    const { world, topic } = await worldOf(['a', 'b'], 8);
    const table = faultyTable(world.table, {});
    const leader = leaderIn(world, { table });
    for (let n = 0; n < 3; n += 1) await assignAt(world, leader, topic, segmentId(n));
    const queries = table.calls.get('query served');
    expect(queries).toBe(2);
    expect(leader.counts.of(brokerId('a'))).toBe(3);
    leader.counts.add([brokerId('a')], -1);
    expect(leader.counts.of(brokerId('a'))).toBe(2);
    leader.counts.reset();
    expect(leader.counts.of(brokerId('a'))).toBe(0);
    // Somebody else has assigned meanwhile.
    await assignAt(world, leaderIn(world), topic, segmentId(3));
    await assignAt(world, leader, topic, segmentId(4));
    expect(leader.counts.of(brokerId('a'))).toBe(5);
    expect(await countServed(world.table, brokerId('a'), world.signal)).toBe(5);
  });

  test('make 300 segments even over the brokers', async () => {
    const { world, topic } = await worldOf(['a', 'b', 'c', 'd', 'e'], 60);
    const leader = leaderIn(world);
    const topics = [topic];
    for (const name of ['u', 'v', 'w', 'x']) topics.push(await world.topic(60, name));
    const work = topics.flatMap((one) => one.open.map((range) => leader.assigner.assign(one, range.segment, world.signal)));
    await world.run(Promise.all(work));
    const counts = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => countServed(world.table, brokerId(id), world.signal)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(600);
    expect(Math.max(...counts)).toBeLessThanOrEqual(150);
  });

  test('a list of more than a page is counted to its end', async () => {
    const { world, topic } = await worldOf(['a'], 64);
    const leader = leaderIn(world);
    await world.run(Promise.all(topic.open.map((range) => leader.assigner.assign(topic, range.segment, world.signal))));
    const paged = {
      ...world.table,
      query: (query: Parameters<MetadataTable['query']>[0], signal: AbortSignal) => world.table.query({ ...query, limit: 7 }, signal),
    };
    expect(await countServed(paged, brokerId('a'), world.signal)).toBe(64);
  });
});
