import { expect, test } from 'vitest';
import { type ApplyDeps, applyPlan } from '../../../src/control/scaling/apply-plan.ts';
import { KelpError } from '../../../src/model/errors.ts';
import { MOVED_AT_ONCE_MAX } from '../../../src/model/limits.ts';
import type { PlannedMerge, PlannedOutcome, PlannedSplit } from '../../../src/model/scaling.ts';
import type { SegmentRange, Topic } from '../../../src/model/topic.ts';
import { replaceSegment } from '../../simulation/replace-segment.ts';
import { brokerId } from '../some-broker.ts';
import { createFloodWorld, type FloodWorld } from './flood-world.ts';
import { createChanger } from './some-changer.ts';

const SEGMENTS = 2 * MOVED_AT_ONCE_MAX;

type Scene = {
  readonly world: FloodWorld;
  readonly topic: Topic;
  readonly deps: ApplyDeps;
  readonly applied: (changes: readonly (PlannedSplit | PlannedMerge)[]) => Promise<PlannedOutcome[]>;
};

async function scene(change: (deps: ApplyDeps) => Partial<ApplyDeps> = () => ({})): Promise<Scene> {
  const world = createFloodWorld();
  const a = await world.live('a');
  const topic = await world.flooded({}, { segments: SEGMENTS });
  const options = { table: world.table, clock: world.clock, random: world.random.fork('leader'), self: a };
  const given: ApplyDeps = { ...createChanger(options), mustLead: () => undefined };
  const deps = { ...given, ...change(given) };
  return { world, topic, deps, applied: (changes) => world.run(applyPlan(deps, topic, changes, world.signal)) };
}

const splitOf = ({ segment, lo }: SegmentRange): PlannedSplit => {
  return { kind: 'split', segment, at: lo + 1, reason: { why: 'over-target', load: 2, measure: 'messages' } };
};
const became = ({ children, refused }: PlannedOutcome): string => refused ?? (children === undefined ? 'not tried' : `${children.length}`);

test('as many at a time as one write of the topic is to have; each is answered in its place', async () => {
  const { world, topic, applied } = await scene();
  const outcomes = await applied(topic.open.map(splitOf));
  expect(outcomes.map(became)).toEqual(topic.open.map(() => '2'));
  expect(outcomes.map((outcome) => outcome.kind === 'split' && outcome.segment)).toEqual(topic.open.map(({ segment }) => segment));
  expect((await world.read(topic)).version).toBe(topic.version + 4);
  expect(await world.open(topic)).toHaveLength(2 * SEGMENTS);
  expect(world.watch.problems()).toEqual([]);
});

test('nothing planned, nothing written', async () => {
  const { world, topic, applied } = await scene();
  expect(await applied([])).toEqual([]);
  expect(await world.read(topic)).toEqual(topic);
});

test('one that came too late is refused for itself', async () => {
  const { world, topic, applied } = await scene();
  const [first, second, third] = topic.open as [SegmentRange, SegmentRange, SegmentRange];
  await replaceSegment(world, topic, { segment: second.segment, children: 1 });
  const quiet = { why: 'quiet' as const, load: 0, loadMax: 0.6, average: 0.6 };
  const outcomes = await applied([splitOf(first), { kind: 'merge', segments: [second.segment, third.segment], reason: quiet }]);
  expect(outcomes.map(became)).toEqual(['2', 'segment-sealed']);
});

test('where some fail, nothing after them is tried, and what was made before them stands', async () => {
  let left = 2 * MOVED_AT_ONCE_MAX + 2;
  const at = await scene(({ assigner, counts }) => ({
    assigner: {
      ...assigner,
      async choose() {
        if (left === 0) throw new KelpError('unavailable', 'no-brokers', 'nobody');
        left -= 1;
        counts.add([brokerId('a')], 1);
        return [brokerId('a')];
      },
    },
  }));
  const more = await replaceSegment(at.world, at.topic, { segment: at.topic.open[0]?.segment as never, children: 10 });
  const outcomes = await at.applied(more.open.map(splitOf));
  const batch = (what: string, length: number): string[] => Array.from({ length }, () => what);
  expect(outcomes.map(became)).toEqual([
    ...batch('2', MOVED_AT_ONCE_MAX),
    ...batch('no-brokers', MOVED_AT_ONCE_MAX),
    ...batch('not tried', more.open.length - 2 * MOVED_AT_ONCE_MAX),
  ]);
  expect(await at.world.open(at.topic)).toHaveLength(more.open.length + MOVED_AT_ONCE_MAX);
});

test('the end of the caller, and a fault of this program, are no refusals', async () => {
  const at = await scene();
  const gone = AbortSignal.abort(new Error('gone'));
  await expect(applyPlan(at.deps, at.topic, at.topic.open.map(splitOf), gone)).rejects.toThrow('gone');
  const [first] = at.topic.open as [SegmentRange];
  await expect(at.applied([splitOf(first), splitOf(first)])).rejects.toThrow('in two of the changes');
  expect(await at.world.read(at.topic)).toEqual(at.topic);
});
