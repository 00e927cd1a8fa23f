import { describe, expect, test } from 'vitest';
import { type MoveDeps, moveSegments, type Moving } from '../../../src/control/failover/move-segments.ts';
import { moveOf } from '../../../src/control/failover/plan-moves.ts';
import { createMessenger } from '../../../src/control/failover/tell-brokers.ts';
import type { Head } from '../../../src/model/head.ts';
import { type BrokerId, segmentId } from '../../../src/model/ids.ts';
import { FLUSH_MS_MAX } from '../../../src/model/limits.ts';
import type { Topic, TopologyChange } from '../../../src/model/topic.ts';
import type { Key } from '../../../src/ports/metadata-table.ts';
import { intend } from '../../../src/topology/apply-change.ts';
import { createFaultyTable, type TableFault } from '../../faults/faulty-table.ts';
import { interceptTable, type TableCall } from '../../simulation/intercept.ts';
import { replaceSegment } from '../../simulation/replace-segment.ts';
import { brokerId, someBroker } from '../some-broker.ts';
import { problemsOf, readLineage, unlisted } from './check-topology.ts';
import { createFailoverWorld, type FailoverWorld, type LeaderOptions, type TestLeader } from './world.ts';

const [a, b, c] = [brokerId('a'), brokerId('b'), brokerId('c')];

type Scene = { readonly world: FailoverWorld; readonly topic: Topic; readonly leader: TestLeader; readonly deps: MoveDeps };

/** Of three brokers, `b` and `c` serve all segments. */
async function scene(segments: number, options: (world: FailoverWorld) => Partial<LeaderOptions> = () => ({})): Promise<Scene> {
  const world = createFailoverWorld();
  const topic = await world.topic(segments);
  for (const id of ['a', 'b', 'c']) await world.live(id);
  for (const { segment } of topic.open) await world.assign(topic, segment, [b, c]);
  const leader = world.leader(a, options(world));
  const living = [a, b, c].map((id) => ({ id, url: `http://${id}:80` }));
  const messenger = createMessenger({ ...leader.deps });
  const deps: MoveDeps = { ...leader.deps, messenger, living: () => living.filter(({ id }) => id !== b), unfit: () => new Set([b]) };
  return { world, topic, leader, deps };
}

async function moving({ world, topic }: Scene, from: BrokerId = b): Promise<Moving> {
  const { heads } = await readLineage(world.table, topic.id);
  const moves = topic.open.map(({ segment }) => moveOf(heads.get(segment) as Head));
  return { topic: topic.id, moves, kind: 'failover', from };
}

async function expectWhole({ world, topic }: Scene): Promise<void> {
  const lineage = await readLineage(world.table, topic.id);
  expect(problemsOf(lineage)).toEqual([]);
  expect(await unlisted(world.table, [lineage], { brokers: [a, b, c], exact: true })).toEqual([]);
}

const putsOfTopic = (calls: readonly TableCall[]): TableCall[] => calls.filter((call) => call.name === 'put topic');

test('one intent and one publish, however many segments; the remaining broker flushes before, all who live look again after', async () => {
  const calls: (TableCall | string)[] = [];
  const at = await scene(20, (world) => {
    world.peers.onSend = ({ operation, broker }) => void calls.push(`${operation} ${broker}`);
    return { table: interceptTable(world.table, (call, make) => (calls.push(call), make())) };
  });
  expect(await at.world.run(moveSegments(at.deps, await moving(at), at.world.signal))).toBe(20);
  const order = calls.map((call) => (typeof call === 'string' ? call : call.name)).filter((name) => /flush|refresh|put topic/.test(name));
  expect(order).toEqual(['flush c', 'put topic', 'put topic', 'refresh a', 'refresh c']);
  const { topic, heads } = await readLineage(at.world.table, at.topic.id);
  expect(topic.version).toBe(at.topic.version + 2);
  for (const { segment } of topic.open) expect(heads.get(segment)?.brokers.toSorted()).toEqual([a, c]);
  await expectWhole(at);
  expect(at.leader.telemetry.total('kelp.segments.moved')).toBe(20);
});

test('counts follow: what was chosen is added, what was served is taken off, what was not used is given back', async () => {
  const at = await scene(4);
  const { counts } = at.deps;
  await counts.read([a, b, c], at.world.signal);
  await replaceSegment(at.world, at.topic, { segment: segmentId(0), children: 1 });
  const before = [a, b, c].map((id) => counts.of(id));
  await at.world.run(moveSegments(at.deps, await moving(at), at.world.signal));
  expect([a, b, c].map((id, n) => counts.of(id) - (before[n] ?? 0))).toEqual([3, -3, 0]);
  // Nothing of it is open any more.
  expect(await at.world.run(moveSegments(at.deps, await moving(at), at.world.signal))).toBe(0);
  expect([a, b, c].map((id, n) => counts.of(id) - (before[n] ?? 0))).toEqual([3, -3, 0]);
});

test('a broker that does not flush in time, or refuses to, keeps nobody longer than that', async () => {
  const at = await scene(2);
  // It has answered before.
  await at.world.run(at.leader.duties.isUsable(someBroker(c), { again: false }, at.world.signal));
  at.world.peers.set(c, 'hangs');
  const beganMs = at.world.clock.monotonicMs();
  expect(await at.world.run(moveSegments(at.deps, await moving(at), at.world.signal))).toBe(2);
  expect(at.world.clock.monotonicMs() - beganMs).toBe(FLUSH_MS_MAX);
  // The refresh of `c` hangs, and nobody waits for it.
  expect(at.leader.telemetry.counts).toContainEqual({ name: 'kelp.brokers.untold', value: 1, attributes: { operation: 'flush' } });
  await at.world.clock.advance(10_000);
  expect(at.leader.telemetry.counts).toContainEqual({ name: 'kelp.brokers.untold', value: 1, attributes: { operation: 'refresh' } });
  await expectWhole(at);
});

describe('somebody else was there', () => {
  const pendingChange = (topic: Topic, parent: number): TopologyChange => {
    const range = topic.open[parent] ?? { lo: 0, hi: 0 };
    const child = { segment: segmentId(topic.nextSegment), lo: range.lo, hi: range.hi, brokers: [c] };
    return { id: 'c-of-another', kind: 'failover', parents: [segmentId(parent)], children: [child] };
  };

  test('a pending change of one of the segments is carried on first, and the segment skipped', async () => {
    const at = await scene(3);
    await intend(at.deps, at.topic, [pendingChange(at.topic, 1)], at.world.signal);
    expect(await at.world.run(moveSegments(at.deps, await moving(at), at.world.signal))).toBe(2);
    await expectWhole(at);
    const { heads } = await readLineage(at.world.table, at.topic.id);
    expect(heads.get(segmentId(1))?.successors.map(({ segment }) => segment)).toEqual([segmentId(3)]);
  });

  test('a pending change of other segments is left to whoever makes it', async () => {
    const at = await scene(3);
    const change = pendingChange(at.topic, 1);
    await intend(at.deps, at.topic, [change], at.world.signal);
    const all = await moving(at);
    const others = { ...all, moves: all.moves.filter(({ segment }) => segment !== segmentId(1)) };
    expect(await at.world.run(moveSegments(at.deps, others, at.world.signal))).toBe(2);
    expect((await at.world.read(at.topic)).changes).toEqual([change]);
  });

  test('a change that makes one of the segments ends first, and the segment moves', async () => {
    const at = await scene(1);
    const [range] = at.topic.open;
    const child = { segment: segmentId(1), lo: range?.lo ?? 0, hi: range?.hi ?? 0, brokers: [b] };
    const change: TopologyChange = { id: 'c-of-another', kind: 'drain', parents: [segmentId(0)], children: [child] };
    await intend(at.deps, at.topic, [change], at.world.signal);
    const move = { topic: at.topic.id, segment: segmentId(1), brokers: [b], writtenMs: -1, messages: 0 };
    const batch: Moving = { topic: at.topic.id, kind: 'failover', from: b, moves: [move] };
    expect(await at.world.run(moveSegments(at.deps, batch, at.world.signal))).toBe(1);
    await expectWhole(at);
    const { heads } = await readLineage(at.world.table, at.topic.id);
    expect(heads.get(segmentId(1))?.successors).toHaveLength(1);
  });

  test('the topic changes between the read and the intent: planned anew from what it is then', async () => {
    let others = 3;
    const at = await scene(8, (world) => ({
      table: interceptTable(world.table, async (call, make) => {
        const intends = call.op === 'put' && call.name === 'put topic' && (call.item['changes'] as unknown[]).length > 0;
        if (intends && others > 0) {
          others -= 1;
          const topic = await world.read(at.topic);
          await replaceSegment(world, topic, { segment: topic.open.at(-1)?.segment ?? segmentId(0), children: 1 });
        }
        return make();
      }),
    }));
    const { counts } = at.deps;
    await counts.read([a, c], at.world.signal);
    const before = counts.of(a) + counts.of(c);
    expect(await at.world.run(moveSegments(at.deps, await moving(at), at.world.signal))).toBe(7);
    expect(others).toBe(0);
    // Two were chosen for each that moved, of which `c` served all; what was chosen for the eighth is given back.
    expect(counts.of(a) + counts.of(c) - before).toBe(2 * 7 - 7);
    expect(problemsOf(await readLineage(at.world.table, at.topic.id))).toEqual([]);
  });

  test('the topic was deleted: nothing moves', async () => {
    const at = await scene(2);
    await at.world.run(at.world.broker().topics.delete('t', at.world.signal));
    expect(await at.world.run(moveSegments(at.deps, await moving(at), at.world.signal))).toBe(0);
  });
});

const FAULTS: readonly TableFault[] = [{ kind: 'answer-lost' }, { kind: 'late', ms: 20 }, { kind: 'throttled' }, { kind: 'conflict' }];

test.each(FAULTS)('an intent that met “$kind” is made once', async (fault) => {
  let puts = 0;
  const at = await scene(5, (world) => {
    const choose = ({ op, key }: { readonly op: string; readonly key: Pick<Key, 'pk'> }): TableFault | undefined => {
      if (op !== 'put' || !key.pk.startsWith('t#')) return undefined;
      puts += 1;
      return puts === 1 ? fault : undefined;
    };
    return { table: createFaultyTable(world.table, { choose, clock: world.clock }) };
  });
  expect(await at.world.run(moveSegments(at.deps, await moving(at), at.world.signal))).toBe(5);
  await at.world.clock.advance(1_000);
  const { topic } = await readLineage(at.world.table, at.topic.id);
  expect(topic.version).toBe(at.topic.version + 2);
  expect(topic.nextSegment).toBe(10);
  await expectWhole(at);
});

test('nobody to choose: nothing is written', async () => {
  const at = await scene(2);
  for (const id of ['a', 'c']) await at.world.live(id, { drainPerSecond: 1 });
  const moved = moveSegments(at.deps, await moving(at), at.world.signal);
  await expect(at.world.run(moved)).rejects.toMatchObject({ kind: 'unavailable', code: 'no-brokers' });
  expect(await at.world.read(at.topic)).toEqual(at.topic);
});

test('those that do not answer at the moment are chosen only if there is nobody else', async () => {
  const at = await scene(2);
  const doubtful: MoveDeps = { ...at.deps, unfit: ({ doubtful: also }) => new Set(also ? [a, b, c] : [b, c]) };
  expect(await at.world.run(moveSegments(doubtful, await moving(at), at.world.signal))).toBe(2);
  const { topic, heads } = await readLineage(at.world.table, at.topic.id);
  expect(topic.open.map(({ segment }) => heads.get(segment)?.brokers)).toEqual([[a], [a]]);
});

test('nothing is begun once the signal has aborted', async () => {
  const calls: TableCall[] = [];
  const end = new AbortController();
  const at = await scene(2, (world) => ({
    table: interceptTable(world.table, async (call, make) => {
      calls.push(call);
      // While the topic is read, its term ends; this table would take the write all the same.
      const answer = await make('detached');
      if (call.name === 'get topic') end.abort(new Error('its term is over'));
      return answer;
    }),
  }));
  const batch = await moving(at);
  // Known already, so that nothing else finds the end.
  await at.leader.deps.directory.list({ fresh: true }, at.world.signal);
  await at.leader.deps.counts.read([a, c], at.world.signal);
  calls.length = 0;
  await expect(at.world.run(moveSegments(at.deps, batch, end.signal))).rejects.toThrow('its term is over');
  expect(putsOfTopic(calls)).toEqual([]);
});
