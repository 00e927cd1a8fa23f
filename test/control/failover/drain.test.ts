import { describe, expect, test } from 'vitest';
import type { BrokerId } from '../../../src/model/ids.ts';
import { DRAIN_PER_SECOND_MAX, HEARTBEAT_MS, BROKER_PROBE_MS, BROKERS_READ_MS, MOVED_AT_ONCE_MAX } from '../../../src/model/limits.ts';
import type { Topic } from '../../../src/model/topic.ts';
import { problemsOf, readLineage, unlisted } from './check-topology.ts';
import { createFailoverWorld, type FailoverWorld, type Leading, type TestLeader } from './world.ts';

type Scene = {
  readonly world: FailoverWorld;
  readonly topic: Topic;
  readonly leader: TestLeader;
  readonly leading: Leading;
  readonly a: BrokerId;
  readonly b: BrokerId;
};

async function scene(segments: number, kind: 'process' | 'fleet' = 'process'): Promise<Scene> {
  const world = createFailoverWorld();
  const topic = await world.topic(segments);
  const [a, b] = [await world.live('a'), await world.live('b', { kind })];
  for (const { segment } of topic.open) await world.assign(topic, segment, [b]);
  const leader = world.leader(a);
  const leading = leader.lead();
  await world.clock.advance(100);
  return { world, topic, leader, leading, a, b };
}

const drain = ({ world, leader }: Scene, broker: BrokerId, perSecond: number): Promise<{ readonly segments: number }> =>
  world.run(leader.duties.drain(broker, { perSecond }, world.signal));
const moved = ({ leader }: Scene): number => leader.telemetry.total('kelp.segments.moved');

async function expectLeft(at: Scene): Promise<void> {
  const { world, topic, a, b, leading } = at;
  await world.until(async () => (await world.record(b)) === undefined);
  const lineage = await readLineage(world.table, topic.id);
  expect(problemsOf(lineage)).toEqual([]);
  expect(await unlisted(world.table, [lineage], { brokers: [a, b], exact: true })).toEqual([]);
  expect(moved(at)).toBe(topic.open.length);
  await leading.stop();
}

test('moves its segments at the pace that was asked for, never faster, and then its item goes', async () => {
  const at = await scene(50);
  expect(await drain(at, at.b, 10)).toEqual({ segments: 50 });
  expect(await at.world.record(at.b)).toMatchObject({ drainPerSecond: 10 });
  for (let second = 1; second <= 6; second += 1) {
    await at.world.clock.advance(1_000);
    expect(moved(at)).toBeLessThanOrEqual(10 * second);
    expect(moved(at)).toBeGreaterThanOrEqual(Math.min(50, 10 * (second - 1)));
  }
  await expectLeft(at);
  expect(at.leader.telemetry.counts.find(({ name }) => name === 'kelp.segments.moved')?.attributes).toEqual({ kind: 'drain' });
});

test('one a second is one a second', async () => {
  const at = await scene(5);
  await drain(at, at.b, 1);
  for (let second = 1; second <= 5; second += 1) {
    await at.world.clock.advance(1_000);
    expect(moved(at)).toBeLessThanOrEqual(second);
    expect(moved(at)).toBeGreaterThanOrEqual(second - 1);
  }
  await expectLeft(at);
});

test('at full pace all are moved within a second, and the topic’s item is written little', async () => {
  const at = await scene(64);
  const { version } = await at.world.read(at.topic);
  await drain(at, at.b, DRAIN_PER_SECOND_MAX);
  expect(await at.world.until(() => moved(at) === 64)).toBeLessThanOrEqual(1_000);
  expect((await at.world.read(at.topic)).version - version).toBe(2 * Math.ceil(64 / MOVED_AT_ONCE_MAX));
  await expectLeft(at);
});

test('asked twice, the newer pace counts at once', async () => {
  const at = await scene(60);
  await drain(at, at.b, 1);
  await at.world.clock.advance(3_000);
  expect(moved(at)).toBeLessThanOrEqual(3);
  expect(await drain(at, at.b, 100)).toEqual({ segments: 60 - moved(at) });
  expect(await at.world.until(() => moved(at) === 60)).toBeLessThanOrEqual(1_500);
  await expectLeft(at);
});

test('a broker that drains is told to flush first, and all who live to look again', async () => {
  const at = await scene(2);
  await drain(at, at.b, DRAIN_PER_SECOND_MAX);
  await at.world.until(() => moved(at) === 2);
  const { topic } = at;
  expect(at.world.peers.of('flush')).toEqual([
    { broker: at.b, operation: 'flush', body: { topic: topic.id, segments: topic.open.map(({ segment }) => segment) } },
  ]);
  expect(at.world.peers.of('refresh')).toEqual([at.a, at.b].map((broker) => ({ broker, operation: 'refresh', body: { topics: ['t'] } })));
  await at.leading.stop();
});

test('its item waits for its next heartbeat, by which it knows; a fleet’s says at once that it is none any more', async () => {
  const process = await scene(1);
  await drain(process, process.b, DRAIN_PER_SECOND_MAX);
  const { version } = (await process.world.record(process.b)) ?? { version: 0 };
  await process.world.until(() => moved(process) === 1);
  const last = { version };
  await process.world.until(
    async () => {
      const record = await process.world.record(process.b);
      last.version = record?.version ?? last.version;
      return record === undefined;
    },
    HEARTBEAT_MS + 2 * BROKERS_READ_MS,
  );
  expect(last.version).toBeGreaterThan(version);
  await process.leading.stop();

  const fleet = await scene(1, 'fleet');
  await drain(fleet, fleet.b, DRAIN_PER_SECOND_MAX);
  const isDrained = async (): Promise<boolean> => (await fleet.world.record(fleet.b))?.drained === true;
  expect(await fleet.world.until(isDrained)).toBeLessThanOrEqual(BROKERS_READ_MS);
  expect(await fleet.leader.deps.directory.list({ fresh: true }, fleet.world.signal)).toMatchObject([{ id: fleet.a }]);
  await fleet.leading.stop();
});

test('a drained fleet is nobody for the leader: it is not asked, not left again, and can’t be drained', async () => {
  const at = await scene(1, 'fleet');
  await drain(at, at.b, DRAIN_PER_SECOND_MAX);
  await at.world.until(async () => (await at.world.record(at.b))?.drained === true);
  const marked = await at.world.record(at.b);
  const probes = (): number => at.world.peers.of('probe').filter(({ broker }) => broker === at.b).length;
  at.world.kill(at.b);
  // Up to the next read it is still known.
  await at.world.clock.advance(BROKERS_READ_MS + BROKER_PROBE_MS);
  const before = probes();
  await at.world.clock.advance(5 * BROKERS_READ_MS);
  expect(await at.world.record(at.b)).toEqual(marked);
  expect(probes()).toBe(before);
  await expect(drain(at, at.b, 1)).rejects.toMatchObject({ code: 'broker-not-found' });
  await at.leading.stop();
});

test('a fleet that dies while it drains was drained; one that only dies loses its item', async () => {
  const draining = await scene(50, 'fleet');
  await drain(draining, draining.b, 1);
  draining.world.kill(draining.b);
  await draining.world.until(async () => (await draining.world.record(draining.b))?.drained === true);
  expect(moved(draining)).toBe(50);
  await draining.leading.stop();

  const dead = await scene(50, 'fleet');
  dead.world.kill(dead.b);
  await dead.world.until(async () => (await dead.world.record(dead.b)) === undefined);
  expect(moved(dead)).toBe(50);
  await dead.leading.stop();
});

test('one that dies while it drains needs no pace any more', async () => {
  const at = await scene(50);
  await drain(at, at.b, 1);
  await at.world.clock.advance(2_000);
  at.world.kill(at.b);
  await at.world.until(() => moved(at) === 50, 5_000);
  await expectLeft(at);
});

test('the leader may drain itself', async () => {
  const world = createFailoverWorld();
  const topic = await world.topic(2);
  const [a, b] = [await world.live('a'), await world.live('b')];
  for (const { segment } of topic.open) await world.assign(topic, segment, [a]);
  const leader = world.leader(a);
  const leading = leader.lead();
  expect(await world.run(leader.duties.drain(a, { perSecond: 100 }, world.signal))).toEqual({ segments: 2 });
  await world.until(async () => (await world.record(a)) === undefined);
  const lineage = await readLineage(world.table, topic.id);
  expect(problemsOf(lineage)).toEqual([]);
  expect(lineage.topic.open.map(({ segment }) => lineage.heads.get(segment)?.brokers)).toEqual([[b], [b]]);
  await leading.stop();
});

describe('refused', () => {
  test('a broker that nobody knows', async () => {
    const at = await scene(1);
    await expect(drain(at, 'nobody' as BrokerId, 1)).rejects.toMatchObject({ kind: 'not-found', code: 'broker-not-found' });
    await at.leading.stop();
  });

  test('the last one: others drain, or are dead, or are not there', async () => {
    const at = await scene(1);
    const { world, a, b } = at;
    await drain(at, a, 1);
    await expect(drain(at, b, 1)).rejects.toMatchObject({ kind: 'conflict', code: 'last-broker' });
    expect((await world.record(b))?.drainPerSecond).toBeUndefined();
    // What drains already may be asked again.
    expect(await drain(at, a, 2)).toEqual({ segments: 0 });
    const c = await world.live('c');
    world.kill(c);
    await world.until(() => at.leader.duties.isDead(c) || moved(at) > 0, 10_000);
    await expect(drain(at, b, 1)).rejects.toMatchObject({ code: 'last-broker' });
    await at.leading.stop();
  });

  test('the last one, for an instance that leads for a call: an item alone is nobody, or a fleet’s drain would go on for ever', async () => {
    const world = createFailoverWorld();
    const [a, b] = [await world.live('a', { kind: 'fleet' }), await world.live('b')];
    const { duties } = world.leader(a);
    world.kill(b);
    const drained = (): Promise<unknown> => world.run(duties.drain(a, { perSecond: 1 }, world.signal));
    await expect(drained()).rejects.toMatchObject({ code: 'last-broker' });
    expect((await world.record(a))?.drainPerSecond).toBeUndefined();

    // Whoever answers leads soon, and ends it.
    world.thaw(b);
    expect(await drained()).toEqual({ segments: 0 });
    const leading = world.leader(b).lead();
    await world.until(async () => (await world.record(a))?.drained === true);
    await leading.stop();
  });

  test('two at once, of which one must stay', async () => {
    const at = await scene(1);
    const results = await at.world.run(
      Promise.allSettled([at.a, at.b].map((one) => at.leader.duties.drain(one, { perSecond: 1 }, at.world.signal))),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await at.leading.stop();
  });
});
