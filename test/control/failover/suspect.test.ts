import { describe, expect, test } from 'vitest';
import type { BrokerId } from '../../../src/model/ids.ts';
import { BROKER_PROBE_MS, BROKER_PROBE_MS_MAX, MOVED_AT_ONCE_MAX } from '../../../src/model/limits.ts';
import type { Topic } from '../../../src/model/topic.ts';
import { firstSegment } from '../../publish/requests.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { problemsOf, readLineage } from './check-topology.ts';
import { createFailoverWorld, type FailoverWorld, type TestLeader } from './world.ts';

// Reports of clients and brokers that could not reach one.

type Scene = {
  readonly world: FailoverWorld;
  readonly topic: Topic;
  readonly leader: TestLeader;
  readonly a: BrokerId;
  readonly b: BrokerId;
};

async function scene(segments = 1): Promise<Scene> {
  const world = createFailoverWorld();
  const topic = await world.topic(segments);
  const [a, b] = [await world.live('a'), await world.live('b')];
  for (const { segment } of topic.open) await world.assign(topic, segment, [b]);
  return { world, topic, leader: world.leader(a), a, b };
}

const report = ({ world, topic, leader }: Scene, broker: BrokerId, n = 0): Promise<{ readonly dead: boolean }> =>
  leader.duties.suspect({ topic: topic.id, segment: topic.open[n]?.segment ?? firstSegment(topic) }, broker, world.signal);

test('a broker that answers: nothing changes', async () => {
  const at = await scene();
  const leading = at.leader.lead();
  const before = await at.world.read(at.topic);
  expect(await at.world.run(report(at, at.b))).toEqual({ dead: false });
  await at.world.clock.advance(5_000);
  expect(await at.world.read(at.topic)).toEqual(before);
  expect(at.leader.telemetry.total('kelp.brokers.dead')).toBe(0);
  await leading.stop();
});

test.each([true, false])(
  'a dead one: this segment has been moved when it is answered; the rest by the loop (leading: %s)',
  async (leads) => {
    const at = await scene(40);
    const { world, topic, leader, a, b } = at;
    const leading = leads ? leader.lead() : undefined;
    await world.clock.advance(2_300);
    world.kill(b);
    const beganMs = world.clock.monotonicMs();
    expect(await world.run(report(at, b, 17))).toEqual({ dead: true });
    expect(world.clock.monotonicMs() - beganMs).toBe(0);
    const reported = topic.open[17]?.segment ?? '';
    expect((await world.read(topic)).open.some((range) => range.segment === reported)).toBe(false);
    await world.clock.advance(20_000);
    const lineage = await readLineage(world.table, topic.id);
    expect(problemsOf(lineage)).toEqual([]);
    const moved = lineage.topic.open.filter(({ segment }) => lineage.heads.get(segment)?.brokers.includes(a));
    expect(moved).toHaveLength(leads ? 40 : 1);
    await leading?.stop();
  },
);

test('one that takes connections and answers nothing is dead by one probe, as long as that may take', async () => {
  const at = await scene();
  at.world.freeze(at.b);
  const beganMs = at.world.clock.monotonicMs();
  expect(await at.world.run(report(at, at.b))).toEqual({ dead: true });
  expect(at.world.clock.monotonicMs() - beganMs).toBe(BROKER_PROBE_MS_MAX);
});

test('all who report a broker within a second share one probe', async () => {
  const at = await scene(8);
  const { world, b } = at;
  const all = await world.run(Promise.all(Array.from({ length: 50 }, (_, n) => report(at, b, n % 8))));
  expect(all.every(({ dead }) => !dead)).toBe(true);
  expect(world.peers.of('probe')).toHaveLength(1);
  await world.clock.advance(BROKER_PROBE_MS - 1);
  await world.run(report(at, b));
  expect(world.peers.of('probe')).toHaveLength(1);
  await world.clock.advance(1);
  await world.run(report(at, b));
  expect(world.peers.of('probe')).toHaveLength(2);
});

test('a report that its caller gives up ends at once, and takes nothing from the others', async () => {
  const at = await scene();
  at.world.freeze(at.b);
  const caller = new AbortController();
  const { topic, leader } = at;
  const given = leader.duties.suspect({ topic: topic.id, segment: firstSegment(topic) }, at.b, caller.signal);
  const other = report(at, at.b);
  await at.world.clock.advance(100);
  caller.abort(new Error('gone'));
  await expect(given).rejects.toThrow('gone');
  expect(await at.world.run(other)).toEqual({ dead: true });
});

test('reports of many segments at once write the topic’s item a few times only', async () => {
  const at = await scene(64);
  let writes = 0;
  const table = interceptTable(at.world.table, async (call, make, signal) => {
    if (call.name === 'put topic') writes += 1;
    await at.world.clock.sleep(1, signal);
    return make();
  });
  const leader = at.world.leader(at.a, { table });
  at.world.kill(at.b);
  const reports = at.topic.open.map((_, n) => report({ ...at, leader }, at.b, n));
  expect((await at.world.run(Promise.all(reports))).every(({ dead }) => dead)).toBe(true);
  const lineage = await readLineage(at.world.table, at.topic.id);
  expect(problemsOf(lineage)).toEqual([]);
  expect([...lineage.heads.values()].filter((head) => head.state === 'open' && head.brokers.includes(at.b))).toEqual([]);
  expect(writes).toBeLessThanOrEqual(2 * (1 + Math.ceil(64 / MOVED_AT_ONCE_MAX)) + 2);
});

describe('a report that says nothing', () => {
  test('of a broker that does not serve the segment, of a sealed segment, of one that is not there, of the leader', async () => {
    const at = await scene();
    const { world, topic, leader, a, b } = at;
    const c = await world.live('c');
    world.kill(c);
    expect(await report(at, c)).toEqual({ dead: false });
    expect(await report(at, a)).toEqual({ dead: false });
    const nowhere = { topic: topic.id, segment: 's000zzzz' as (typeof topic.open)[0]['segment'] };
    expect(await leader.duties.suspect(nowhere, b, world.signal)).toEqual({ dead: false });
    world.kill(b);
    await world.run(report(at, b));
    const before = await world.read(topic);
    expect(await report(at, b)).toEqual({ dead: true });
    expect(await world.read(topic)).toEqual(before);
  });

  test('but one of a broker that is registered no more has its segments moved, the others by the loop', async () => {
    const world = createFailoverWorld();
    const topic = await world.topic(3);
    const a = await world.live('a');
    const gone = 'gone' as BrokerId;
    for (const { segment } of topic.open) await world.assign(topic, segment, [gone]);
    const leader = world.leader(a);
    const leading = leader.lead();
    await world.clock.advance(100);
    expect(await world.run(report({ world, topic, leader, a, b: gone }, gone))).toEqual({ dead: true });
    await world.clock.advance(5_000);
    const lineage = await readLineage(world.table, topic.id);
    expect(problemsOf(lineage)).toEqual([]);
    expect(lineage.topic.open.map(({ segment }) => lineage.heads.get(segment)?.brokers)).toEqual([[a], [a], [a]]);
    await leading.stop();
  });

  test('nobody is there to take it: the segment stays as it is', async () => {
    const at = await scene();
    await at.world.live('a', { drainPerSecond: 1 });
    at.world.kill(at.b);
    const before = await at.world.read(at.topic);
    await expect(at.world.run(report(at, at.b))).rejects.toMatchObject({ kind: 'unavailable', code: 'no-brokers' });
    expect(await at.world.read(at.topic)).toEqual(before);
  });
});
