import { describe, expect, test } from 'vitest';
import type { SegmentPressure } from '../../../src/model/segment-pressure.ts';
import type { Topic } from '../../../src/model/topic.ts';
import { tiles } from '../../topology/tiles.ts';
import { putBroker, someBroker } from '../some-broker.ts';
import { at as partitionAt, createFloodWorld, even } from './flood-world.ts';
import { counted, end, type Scene, scene, TICK_MS } from './leading-scene.ts';

// What a leader does by itself of what it sees and is told.

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const logged = ({ leader }: Scene, level: 'info' | 'warn'): string[] =>
  leader.telemetry.logs.flatMap((line) => (line.level === level && /partitions/.test(line.message) ? line.message : []));
const pressureOf = (topic: Topic, segment: string, throttledWrites: number): SegmentPressure => ({
  topic: topic.id,
  segment: segment as SegmentPressure['segment'],
  throttledWrites,
  queuedMs: 0,
});

describe('load', () => {
  test('a flood splits until each segment carries what it can; what it leaves merges, down to the minimum', async () => {
    const at = await scene();
    const { world } = at;
    const topic = await world.flooded({ minSegments: 2 }, { segments: 2 });
    await world.clock.advance(MINUTE_MS);
    await world.flow(topic, even(7_000), { seconds: 90 });
    const flooded = await world.open(topic);
    expect(flooded.length).toBeGreaterThanOrEqual(8);
    expect(flooded.length).toBeLessThanOrEqual(16);
    await world.clock.advance(2 * HOUR_MS);
    expect(await world.open(topic)).toHaveLength(2);
    const changes = counted(at, 'kelp.rebalance.changes');
    expect(new Set(changes)).toEqual(new Set(['split over-target', 'merge quiet']));
    // Each split was merged once: nothing went to and fro.
    expect(changes).toHaveLength(2 * (flooded.length - 2));
    expect(at.leader.telemetry.records.filter(({ name }) => name === 'kelp.rebalance.look.duration').length).toBeGreaterThan(20);
    await end(at);
  });

  test('a steady load around the target comes to rest', async () => {
    const at = await scene();
    const { world } = at;
    const topic = await world.flooded({}, { segments: 4 });
    await world.flow(topic, even(3_800), { seconds: 1_800 });
    expect(await world.open(topic)).toHaveLength(4);
    expect(counted(at, 'kelp.rebalance.changes')).toEqual([]);
    await end(at);
  });

  test('another leader knows how old segments are, and goes on', async () => {
    const at = await scene();
    const { world } = at;
    const topic = await world.flooded();
    await world.clock.advance(MINUTE_MS);
    await world.flow(topic, even(3_500), { seconds: 60 });
    await at.leading.stop();
    const { length } = await world.open(topic);
    expect(length).toBeGreaterThanOrEqual(4);
    // For all that time nobody leads.
    await world.clock.advance(HOUR_MS);
    const next = world.leader(await world.live('c'), { rebalanceMs: TICK_MS });
    const leading = next.lead();
    // The cool-down is over before it has begun: only what merged lately waits.
    await world.clock.advance(10 * MINUTE_MS);
    expect((await world.open(topic)).length).toBeLessThan(length);
    expect(next.telemetry.total('kelp.rebalance.changes')).toBeGreaterThan(0);
    expect(world.watch.problems()).toEqual([]);
    await leading.stop();
  });

  test('one whose first look at old segments finds them at rest does not take their past for their present', async () => {
    const world = createFloodWorld();
    const a = await world.live('a');
    const topic = await world.flooded();
    await world.clock.advance(MINUTE_MS);
    // More than ten times the target, while nobody leads; over its life, more than the target still.
    await world.flow(topic, even(20_000), { seconds: 60 });
    await world.clock.advance(10 * MINUTE_MS);
    const leader = world.leader(a, { rebalanceMs: TICK_MS });
    const leading = leader.lead();
    await world.clock.advance(5 * MINUTE_MS);
    expect(await world.open(topic)).toHaveLength(1);
    await leading.stop();
  });
});

describe('what brokers say', () => {
  test('a nudge brings a quiet topic back at once, and again no sooner than it may', async () => {
    const at = await scene();
    const { world, leader, calls } = at;
    const topic = await world.flooded();
    await world.clock.advance(10 * MINUTE_MS);
    await world.flow(topic, even(6_000), { seconds: 1 });
    const looks = (): number => calls.filter((name) => name === 'get head').length;
    const before = looks();
    for (let n = 0; n < 10; n += 1) await leader.duties.nudge(topic.id, [], world.signal);
    await world.clock.advance(100);
    expect(looks() - before).toBe(1);
    await world.flow(topic, even(6_000), { seconds: 10 });
    expect((await world.open(topic)).length).toBeGreaterThan(1);
    await end(at);
  });

  test('a nudge names a topic that nobody has listed yet', async () => {
    const at = await scene();
    const { world, leader } = at;
    await world.clock.advance(1_000);
    const topic = await world.flooded();
    await world.flow(topic, even(6_000), { seconds: 1 });
    await leader.duties.nudge(topic.id, [], world.signal);
    await world.flow(topic, even(6_000), { seconds: 10 });
    expect((await world.open(topic)).length).toBeGreaterThan(1);
    await end(at);
  });

  test.each([
    { how: 'a nudge', isNudged: true },
    { how: 'a heartbeat', isNudged: false },
  ])('what the table throttles is split below its target, known by $how', async ({ isNudged }) => {
    const at = await scene();
    const { world, leader, calls } = at;
    const topic = await world.flooded();
    await world.clock.advance(10 * MINUTE_MS);
    calls.length = 0;
    // Its next look by itself is minutes away.
    await world.until(() => calls.includes('get head'));
    await world.flow(topic, even(300), { seconds: 3 });
    const pressure = [pressureOf(topic, 's0000000', 7)];
    if (isNudged) await leader.duties.nudge(topic.id, pressure, world.signal);
    else await putBroker(world.table, someBroker('b', { pressure, version: 1_000 }));
    await world.flow(topic, even(300), { seconds: 15 });
    expect(await world.open(topic)).toHaveLength(2);
    expect(counted(at, 'kelp.rebalance.changes')).toEqual(['split throttled']);
    await end(at);
  });

  test('what a broker says of another topic, or only waits for, throttles nothing', async () => {
    const at = await scene();
    const { world, leader } = at;
    const topic = await world.flooded();
    const other = await world.flooded({}, { name: 'other' });
    await world.clock.advance(MINUTE_MS);
    const waiting = { ...pressureOf(topic, 's0000000', 0), queuedMs: 5_000 };
    for (let n = 0; n < 5; n += 1) {
      await leader.duties.nudge(other.id, [pressureOf(topic, 's0000000', 9), waiting], world.signal);
      await leader.duties.nudge(topic.id, [waiting], world.signal);
      await world.flow(topic, even(300), { seconds: 3 });
    }
    expect(await world.open(topic)).toHaveLength(1);
    await end(at);
  });
});

test('one hot key is said, and not split in vain; once it is gone, that is said, too', async () => {
  const at = await scene();
  const { world } = at;
  const topic = await world.flooded();
  await world.clock.advance(1_000);
  await world.flow(topic, partitionAt(40_000, 3_000), { seconds: 120 });
  const hot = await world.open(topic);
  // Cut out, bucket by bucket, and then left alone.
  expect(hot.some(({ lo, hi }) => lo <= 40_000 && hi >= 40_000 && hi - lo < 16)).toBe(true);
  const splits = counted(at, 'kelp.rebalance.changes').length;
  await world.flow(topic, partitionAt(40_000, 3_000), { seconds: 60 });
  expect(counted(at, 'kelp.rebalance.changes')).toHaveLength(splits);
  // Once as a range, once as the partition that was found in it.
  expect(logged(at, 'warn')).toHaveLength(2);
  expect(at.leader.telemetry.total('kelp.hot_keys')).toBe(1);
  const { hotKeys } = await world.run(at.leader.duties.loads(topic.id, world.signal));
  expect(hotKeys).toMatchObject([{ lo: 40_000, hi: 40_000, share: 1 }]);
  const before = logged(at, 'info').length;
  await world.clock.advance(2 * MINUTE_MS);
  expect(logged(at, 'info')).toHaveLength(before + 1);
  expect(at.leader.telemetry.total('kelp.hot_keys')).toBe(0);
  await end(at);
});

test('the gauge of hot keys is the leader’s alone: it ends with the term', async () => {
  const at = await scene();
  const { world } = at;
  const topic = await world.flooded();
  await world.flow(topic, partitionAt(7, 3_000), { seconds: 90 });
  expect(at.leader.telemetry.total('kelp.hot_keys')).toBe(1);
  await end(at);
  expect(at.leader.telemetry.total('kelp.hot_keys')).toBe(0);
});

test('an expected flood finds its segments, though nothing happened in the topic before', async () => {
  const at = await scene();
  const { world } = at;
  const topic = await world.flooded({ schedule: [{ cron: '30 * * * *', durationSeconds: 600, minSegments: 32 }] });
  const beginsMs = Math.ceil((world.clock.nowMs() - 30 * MINUTE_MS) / HOUR_MS) * HOUR_MS + 30 * MINUTE_MS;
  await world.clock.advance(beginsMs - world.clock.nowMs() - 3 * MINUTE_MS);
  expect(await world.open(topic)).toHaveLength(1);
  await world.clock.advance(3 * MINUTE_MS);
  expect(await world.open(topic)).toHaveLength(32);
  // It is over, and the next one less than an hour away: nothing merges in between.
  await world.clock.advance(45 * MINUTE_MS);
  expect(await world.open(topic)).toHaveLength(32);
  expect(new Set(counted(at, 'kelp.rebalance.changes'))).toEqual(new Set(['split minimum']));
  await end(at);
});

test('told never to look by itself, it does not, whatever happens', async () => {
  const at = await scene({ rebalanceMs: 0 });
  const { world, leader, calls } = at;
  const topic = await world.flooded({ minSegments: 8 });
  await world.clock.advance(MINUTE_MS);
  calls.length = 0;
  await leader.duties.nudge(topic.id, [pressureOf(topic, 's0000000', 9)], world.signal);
  await world.flow(topic, even(9_000), { seconds: 60 });
  expect(calls.filter((name) => /topic|head|name/.test(name))).toEqual([]);
  expect(await world.open(topic)).toHaveLength(1);
  // By hand it does the same as ever.
  await world.run(leader.duties.rebalance({ dryRun: false }, world.signal));
  expect(await world.open(topic)).toSatisfy(tiles);
  expect(await world.open(topic)).toHaveLength(2);
  await end(at);
});
