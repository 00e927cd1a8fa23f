import { expect, test } from 'vitest';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { type Applied, changeSegments } from '../../../src/control/scaling/change-segments.ts';
import type { SegmentChange } from '../../../src/control/scaling/check-change.ts';
import type { MoveDeps } from '../../../src/control/failover/move-segments.ts';
import type { BrokerId, SegmentId } from '../../../src/model/ids.ts';
import type { Topic } from '../../../src/model/topic.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import { readTopic } from '../../../src/topology/apply-change.ts';
import { carryOn } from '../../../src/topology/carry-on.ts';
import { publishOf } from '../../publish/requests.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { readHanded } from '../../simulation/read-handed.ts';
import { readTopicLog, readValues } from '../../simulation/read-log.ts';
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../../simulation/test-broker.ts';
import { type Handed, lineageProblems, readingProblems } from '../../topology/check-lineage.ts';
import { type TopologyWatch, watchTopology } from '../../topology/topology-watch.ts';
import { brokerId, putBroker, someBroker } from '../some-broker.ts';
import { createChanger } from './some-changer.ts';

// F8: two leaders split and merge the same segments, and their neighbours, at once. Each request takes as long as it likes, some
// of them seconds, which is a leader that was paused.

const SEEDS = 40;
const CHANGES_OF_LEADER = 6;
const ROUNDS = 8;
const SEGMENTS_MANY = 5;
const KEYS = ['k0', 'k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'a', 'b', 'c'];
const BROKERS = ['a', 'b', 'c'].map(brokerId);

type Arena = {
  readonly world: TestWorld;
  readonly watch: TopologyWatch;
  readonly topic: Topic;
  readonly leaders: readonly [MoveDeps, MoveDeps];
  /** Reaches the table as slowly as the leaders do. */
  broker(name: string): TestBroker;
};

async function open(seed: number, segments: number): Promise<Arena> {
  const watch = watchTopology(createMemoryTable());
  const world = createTestWorld(seed, watch.table);
  for (const id of BROKERS) await putBroker(world.table, someBroker(id));
  const leader = (self: BrokerId): MoveDeps =>
    createChanger({ table: paced(world, self), clock: world.clock, random: world.random.fork(`leader ${self}`), self });
  const [a, b] = BROKERS as [BrokerId, BrokerId];
  return {
    world,
    watch,
    topic: await world.topic(segments),
    leaders: [leader(a), leader(b)],
    broker: (name) => world.broker({ table: paced(world, name) }),
  };
}

function paced(world: TestWorld, name: string): MetadataTable {
  const random = world.random.fork(`pace of ${name}`);
  const wait = (signal: AbortSignal): Promise<void> => world.clock.sleep(random.integer(random.chance(0.02) ? 3_000 : 20), signal);
  return interceptTable(world.table, async (_, make, signal) => {
    await wait(signal);
    const answer = await make();
    await wait(signal);
    return answer;
  });
}

/** One of the first few segments, so that the leaders meet: split, or merged with the next one. */
function someChange({ open: ranges }: Topic, random: SeededRandom): SegmentChange | undefined {
  const index = random.integer(Math.min(ranges.length, 3));
  const [first, second] = [ranges[index], ranges[index + 1]];
  if (first === undefined) return undefined;
  const isMerge = second !== undefined && (ranges.length > SEGMENTS_MANY || random.chance(0.5));
  if (isMerge) return { kind: 'merge', segments: [first.segment, second.segment] };
  if (first.lo === first.hi) return undefined;
  return { kind: 'split', segment: first.segment, at: first.lo + 1 + random.integer(first.hi - first.lo) };
}

/** Answers what became of its changes. */
async function lead({ world, topic }: Arena, leader: MoveDeps, random: SeededRandom): Promise<Applied[]> {
  const applied: Applied[] = [];
  for (let n = 0; n < CHANGES_OF_LEADER; n += 1) {
    const change = someChange(await readTopic(leader, topic.id, world.signal), random);
    if (change !== undefined) applied.push(...(await changeSegments(leader, topic, [change], world.signal)));
  }
  return applied;
}

/** A round of messages after the other, each acknowledged before the next one; by a broker that knows the topic as it was. */
async function write({ world, topic }: Arena, broker: TestBroker, random: SeededRandom): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const result = await broker.publisher.publish(topic, publishOf(KEYS.map((key) => [key, `${key}#${round}`])), world.signal);
    expect(result.filter((one) => !('offset' in one))).toEqual([]);
    await world.clock.sleep(random.integer(300), world.signal);
  }
}

/** A reader that is there all the time, page by page until it has all. */
async function read({ world, topic }: Arena, reader: TestBroker): Promise<Handed[]> {
  const handed: Handed[] = [];
  for (let from = 'earliest'; handed.length < KEYS.length * ROUNDS;) {
    const page = await readHanded({ run: (work) => work, signal: world.signal }, reader, { topic, from, limit: 9 });
    handed.push(...page.handed);
    from = page.cursor;
    await world.clock.sleep(100, world.signal);
  }
  return handed;
}

/** What must hold once all is over. `seen`: by a reader that was there meanwhile. */
async function expectWhole({ world, watch, topic }: Arena, seen: readonly Handed[]): Promise<void> {
  const { changes } = await world.run(carryOn(world.broker().deps, topic.id, world.signal));
  expect(changes).toEqual([]);
  expect(watch.problems()).toEqual([]);
  const log = await readTopicLog(world, topic.id);
  expect(lineageProblems(log)).toEqual([]);
  const expected = new Map(KEYS.map((key) => [key, Array.from({ length: ROUNDS }, (_, round) => `${key}#${round}`)]));
  expect((await readValues(world, topic.id)).toSorted()).toEqual([...expected.values()].flat().toSorted());
  const { handed } = await readHanded(world, world.broker(), { topic, limit: 7 });
  expect([handed, seen].flatMap((one) => readingProblems(one, log, expected))).toEqual([]);
}

async function forEachSeed(play: (seed: number) => Promise<void>): Promise<void> {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    await play(seed).catch((cause: unknown) => {
      throw new Error(`seed ${seed}`, { cause });
    });
  }
}

test(`two leaders at once, ${SEEDS} ways to meet, beside a publisher and a reader`, async () => {
  const made: Applied[] = [];
  await forEachSeed(async (seed) => {
    const arena = await open(seed, 1 + (seed % 3));
    const { world, leaders } = arena;
    const reading = read(arena, arena.broker('reader'));
    const writing = write(arena, arena.broker('writer'), world.random.fork('writer'));
    const leading = leaders.map((leader, n) => lead(arena, leader, world.random.fork(`changes ${n}`)));
    made.push(...(await world.run(Promise.all(leading))).flat());
    await world.run(writing);
    await expectWhole(arena, await world.run(reading));
  });
  // They did meet, and neither kept the other one from everything.
  const refused = made.flatMap((one) => one.refused?.code ?? []);
  expect(refused.length).toBeGreaterThan(SEEDS);
  expect(new Set(refused)).toEqual(new Set(['segment-sealed']));
  expect(made.length - refused.length).toBeGreaterThan(4 * SEEDS);
});

test(`a merge whose second parent is being split, ${SEEDS} ways: one of them is made, and the other is told what came instead`, async () => {
  const won = { split: 0, merge: 0 };
  await forEachSeed(async (seed) => {
    const arena = await open(seed, 2);
    const { world, topic, leaders } = arena;
    const [lower, upper] = topic.open.map(({ segment }) => segment) as [SegmentId, SegmentId];
    const changes: SegmentChange[] = [
      { kind: 'merge', segments: [lower, upper] },
      { kind: 'split', segment: upper, at: 50_000 },
    ];
    const late = world.random.integer(400);
    const changing = changes.map(async (change, n) => {
      await world.clock.sleep(n === seed % 2 ? late : 0, world.signal);
      const [applied] = await changeSegments(leaders[n] as MoveDeps, topic, [change], world.signal);
      return applied as Applied;
    });
    const writing = write(arena, arena.broker('writer'), world.random.fork('writer'));
    const reading = read(arena, arena.broker('reader'));
    const applied = await world.run(Promise.all(changing));
    await world.run(writing);
    const [winner, ...others] = applied.filter(({ refused }) => refused === undefined);
    const loser = applied.find(({ refused }) => refused !== undefined)?.refused;
    const successors = (loser?.extra['successors'] ?? []) as Topic['open'];
    expect([others, loser?.code, successors.map(({ segment }) => segment)]).toEqual([
      [],
      'segment-sealed',
      winner?.children.map(({ segment }) => segment),
    ]);
    won[winner?.change.kind ?? 'split'] += 1;
    await expectWhole(arena, await world.run(reading));
  });
  expect([won.split, won.merge].every((times) => times > SEEDS / 8)).toBe(true);
});
