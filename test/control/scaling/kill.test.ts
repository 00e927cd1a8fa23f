import { expect, test } from 'vitest';
import { changeSegments } from '../../../src/control/scaling/change-segments.ts';
import type { SegmentChange } from '../../../src/control/scaling/check-change.ts';
import { segmentId, type SegmentId } from '../../../src/model/ids.ts';
import type { Topic } from '../../../src/model/topic.ts';
import { intend } from '../../../src/topology/apply-change.ts';
import { carryOn } from '../../../src/topology/carry-on.ts';
import { publishOf } from '../../publish/requests.ts';
import { killAtEveryStep } from '../../simulation/kill-at-every-step.ts';
import { type Handing, readHanded } from '../../simulation/read-handed.ts';
import { readTopicLog, readValues } from '../../simulation/read-log.ts';
import type { TestWorld } from '../../simulation/test-broker.ts';
import { type Handed, lineageProblems, readingProblems } from '../../topology/check-lineage.ts';
import { tiles } from '../../topology/tiles.ts';
import { brokerId, putBroker, someBroker } from '../some-broker.ts';
import { createChanger } from './some-changer.ts';

// F12, F13: a leader is killed at each step of a split, of a merge, and of several at once, before and after the step takes
// effect. Each version of the topology that is written on the way is looked at by killAtEveryStep.

const [a, b] = [brokerId('a'), brokerId('b')];
const KEYS = ['k0', 'k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'a', 'b', 'c'];
const SEVERAL_SEGMENTS = 4;

const roundOf = (round: number): (readonly [string, string])[] => KEYS.map((key) => [key, `${key}#${round}`]);
const expected = (rounds: number): Map<string, string[]> =>
  new Map(KEYS.map((key) => [key, Array.from({ length: rounds }, (_, round) => `${key}#${round}`)]));

type There = { readonly topic: Topic; /** Of a reader that stopped in the middle of what was there. */ readonly read: Handing };

async function prepare(world: TestWorld, segments: number): Promise<There> {
  for (const id of [a, b]) await putBroker(world.table, someBroker(id));
  const topic = await world.topic(segments);
  const broker = world.broker();
  await world.run(broker.publisher.publish(topic, publishOf(roundOf(0)), world.signal));
  return { topic, read: await readHanded(world, broker, { topic, limit: 3, count: 6 }) };
}

/** All changes that this leader is asked for; what was refused is an error. */
async function change(world: TestWorld, topic: Topic, changes: readonly SegmentChange[], table = world.table): Promise<void> {
  const changer = createChanger({ table, clock: world.clock, random: world.random.fork('leader'), self: a });
  const applied = await changeSegments(changer, topic, changes, world.signal);
  expect(applied.flatMap(({ refused }) => refused ?? [])).toEqual([]);
}

/** Publishes as a broker that knows the topic as it was then. */
async function publish(world: TestWorld, topic: Topic, round: number): Promise<void> {
  const result = await world.run(world.broker().publisher.publish(topic, publishOf(roundOf(round)), world.signal));
  expect(result.filter((one) => !('offset' in one))).toEqual([]);
}

async function expectOrdered(world: TestWorld, { topic, read }: There, rounds: number): Promise<void> {
  const log = await readTopicLog(world, topic.id);
  const reader = world.broker();
  const whole = await readHanded(world, reader, { topic, limit: 4 });
  const resumed = await readHanded(world, reader, { topic, from: read.cursor, limit: 7 });
  for (const handed of [whole.handed, [...read.handed, ...resumed.handed]] satisfies (readonly Handed[])[]) {
    expect(readingProblems(handed, log, expected(rounds))).toEqual([]);
  }
}

/** The whole range is split again, or merged again: what was carried on can be changed like anything else. */
function nextChanges({ open }: Topic): SegmentChange[] {
  const [first, second, ...rest] = open;
  if (first === undefined) throw new Error('nothing is open');
  if (second === undefined) return [{ kind: 'split', segment: first.segment, at: 20_000 }];
  const wide = rest.filter(({ lo, hi }) => lo < hi);
  const splits = wide.map(({ segment, lo, hi }) => ({ kind: 'split' as const, segment, at: lo + Math.ceil((hi - lo) / 3) }));
  return [{ kind: 'merge', segments: [first.segment, second.segment] }, ...splits];
}

async function checkCarriedOn(world: TestWorld, there: There): Promise<void> {
  // Nobody leads; a publisher that knows only the old list, and readers.
  await publish(world, there.topic, 1);
  await expectOrdered(world, there, 2);
  const carrier = world.broker();
  const settled = await world.run(carryOn(carrier.deps, there.topic.id, world.signal));
  expect([settled.changes, tiles(settled.open)]).toEqual([[], true]);
  expect(lineageProblems(await readTopicLog(world, there.topic.id))).toEqual([]);
  await publish(world, there.topic, 2);
  await world.run(change(world, settled, nextChanges(settled)));
  await publish(world, settled, 3);
  expect(lineageProblems(await readTopicLog(world, there.topic.id))).toEqual([]);
  await expectOrdered(world, there, 4);
  expect((await readValues(world, there.topic.id)).toSorted()).toEqual([...expected(4).values()].flat().toSorted());
}

const segmentsOf = ({ open }: Topic): SegmentId[] => open.map(({ segment }) => segment);

test.each([
  { what: 'a split', segments: 1, stepsMin: 15, changes: ([s]: readonly SegmentId[]) => [{ kind: 'split', segment: s, at: 32_768 }] },
  { what: 'a merge', segments: 2, stepsMin: 14, changes: ([s, t]: readonly SegmentId[]) => [{ kind: 'merge', segments: [s, t] }] },
  {
    what: 'two splits and a merge in one write',
    segments: SEVERAL_SEGMENTS,
    stepsMin: 30,
    changes: ([s, t, u, v]: readonly SegmentId[]) => [
      { kind: 'split', segment: s, at: 6_000 },
      { kind: 'merge', segments: [t, u] },
      { kind: 'split', segment: v, at: 65_535 },
    ],
  },
])(
  'F12, F13: killed at any step of $what: whoever comes carries it on, nothing is lost, and keys stay in order',
  async ({ segments, stepsMin, changes }) => {
    const steps = await killAtEveryStep({
      prepare: (world) => prepare(world, segments),
      act: (broker, { topic }, world) => change(world, topic, changes(segmentsOf(topic)) as SegmentChange[], broker.deps.table),
      check: checkCarriedOn,
    });
    expect(steps).toBeGreaterThanOrEqual(stepsMin);
  },
);

test('F12, F13: killed at any step of a merge whose second parent another one has begun to split: the split is made, the merge is not', async () => {
  const steps = await killAtEveryStep({
    async prepare(world) {
      const there = await prepare(world, 2);
      const [, upper] = segmentsOf(there.topic) as [SegmentId, SegmentId];
      const children = [
        { segment: segmentId(2), lo: 32_768, hi: 49_999, brokers: [b] },
        { segment: segmentId(3), lo: 50_000, hi: 65_535, brokers: [b] },
      ];
      const split = { id: 'c-of-another', kind: 'split' as const, parents: [upper], children };
      await world.run(intend(world.broker().deps, there.topic, [split], world.signal));
      return there;
    },
    async act(broker, { topic }, world) {
      const changer = createChanger({ table: broker.deps.table, clock: world.clock, random: world.random.fork('leader'), self: a });
      const segments = segmentsOf(topic) as [SegmentId, SegmentId];
      const [applied] = await changeSegments(changer, topic, [{ kind: 'merge', segments }], world.signal);
      expect(applied?.refused).toMatchObject({ code: 'segment-sealed', extra: { segment: segments[1] } });
    },
    async check(world, there) {
      await checkCarriedOn(world, there);
      const heads = (await readTopicLog(world, there.topic.id)).map(({ head }) => [head.segment, head.predecessors.join()]);
      expect(heads).toEqual(
        expect.arrayContaining([
          ['s0000002', 's0000001'],
          ['s0000003', 's0000001'],
        ]),
      );
    },
  });
  expect(steps).toBeGreaterThanOrEqual(12);
});

test('a leader is asked again for what it was killed at, under its id: it is made once', async () => {
  const id = 'c0123456789abcdef';
  const steps = await killAtEveryStep({
    prepare: (world) => prepare(world, 1),
    act: (broker, { topic }, world) => split(world, topic, broker.deps.table),
    async check(world, there) {
      await publish(world, there.topic, 1);
      await world.run(split(world, there.topic));
      const settled = await world.run(carryOn(world.broker().deps, there.topic.id, world.signal));
      expect(settled.open.map(({ lo }) => lo)).toEqual([0, 30_000]);
      expect(settled.nextSegment).toBe(there.topic.nextSegment + 2);
      await expectOrdered(world, there, 2);
    },
  });
  expect(steps).toBeGreaterThanOrEqual(15);

  function split(world: TestWorld, topic: Topic, table = world.table): Promise<void> {
    const [segment] = segmentsOf(topic) as [SegmentId];
    return change(world, topic, [{ kind: 'split', segment, at: 30_000, id } as SegmentChange], table);
  }
});
