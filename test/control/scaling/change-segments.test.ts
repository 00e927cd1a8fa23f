import { describe, expect, test } from 'vitest';
import type { MoveDeps } from '../../../src/control/failover/move-segments.ts';
import { createMessenger } from '../../../src/control/failover/tell-brokers.ts';
import { type Applied, changeSegments, type AskedChange } from '../../../src/control/scaling/change-segments.ts';
import { type BrokerId, segmentId } from '../../../src/model/ids.ts';
import { SEGMENTS_OPEN_MAX } from '../../../src/model/limits.ts';
import { FLOOD_KEEP_MS } from '../../../src/model/scaling-limits.ts';
import type { Topic } from '../../../src/model/topic.ts';
import { intend } from '../../../src/topology/apply-change.ts';
import { readScaling } from '../../../src/topology/scale-history.ts';
import { createFaultyTable, type TableFault } from '../../faults/faulty-table.ts';
import { interceptTable, type TableCall } from '../../simulation/intercept.ts';
import { replaceSegment } from '../../simulation/replace-segment.ts';
import { tiles } from '../../topology/tiles.ts';
import { readLineage, unlisted } from '../failover/check-topology.ts';
import { createFailoverWorld, type FailoverWorld, type LeaderOptions, type TestLeader } from '../failover/world.ts';
import { brokerId } from '../some-broker.ts';
import { createFloodWorld } from './flood-world.ts';

const [a, b, c] = [brokerId('a'), brokerId('b'), brokerId('c')];
const ALL = [a, b, c];

type Scene = { readonly world: FailoverWorld; readonly topic: Topic; readonly leader: TestLeader; readonly deps: MoveDeps };

/** Three brokers that live, of which `b` and `c` serve all segments. */
async function scene(segments: number, options: (world: FailoverWorld) => Partial<LeaderOptions> = () => ({})): Promise<Scene> {
  const world = createFailoverWorld();
  const topic = await world.topic(segments);
  for (const id of ['a', 'b', 'c']) await world.live(id);
  for (const { segment } of topic.open) await world.assign(topic, segment, [b, c]);
  const leader = world.leader(a, options(world));
  const living = ALL.map((id) => ({ id, url: `http://${id}:80` }));
  const deps: MoveDeps = { ...leader.deps, messenger: createMessenger(leader.deps), living: () => living, unfit: () => new Set() };
  return { world, topic, leader, deps };
}

const change = ({ world, deps, topic }: Scene, ...changes: AskedChange[]): Promise<readonly Applied[]> =>
  world.run(changeSegments(deps, topic, changes, world.signal));
const split = (segment: number, at: number, more: Pick<AskedChange, 'id'> = {}): AskedChange => {
  return { kind: 'split', segment: segmentId(segment), at, ...more };
};
const merge = (one: number, other: number, more: Pick<AskedChange, 'id'> = {}): AskedChange => {
  return { kind: 'merge', segments: [segmentId(one), segmentId(other)], ...more };
};
const childrenOf = (applied: Applied | undefined): string[] =>
  applied?.children.map(({ segment, lo, hi }) => `${segment} ${lo}–${hi}`) ?? [];
const codesOf = (applied: readonly Applied[]): (string | undefined)[] => applied.map(({ refused }) => refused?.code);
const ID = 'c0123456789abcdef';

/** Tiled, nothing pending, and who serves what is listed. */
async function expectWhole({ world, topic }: Scene): Promise<void> {
  const lineage = await readLineage(world.table, topic.id);
  expect(lineage.topic.open).toSatisfy(tiles);
  expect(lineage.topic.changes).toEqual([]);
  const open = [...lineage.heads.values()].filter(({ state }) => state === 'open').map(({ segment }) => segment);
  expect(open.toSorted()).toEqual(lineage.topic.open.map(({ segment }) => segment).toSorted());
  expect([...lineage.heads.values()].filter(({ state }) => state === 'pending')).toEqual([]);
  expect(await unlisted(world.table, [lineage], { brokers: ALL, exact: true })).toEqual([]);
}

test('many changes are one intent and one publish; who serves the parents flushes before, all who live look again after', async () => {
  const calls: (TableCall | string)[] = [];
  const at = await scene(4, (world) => {
    world.peers.onSend = ({ operation, broker }) => void calls.push(`${operation} ${broker}`);
    return { table: interceptTable(world.table, (call, make) => (calls.push(call), make())) };
  });
  const applied = await change(at, split(0, 5), merge(3, 2), split(1, 20_000));
  expect(applied.map(childrenOf)).toEqual([
    ['s0000004 0–4', 's0000005 5–16383'],
    ['s0000006 32768–65535'],
    ['s0000007 16384–19999', 's0000008 20000–32767'],
  ]);
  const order = calls.map((call) => (typeof call === 'string' ? call : call.name)).filter((name) => /flush|refresh|put topic/.test(name));
  expect(order.slice(0, 4)).toEqual(['flush b', 'flush c', 'put topic', 'put topic']);
  expect(order.filter((name) => /refresh/.test(name))).toEqual(['refresh a', 'refresh b', 'refresh c']);
  const { topic, heads } = await readLineage(at.world.table, at.topic.id);
  expect(topic.version).toBe(at.topic.version + 2);
  expect(heads.get('s0000006')?.predecessors).toEqual(['s0000002', 's0000003']);
  for (const { children } of applied) for (const { segment, brokers } of children) expect(heads.get(segment)?.brokers).toEqual(brokers);
  for (const { segment } of topic.open) expect(heads.get(segment)?.brokers).toHaveLength(2);
  await expectWhole(at);
  expect(at.leader.telemetry.total('kelp.segments.changed')).toBe(3);
  const events = await readScaling(at.deps, at.topic, at.world.signal);
  expect(events.map(({ kind, by, parents }) => [kind, by, ...parents])).toEqual(
    expect.arrayContaining([
      ['split', 'hand', 's0000000'],
      ['merge', 'hand', 's0000002', 's0000003'],
      ['split', 'hand', 's0000001'],
    ]),
  );
});

test('one that can not be made is refused for itself, the others are made', async () => {
  const at = await scene(4);
  const applied = await change(at, split(0, 0), merge(1, 3), split(2, 40_000), split(9, 5));
  expect(codesOf(applied)).toEqual(['invalid-at', 'not-neighbours', undefined, 'segment-not-found']);
  expect(childrenOf(applied[2])).toEqual(['s0000004 32768–39999', 's0000005 40000–49151']);
  await expectWhole(at);
});

test.each([[split(0, 0)], [split(0, 32_768)], [split(0, 1.5)], [split(0, Number.NaN)], [merge(0, 0)], [split(9, 1)]])(
  'nothing is written for what can not be: %j',
  async (asked) => {
    const at = await scene(2);
    const [applied] = await change(at, asked);
    expect(applied?.refused).toBeDefined();
    expect(await at.world.read(at.topic)).toEqual(at.topic);
    expect(await readScaling(at.deps, at.topic, at.world.signal)).toEqual([]);
  },
);

test('two changes of one segment in one call are a fault of the caller', async () => {
  const at = await scene(2);
  await expect(change(at, split(0, 5), merge(0, 1))).rejects.toThrow('in two of the changes');
  expect(await at.world.read(at.topic)).toEqual(at.topic);
});

test('a full topic is split no further, unless a merge before it makes room', async () => {
  const at = await scene(1);
  let topic = await at.world.read(at.topic);
  topic = await replaceSegment(at.world, topic, { segment: segmentId(0), children: SEGMENTS_OPEN_MAX });
  const [first, second, third] = topic.open;
  expect(codesOf(await change(at, split(1, (first?.lo ?? 0) + 1)))).toEqual(['not-splittable']);
  const applied = await change(at, merge(1, 2), split(3, (third?.lo ?? 0) + 1));
  expect(codesOf(applied)).toEqual([undefined, undefined]);
  expect(childrenOf(applied[0])[0]).toContain(`${first?.lo}–${second?.hi}`);
  expect((await at.world.read(at.topic)).open).toHaveLength(SEGMENTS_OPEN_MAX);
});

describe('somebody else was there', () => {
  test('a pending change of the segment ends first; then it is sealed', async () => {
    const at = await scene(2);
    const children = [{ segment: segmentId(2), lo: 0, hi: 32_767, brokers: [c] }];
    await intend(at.deps, at.topic, [{ id: 'c-of-another', kind: 'failover', parents: [segmentId(0)], children }], at.world.signal);
    const [applied] = await change(at, merge(0, 1));
    expect(applied?.refused?.extra).toEqual({ segment: 's0000000', successors: children });
    await expectWhole(at);
  });

  test('a change that makes the segment ends first, and the segment is split', async () => {
    const at = await scene(1);
    const children = [{ segment: segmentId(1), lo: 0, hi: 65_535, brokers: [c] }];
    await intend(at.deps, at.topic, [{ id: 'c-of-another', kind: 'drain', parents: [segmentId(0)], children }], at.world.signal);
    expect(childrenOf((await change(at, split(1, 9)))[0])).toEqual(['s0000002 0–8', 's0000003 9–65535']);
    await expectWhole(at);
  });

  test('two leaders split one segment at the same moment: one is made, the other has its successors', async () => {
    const at = await scene(1);
    const other = { ...at, deps: { ...at.deps, ...at.world.leader(c).deps, messenger: at.deps.messenger } };
    const [[one], [two]] = await Promise.all([change(at, split(0, 100)), change(other, split(0, 200))]);
    const [made, refused] = one?.refused === undefined ? [one, two] : [two, one];
    expect([made?.refused, refused?.refused?.code]).toEqual([undefined, 'segment-sealed']);
    expect(refused?.refused?.extra['successors']).toEqual(made?.children);
    await expectWhole(at);
  });

  test('a topic that was deleted has nothing to change', async () => {
    const at = await scene(2);
    await at.world.run(at.world.broker().topics.delete('t', at.world.signal));
    expect(codesOf(await change(at, split(0, 5)))).toEqual(['topic-not-found']);
  });
});

describe('asked for again under its id', () => {
  test.each([split(0, 9, { id: ID }), merge(1, 0, { id: ID })])('a change is made once: $kind', async (asked) => {
    const at = await scene(2);
    const first = await change(at, asked);
    const version = (await at.world.read(at.topic)).version;
    expect(await change(at, asked)).toEqual(first);
    expect((await at.world.read(at.topic)).version).toBe(version);
    expect(await readScaling(at.deps, at.topic, at.world.signal)).toHaveLength(1);
    expect(codesOf(await change(at, { ...asked, id: 'cfedcba9876543210' }))).toEqual(['segment-sealed']);
  });

  test('what was begun by a leader that died is carried on, and answered', async () => {
    const at = await scene(1);
    const children = [
      { segment: segmentId(1), lo: 0, hi: 8, brokers: [b] },
      { segment: segmentId(2), lo: 9, hi: 65_535, brokers: [c] },
    ];
    await intend(at.deps, at.topic, [{ id: ID, kind: 'split', parents: [segmentId(0)], children }], at.world.signal);
    const [applied] = await change(at, split(0, 9, { id: ID }));
    expect(applied).toMatchObject({ children });
    expect(applied?.refused).toBeUndefined();
    await expectWhole(at);
  });
});

test('a leader whose term ends says so, and the next one finds what it has begun', async () => {
  let stop = (): void => undefined;
  const at = await scene(1, (world) => ({
    table: interceptTable(world.table, async (call, make) => {
      if (call.name !== 'put topic') return make();
      const answer = await make('detached');
      stop();
      return answer;
    }),
  }));
  const leading = at.leader.lead();
  stop = () => void leading.stop();
  const asked = { ...split(0, 9), id: ID };
  const changed = at.leader.duties.change(at.topic, asked, at.world.signal);
  await expect(at.world.run(changed)).rejects.toMatchObject({ kind: 'unavailable', code: 'not-leader' });
  expect((await at.world.read(at.topic)).changes.map(({ id }) => id)).toEqual([ID]);
  const children = await at.world.run(at.world.leader(c).duties.change(at.topic, asked, at.world.signal));
  expect(children.map(({ segment }) => segment)).toEqual(['s0000001', 's0000002']);
  await expectWhole(at);
});

const FAULTS: readonly TableFault[] = [{ kind: 'answer-lost' }, { kind: 'late', ms: 20 }, { kind: 'throttled' }, { kind: 'conflict' }];

test.each(FAULTS)('an intent that met “$kind” is made once', async (fault) => {
  let puts = 0;
  const at = await scene(2, (world) => ({
    table: createFaultyTable(world.table, {
      choose: ({ op, key }) => (op === 'put' && key.pk.startsWith('t#') && (puts += 1) === 1 ? fault : undefined),
      clock: world.clock,
    }),
  }));
  expect(codesOf(await change(at, split(0, 9), split(1, 40_000)))).toEqual([undefined, undefined]);
  await at.world.clock.advance(1_000);
  const { topic } = await readLineage(at.world.table, at.topic.id);
  expect([topic.version, topic.nextSegment]).toEqual([at.topic.version + 2, 6]);
  await expectWhole(at);
});

test('counts follow: what was chosen is added, what was served is taken off, what was not used is given back', async () => {
  const at = await scene(2);
  const { counts } = at.deps;
  await counts.read(ALL, at.world.signal);
  const sum = (): number => ALL.reduce((total, id: BrokerId) => total + counts.of(id), 0);
  const before = sum();
  await change(at, split(0, 9));
  // Two children with two brokers each, in place of one with two.
  expect(sum() - before).toBe(2);
  await change(at, split(0, 9), split(9, 9));
  expect(sum() - before).toBe(2);
});

test('where no broker is registered at all, children have none, and anybody commits to them', async () => {
  const world = createFailoverWorld();
  const topic = await world.topic(2);
  const leader = world.leader(a);
  const deps: MoveDeps = { ...leader.deps, messenger: createMessenger(leader.deps), living: () => [], unfit: () => new Set() };
  const applied = await change({ world, topic, leader, deps }, split(0, 9), split(1, 40_000));
  expect(applied.map(childrenOf)).toEqual([
    ['s0000002 0–8', 's0000003 9–32767'],
    ['s0000004 32768–39999', 's0000005 40000–65535'],
  ]);
  const { heads, topic: now } = await readLineage(world.table, topic.id);
  expect(now.open.map(({ segment }) => [heads.get(segment)?.state, heads.get(segment)?.brokers])).toEqual(
    Array.from({ length: 4 }, () => ['open', []]),
  );
  // Somebody is there by the time that it is asked for.
  await world.live('b');
  expect(await world.run(leader.deps.assigner.assign(topic, segmentId(2), world.signal))).toEqual([b]);
});

test('nobody to choose: nothing is written, and nothing counted', async () => {
  const at = await scene(1);
  for (const id of ['a', 'b', 'c']) await at.world.live(id, { drainPerSecond: 1 });
  await expect(change(at, split(0, 9))).rejects.toMatchObject({ kind: 'unavailable', code: 'no-brokers' });
  expect(await at.world.read(at.topic)).toEqual(at.topic);
});

test('below what an expected flood asks for nothing is merged by hand, while the planner would not either', async () => {
  const world = createFloodWorld();
  const living = [{ id: await world.live('a'), url: 'http://a:80' }];
  const leader = world.leader(a);
  const deps: MoveDeps = { ...leader.deps, messenger: createMessenger(leader.deps), living: () => living, unfit: () => new Set() };
  const begins = new Date(world.clock.nowMs() + FLOOD_KEEP_MS + 60_000);
  const cron = `${begins.getUTCMinutes()} ${begins.getUTCHours()} * * *`;
  const topic = await world.flooded({ schedule: [{ cron, durationSeconds: 600, minSegments: 3 }] }, { segments: 4 });
  const at = { world, topic, leader, deps };
  // More than an hour before it.
  const [early] = await change(at, merge(0, 1));
  expect(early?.refused).toBeUndefined();
  await world.clock.advance(120_000);
  expect(codesOf(await change(at, merge(2, 3)))).toEqual(['not-mergeable']);
  // Once it is over, as before it.
  await world.clock.advance(FLOOD_KEEP_MS + 600_000);
  const [late] = await change(at, merge(2, 3));
  expect(late?.refused).toBeUndefined();
});
