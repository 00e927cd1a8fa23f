import { expect, test } from 'vitest';
import { createRecordingTelemetry } from '../../../src/adapters/memory/recording-telemetry.ts';
import { viewAt } from '../../../src/control/scaling/load-windows.ts';
import { sampleTopic, type Sampled, type SampleDeps } from '../../../src/control/scaling/sample-topic.ts';
import { createProcessMemory } from '../../../src/control/scaling/scaling-memory.ts';
import { KelpError } from '../../../src/model/errors.ts';
import { type SegmentId, segmentId } from '../../../src/model/ids.ts';
import { LOAD_KNOWN_MS_MAX, SAMPLE_MS_MIN, SAMPLES_PARALLEL_MAX } from '../../../src/model/scaling-limits.ts';
import type { Topic } from '../../../src/model/topic.ts';
import { createHeads } from '../../../src/state/heads.ts';
import { interceptTable, type TableCall } from '../../simulation/intercept.ts';
import { replaceSegment, replaceSegments } from '../../simulation/replace-segment.ts';
import { createFloodWorld, even, type FloodWorld } from './flood-world.ts';

type Scene = {
  readonly world: FloodWorld;
  readonly deps: SampleDeps;
  readonly telemetry: ReturnType<typeof createRecordingTelemetry>;
  readonly calls: TableCall[];
  /** Segments whose heads can't be read. */
  readonly broken: Set<SegmentId>;
  underWayMax: number;
};

function scene(world = createFloodWorld()): Scene {
  const calls: TableCall[] = [];
  const broken = new Set<SegmentId>();
  const telemetry = createRecordingTelemetry();
  let underWay = 0;
  const table = interceptTable(world.table, async (call, make, signal) => {
    calls.push(call);
    underWay += 1;
    at.underWayMax = Math.max(at.underWayMax, underWay);
    await world.clock.sleep(10, signal);
    underWay -= 1;
    if (call.op === 'get' && [...broken].some((segment) => call.key.pk.endsWith(segment))) {
      throw new KelpError('unavailable', 'table-unavailable', 'planted');
    }
    return make();
  });
  const deps = { heads: createHeads(table), clock: world.clock, telemetry, memory: createProcessMemory(world.clock) };
  const at: Scene = { world, deps, telemetry, calls, broken, underWayMax: 0 };
  return at;
}

const sample = ({ world, deps }: Scene, topic: Topic, known?: Sampled): Promise<Sampled> =>
  world.run(sampleTopic(deps, topic, known, world.signal));
const rateOf = ({ world }: Scene, { windows }: Sampled, segment: number): number | undefined => {
  const known = windows.get(segmentId(segment));
  return known === undefined ? undefined : Math.round(viewAt(known, world.clock.monotonicMs()).rates[0]?.messages ?? 0);
};

test('one read of each open head, some side by side, and nothing else of the table', async () => {
  const at = scene();
  const topic = await at.world.flooded({}, { segments: 64 });
  const { windows } = await sample(at, topic);
  expect(windows.size).toBe(64);
  expect(at.calls.map(({ name }) => name)).toEqual(Array.from({ length: 64 }, () => 'get head'));
  expect(at.underWayMax).toBe(SAMPLES_PARALLEL_MAX);
});

test('a young segment’s first sample is the load of its life; an old one’s is none that anything is decided by', async () => {
  const at = scene();
  const topic = await at.world.flooded();
  await at.world.flow(topic, even(1_600), { seconds: 10 });
  const young = await sample(at, topic);
  const view = viewAt(young.windows.get(segmentId(0)) as never, at.world.clock.monotonicMs());
  expect(Math.round((view.rates[0]?.messages ?? 0) / 100)).toBe(16);
  expect(view.observedMs).toBeGreaterThan(9_000);
  await at.world.clock.advance(LOAD_KNOWN_MS_MAX);
  const old = viewAt((await sample(at, topic)).windows.get(segmentId(0)) as never, at.world.clock.monotonicMs());
  expect(old.ageMs).toBeGreaterThan(LOAD_KNOWN_MS_MAX);
  expect(old.observedMs).toBe(0);
});

test('a head that was read a moment ago is not read again', async () => {
  const at = scene();
  const topic = await at.world.flooded();
  const first = await sample(at, topic);
  await at.world.clock.advance(SAMPLE_MS_MIN - 20);
  expect(await sample(at, topic, first)).toEqual(first);
  expect(at.calls).toHaveLength(1);
  await at.world.clock.advance(20);
  await sample(at, topic, first);
  expect(at.calls).toHaveLength(2);
});

test('one that can not be read keeps what is known of it, and no other one from being read; it is counted', async () => {
  const at = scene();
  const topic = await at.world.flooded({}, { segments: 3 });
  const first = await sample(at, topic);
  await at.world.flow(topic, even(4_800), { seconds: 10 });
  at.broken.add(segmentId(1));
  const second = await sample(at, topic, first);
  expect([0, 1, 2].map((segment) => rateOf(at, second, segment))).toEqual([expect.closeTo(1_600, -2), 0, expect.closeTo(1_600, -2)]);
  expect(second.windows.get(segmentId(1))).toEqual(first.windows.get(segmentId(1)));
  expect(at.telemetry.total('kelp.rebalance.unread')).toBe(1);
  // Of one that was never read, nothing is known.
  expect((await sample(at, topic)).windows.size).toBe(2);
});

test('the end of its caller is the end of it', async () => {
  const at = scene();
  const topic = await at.world.flooded({}, { segments: 64 });
  const ends = new AbortController();
  const sampled = sampleTopic(at.deps, topic, undefined, ends.signal);
  ends.abort(new Error('over'));
  await expect(at.world.run(sampled)).rejects.toThrow('over');
  expect(at.calls.length).toBeLessThanOrEqual(SAMPLES_PARALLEL_MAX);
  expect(at.telemetry.counts).toEqual([]);
});

test('a merged segment is known by its parents; what a leader remembers of its own splits stays, as long as they are open', async () => {
  const at = scene();
  let topic = await at.world.flooded({}, { segments: 3 });
  const own = new Map([[segmentId(2), { cameBy: 'split' as const, parentCommits: 7 }]]);
  const known = { windows: new Map(), origins: own };
  topic = await replaceSegments(at.world, topic, { parents: [segmentId(0), segmentId(1)], children: 1 });
  expect([...(await sample(at, topic, known)).origins]).toEqual([
    [segmentId(3), { cameBy: 'merge' }],
    [segmentId(2), { cameBy: 'split', parentCommits: 7 }],
  ]);
  topic = await replaceSegment(at.world, topic, { segment: segmentId(2), children: 2 });
  expect([...(await sample(at, topic, known)).origins.values()].map(({ cameBy }) => cameBy)).toEqual(['merge', 'other', 'other']);
});
