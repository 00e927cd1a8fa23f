import { expect, test } from 'vitest';
import { encodeServed } from '../../../src/format/served-item.ts';
import { headKey, servedKey, servedPartition } from '../../../src/format/item-key.ts';
import { findMoves } from '../../../src/control/failover/find-moves.ts';
import { type BrokerId, segmentId, type SegmentId, type TopicId } from '../../../src/model/ids.ts';
import { MOVES_READ_PARALLEL_MAX, SEGMENTS_LIST_PAGE } from '../../../src/model/limits.ts';
import type { Topic, TopologyChange } from '../../../src/model/topic.ts';
import { intend } from '../../../src/topology/apply-change.ts';
import { noteServed } from '../../../src/topology/served.ts';
import { publishOf } from '../../publish/requests.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { replaceSegment } from '../../simulation/replace-segment.ts';
import { problemsOf, readLineage } from './check-topology.ts';
import { createFailoverWorld, type FailoverWorld, type TestLeader } from './world.ts';

const listed = async (world: FailoverWorld, broker: BrokerId): Promise<unknown[]> =>
  (await world.table.query({ pk: servedPartition(broker), limit: 10_000 }, world.signal)).items.map((item) => item['segment']);

const list = (world: FailoverWorld, broker: BrokerId, topic: TopicId, segment: SegmentId): Promise<unknown> =>
  world.table.put(servedKey(broker, topic, segment), encodeServed({ topic, segment }), [], world.signal);

const found = async (world: FailoverWorld, leader: TestLeader, broker: BrokerId): Promise<SegmentId[]> =>
  (await world.run(findMoves(leader.deps, broker, world.signal))).map((move) => move.segment);

type Scene = {
  readonly world: FailoverWorld;
  readonly topic: Topic;
  readonly segments: readonly SegmentId[];
  readonly a: BrokerId;
  readonly b: BrokerId;
  readonly leader: TestLeader;
};

async function scene(count: number): Promise<Scene> {
  const world = createFailoverWorld();
  const topic = await world.topic(count);
  const [a, b] = [await world.live('a'), await world.live('b')];
  return { world, topic, segments: topic.open.map(({ segment }) => segment), a, b, leader: world.leader(a) };
}

test('what is sealed, or served by others, or was never there, is taken off the list; what is served stays on it', async () => {
  const { world, topic, segments, a, b, leader } = await scene(3);
  const [sealed, others, served] = segments as [SegmentId, SegmentId, SegmentId];
  await replaceSegment(world, topic, { segment: sealed, children: 1 });
  await world.assign(topic, others, [a]);
  await world.assign(topic, served, [b, a]);
  for (const segment of [sealed, others, segmentId(1_000)]) await list(world, b, topic.id, segment);
  await list(world, b, 'tnobody000000000' as TopicId, segmentId(0));
  expect(await listed(world, b)).toHaveLength(5);
  expect(await found(world, leader, b)).toEqual([served]);
  expect(await listed(world, b)).toEqual([served]);
  expect(leader.telemetry.total('kelp.moves.failed')).toBe(0);
});

test('a segment that nobody was given yet is given now: the list must not lose whom it is about to be given to', async () => {
  const { world, topic, segments, a, b, leader } = await scene(1);
  const [segment] = segments as [SegmentId];
  // As by a leader that was stopped after the lists, and before the head. To `b`, which is left, it may not be given.
  await world.live('b', { drainPerSecond: 1 });
  await list(world, b, topic.id, segment);
  expect(await found(world, leader, b)).toEqual([]);
  expect(await listed(world, b)).toEqual([]);
  // The late write of that leader.
  await world.assign(topic, segment, [b]);
  const { heads } = await readLineage(world.table, topic.id);
  expect(heads.get(segment)?.brokers).toEqual([a]);
});

test('a child that is listed before its head is there: the change is carried on, and the child is found', async () => {
  const { world, topic, segments, b, leader } = await scene(1);
  const [parent] = segments as [SegmentId];
  const child = { segment: segmentId(topic.nextSegment), lo: 0, hi: 65_535, brokers: [b] };
  const change: TopologyChange = { id: 'c1', kind: 'failover', parents: [parent], children: [child] };
  await intend(leader.deps, topic, [change], world.signal);
  await noteServed(leader.deps, { topic: topic.id, segment: child.segment }, [b], world.signal);
  expect(await found(world, leader, b)).toEqual([child.segment]);
  expect(await listed(world, b)).toEqual([child.segment]);
  expect(problemsOf(await readLineage(world.table, topic.id))).toEqual([]);
});

test('a segment that was sealed by somebody who was stopped then: the change is carried on', async () => {
  const { world, topic, segments, a, b, leader } = await scene(1);
  const [parent] = segments as [SegmentId];
  await world.assign(topic, parent, [b]);
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const table = interceptTable(world.table, async (call, make) => {
    const answer = await make();
    if (call.name !== 'update head') return answer;
    // Sealed, and still on the list.
    stop();
    return new Promise<never>(() => undefined);
  });
  world.kill(b);
  void world.leader(a, { table }).duties.suspect({ topic: topic.id, segment: parent }, b, world.signal);
  await world.run(stopped);
  const before = await readLineage(world.table, topic.id);
  expect(before.heads.get(parent)?.state).toBe('sealed');
  expect(before.topic.changes).toHaveLength(1);
  expect(await listed(world, b)).toEqual([parent]);
  expect(await found(world, leader, b)).toEqual([]);
  expect(await listed(world, b)).toEqual([]);
  expect(problemsOf(await readLineage(world.table, topic.id))).toEqual([]);
});

test('a head that can’t be read keeps its entry, is counted, and keeps no other segment', async () => {
  const { world, topic, segments, b, leader } = await scene(3);
  for (const segment of segments) await world.assign(topic, segment, [b]);
  const key = headKey(topic.id, segments[1] ?? segmentId(0));
  await world.table.update(key, { condition: [], changes: [{ op: 'set', path: ['state'], value: 'rotten' }] }, world.signal);
  expect(await found(world, leader, b)).toEqual([segments[0], segments[2]]);
  expect(await listed(world, b)).toEqual(segments);
  expect(leader.telemetry.total('kelp.moves.failed')).toBe(1);
});

test('long lists are read in pages, heads side by side, and what was written to has its time', async () => {
  const count = 2 * SEGMENTS_LIST_PAGE + 3;
  const world = createFailoverWorld();
  const topic = await world.topic(count);
  const [a, b] = [await world.live('a'), await world.live('b')];
  for (const { segment } of topic.open) await world.assign(topic, segment, [b]);
  await world.run(world.broker().publisher.publish(topic, publishOf([['k0', 'x']]), world.signal));
  let [pages, reading, readingMax] = [0, 0, 0];
  const table = interceptTable(world.table, async (call, make, signal) => {
    if (call.op === 'query') pages += 1;
    reading += 1;
    readingMax = Math.max(readingMax, reading);
    await world.clock.sleep(5, signal);
    reading -= 1;
    return make();
  });
  const moves = await world.run(findMoves(world.leader(a, { table }).deps, b, world.signal));
  expect(moves).toHaveLength(count);
  expect(pages).toBe(3);
  expect(readingMax).toBe(MOVES_READ_PARALLEL_MAX);
  const written = moves.filter((move) => move.writtenMs >= 0);
  expect(written.map(({ messages }) => messages)).toEqual([1]);
  expect(Math.abs((written[0]?.writtenMs ?? 0) - world.clock.nowMs())).toBeLessThan(10_000);
});
