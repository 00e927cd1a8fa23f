import { describe, expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { type MoveDeps, moveSegments } from '../../src/control/failover/move-segments.ts';
import { createMessenger } from '../../src/control/failover/tell-brokers.ts';
import { topicKey } from '../../src/format/item-key.ts';
import { encodeTopic } from '../../src/format/topic-item.ts';
import { type BrokerId, segmentId, type SegmentId, type TopicId } from '../../src/model/ids.ts';
import type { SegmentRange, Topic, TopologyChange } from '../../src/model/topic.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import { createHeads } from '../../src/state/heads.ts';
import { inParallel } from '../../src/state/in-parallel.ts';
import { createTopics } from '../../src/topics/create-topics.ts';
import { intend, readTopic } from '../../src/topology/apply-change.ts';
import { carryOn } from '../../src/topology/carry-on.ts';
import { problemsOf, readLineage, unlisted } from '../control/failover/check-topology.ts';
import { createTestLeader } from '../control/failover/world.ts';
import { brokerId, putBroker, someBroker } from '../control/some-broker.ts';
import { freshTable } from '../stack.ts';
import { lineageProblems } from '../topology/check-lineage.ts';
import { tiles } from '../topology/tiles.ts';
import { watchTopology } from '../topology/topology-watch.ts';

// F8: leaders that move, split and merge the same segments at once, on real tables. Each knows nothing of the others.

const TEST_MS = 120_000;
const LEADERS = 2;
/** Segments of a topic, each with an intent of its own. */
const INTENTS = 16;
const TOPICS_PARALLEL = 8;
const BROKERS = ['a', 'b', 'c', 'd'].map(brokerId);

const { signal } = new AbortController();
const clock = createSystemClock();
const random = createSystemRandom();

function leaderOn(table: MetadataTable): MoveDeps {
  const { deps } = createTestLeader({ table, clock, random, self: BROKERS[0] as BrokerId });
  return { ...deps, messenger: createMessenger(deps), living: () => [], unfit: () => new Set() };
}

type Arena = { readonly table: MetadataTable; readonly leaders: readonly MoveDeps[]; readonly topics: readonly Topic[] };

async function arenaOn(kind: 'dynoxide' | 'ministack', count: number, segments: number): Promise<Arena> {
  const table = createLeanTable({ ...(await freshTable(kind, signal)), clock });
  for (const id of BROKERS) await putBroker(table, someBroker(id));
  const telemetry = { count: () => undefined, adjust: () => undefined, record: () => undefined, log: () => undefined };
  const deps = {
    table,
    clock,
    random,
    telemetry,
    background: { run: () => undefined },
    store: createMemoryStore(),
    heads: createHeads(table),
  };
  const settings = { partitionKey: 'key', segments, replicas: 1 } as const;
  const topics: Topic[] = [];
  for (let n = 0; n < count; n += 1) topics.push((await createTopics(deps).create(`t${n}`, settings, signal)).topic);
  return { table, topics, leaders: Array.from({ length: LEADERS }, () => leaderOn(table)) };
}

/** Topics without heads: enough for the intents, which know the item only. */
async function putTopics({ table, topics }: Arena, count: number): Promise<Topic[]> {
  const [like] = topics as [Topic];
  const made = Array.from({ length: count }, (): Topic => ({ ...like, id: `t${random.base36(15)}` as TopicId }));
  await inParallel(made, TOPICS_PARALLEL, (topic) => table.put(topicKey(topic.id), encodeTopic(topic), [], signal));
  return made;
}

async function expectWhole({ table }: Arena, topics: readonly Topic[]): Promise<void> {
  const lineages = await Promise.all(topics.map((topic) => readLineage(table, topic.id)));
  expect(lineages.flatMap(problemsOf)).toEqual([]);
  expect(lineages.map(({ topic }) => topic.open.length)).toEqual(topics.map(({ open }) => open.length));
  expect(await unlisted(table, lineages, { brokers: BROKERS, exact: true })).toEqual([]);
}

/** All leaders move what is open now, or most of it, away from the same broker. Answers how many were moved. */
async function moveAtOnce({ leaders }: Arena, topic: Topic, round: number): Promise<number> {
  const { open } = await readTopic(leaders[0] as MoveDeps, topic.id, signal);
  const moves = open.map(({ segment }) => ({ topic: topic.id, segment, brokers: [], writtenMs: -1, messages: 0 }));
  const from = BROKERS[round % BROKERS.length] as BrokerId;
  const moved = leaders.map((leader) => {
    const some = moves.filter(() => random.fraction() < 0.8);
    return moveSegments(leader, { topic: topic.id, moves: some, kind: 'failover', from }, signal);
  });
  return (await Promise.all(moved)).reduce((sum, count) => sum + count, 0);
}

/** One leader's intents for a topic's segments, each for one of them, in an order of its own. Answers how many stand. */
async function intendAll(leader: MoveDeps, topic: Topic): Promise<number> {
  const wishes = topic.open.toSorted(() => random.fraction() - 0.5);
  let [won, current] = [0, await readTopic(leader, topic.id, signal)];
  for (let wish = wishes.pop(); wish !== undefined;) {
    const intended = await intend(leader, current, [changeOf(current, wish.segment)], signal);
    if (intended !== undefined) won += 1;
    current = intended ?? (await readTopic(leader, topic.id, signal));
    const taken = new Set(current.changes.flatMap((change) => change.parents));
    while (wish !== undefined && taken.has(wish.segment)) wish = wishes.pop();
  }
  return won;
}

function changeOf(topic: Topic, parent: SegmentId): TopologyChange {
  const { lo, hi } = topic.open.find((range) => range.segment === parent) ?? { lo: 0, hi: 0 };
  const child = { segment: segmentId(topic.nextSegment), lo, hi, brokers: [BROKERS[0] as BrokerId] };
  return { id: `c${random.base36(16)}`, kind: 'failover', parents: [parent], children: [child] };
}

/** A split of the segment at any partition, or a merge with the next one. */
function resizeOf({ open, nextSegment }: Topic, index: number): TopologyChange {
  const [range, upper] = [open[index], open[index + 1]];
  if (range === undefined) throw new Error('no such segment');
  const id = `c${random.base36(16)}`;
  const child = (lo: number, hi: number, n = 0): SegmentRange => ({ segment: segmentId(nextSegment + n), lo, hi, brokers: [] });
  if (upper !== undefined && random.fraction() < 0.6) {
    return { id, kind: 'merge', parents: [range.segment, upper.segment], children: [child(range.lo, upper.hi)] };
  }
  const at = range.lo + 1 + Math.floor(random.fraction() * (range.hi - range.lo));
  return { id, kind: 'split', parents: [range.segment], children: [child(range.lo, at - 1), child(at, range.hi, 1)] };
}

/** Another change of each segment that is free, in an order of its own; a merge may find its second segment taken. */
async function resizeAll(leader: MoveDeps, topic: Topic): Promise<TopologyChange[]> {
  const won: TopologyChange[] = [];
  let current = await readTopic(leader, topic.id, signal);
  for (const { segment } of topic.open.toSorted(() => random.fraction() - 0.5)) {
    for (let isOver = false; !isOver;) {
      const wish = resizeOf(
        current,
        current.open.findIndex((range) => range.segment === segment),
      );
      const intended = await intend(leader, current, [wish], signal);
      const before = current;
      current = intended ?? (await readTopic(leader, topic.id, signal));
      if (intended !== undefined) won.push(wish);
      // Undefined, and nothing new is written: one of its segments is taken.
      isOver = intended !== undefined || current.version === before.version;
    }
  }
  return won;
}

describe.each([
  { kind: 'dynoxide' as const, topics: 4, segments: 8, rounds: 8, intents: 2_000 },
  { kind: 'ministack' as const, topics: 2, segments: 4, rounds: 4, intents: 208 },
])('two leaders at once on $kind', ({ kind, topics: count, segments, rounds, intents }) => {
  test(
    `move the same segments, ${count * rounds} times: ranges tile, each has one successor, and the lists say what the heads say`,
    async () => {
      const arena = await arenaOn(kind, count, segments);
      const moved = await Promise.all(
        arena.topics.map(async (topic) => {
          let sum = 0;
          for (let round = 0; round < rounds; round += 1) {
            const some = await moveAtOnce(arena, topic, round);
            sum += some;
          }
          return sum;
        }),
      );
      await expectWhole(arena, arena.topics);
      const now = await Promise.all(arena.topics.map((topic) => readTopic(arena.leaders[0] as MoveDeps, topic.id, signal)));
      // What one of them moved, the other one skipped.
      expect(moved).toEqual(now.map((topic) => topic.nextSegment - segments));
    },
    TEST_MS,
  );

  test(
    `want the same segments, ${intents} times: one change for each, children’s ids without a gap; and both carry on what stands`,
    async () => {
      const arena = await arenaOn(kind, 1, INTENTS);
      const topics = [...arena.topics, ...(await putTopics(arena, intents / INTENTS))];
      const won = await inParallel(topics, TOPICS_PARALLEL, (topic) =>
        Promise.all(arena.leaders.map((leader) => intendAll(leader, topic))),
      );
      for (const [n, { id, version }] of topics.entries()) {
        const topic = await readTopic(arena.leaders[0] as MoveDeps, id, signal);
        expect(new Set(topic.changes.flatMap((change) => change.parents)).size).toBe(INTENTS);
        const children = topic.changes.flatMap((change) => change.children.map((child) => child.segment));
        expect(children).toEqual(Array.from({ length: INTENTS }, (_, child) => segmentId(INTENTS + child)));
        expect([topic.nextSegment, topic.version - version]).toEqual([2 * INTENTS, INTENTS]);
        expect(won[n]?.reduce((sum, one) => sum + one, 0)).toBe(INTENTS);
      }
      const [first] = arena.topics as [Topic];
      await Promise.all(arena.leaders.map((leader) => carryOn(leader, first.id, signal)));
      await expectWhole(arena, [first]);
    },
    TEST_MS,
  );

  test(
    `want to split and merge ${intents} segments, a merge with a second parent that the other one splits among them: nothing is in two changes`,
    async () => {
      const arena = await arenaOn(kind, 1, INTENTS);
      const watch = watchTopology(arena.table);
      const leaders = arena.leaders.map((leader) => ({ ...leader, table: watch.table }));
      const topics = [...arena.topics, ...(await putTopics(arena, intents / INTENTS))];
      const won = await inParallel(topics, TOPICS_PARALLEL, (topic) => Promise.all(leaders.map((leader) => resizeAll(leader, topic))));
      for (const [n, { id, version }] of topics.entries()) {
        const topic = await readTopic(arena.leaders[0] as MoveDeps, id, signal);
        const ids = (changes: readonly TopologyChange[] = []): string[] => changes.map((change) => change.id).toSorted();
        expect([ids(topic.changes), topic.version - version]).toEqual([ids(won[n]?.flat()), topic.changes.length]);
        const children = topic.changes.flatMap((change) => change.children.map((child) => child.segment));
        expect(children).toEqual(children.map((_, child) => segmentId(INTENTS + child)));
      }
      // Both came first now and then, with either kind.
      for (const leader of [0, 1]) {
        const kinds = new Set(won.flatMap((both) => both[leader]?.map((change) => change.kind) ?? []));
        expect(kinds).toEqual(new Set(['split', 'merge']));
      }
      const [first] = arena.topics as [Topic];
      await Promise.all(leaders.map((leader) => carryOn(leader, first.id, signal)));
      const { topic, heads } = await readLineage(arena.table, first.id);
      expect([topic.changes, tiles(topic.open)]).toEqual([[], true]);
      expect(lineageProblems([...heads.values()].map((head) => ({ head })))).toEqual([]);
      expect(watch.problems()).toEqual([]);
    },
    TEST_MS,
  );
});
