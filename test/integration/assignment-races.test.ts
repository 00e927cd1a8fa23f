import { describe, expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { createAssigner } from '../../src/control/assignment/assign.ts';
import { countServed, createSegmentCounts } from '../../src/control/assignment/segment-counts.ts';
import { createBrokerDirectory } from '../../src/control/brokers/directory.ts';
import { decodeHead } from '../../src/format/head-item.ts';
import { headKey, servedKey } from '../../src/format/item-key.ts';
import type { BrokerId, SegmentId } from '../../src/model/ids.ts';
import { SEGMENTS_AT_CREATION_MAX } from '../../src/model/limits.ts';
import type { Topic } from '../../src/model/topic.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import { sealUpdate } from '../../src/protocol/segment-life.ts';
import { createHeads } from '../../src/state/heads.ts';
import { inParallel } from '../../src/state/in-parallel.ts';
import { createTopics } from '../../src/topics/create-topics.ts';
import { forgetServed } from '../../src/topology/served.ts';
import { putBroker, someBroker } from '../control/some-broker.ts';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { freshTable } from '../stack.ts';

const TEST_MS = 120_000;
const LEADERS = 3;
const ROUNDS_PARALLEL = 4;
const BROKERS = ['a', 'b', 'c', 'd', 'e'] as BrokerId[];

const { signal } = new AbortController();
const clock = createSystemClock();
const random = createSystemRandom();

type Leader = ReturnType<typeof createLeader>;

function createLeader(table: MetadataTable) {
  const deps = { table, clock, random, heads: createHeads(table) };
  const counts = createSegmentCounts(deps);
  return { counts, ...createAssigner({ ...deps, counts, directory: createBrokerDirectory(deps) }) };
}

/** A table with brokers and topics on it, and leaders that know nothing of each other. */
async function raceOn(kind: 'dynoxide' | 'ministack', topicCount: number) {
  const table = createLeanTable({ ...(await freshTable(kind, signal)), clock });
  for (const id of BROKERS) await putBroker(table, someBroker(id));
  const telemetry = { count: () => undefined, adjust: () => undefined, record: () => undefined, log: () => undefined };
  const background = { run: () => undefined };
  const topics = createTopics({ table, clock, random, telemetry, background, store: createMemoryStore(), heads: createHeads(table) });
  const settings = { partitionKey: 'key', segments: SEGMENTS_AT_CREATION_MAX, replicas: 2 } as const;
  const made: Topic[] = [];
  for (let n = 0; n < topicCount; n += 1) made.push((await topics.create(`t${n}`, settings, signal)).topic);
  const segments = made.flatMap((topic) => topic.open.map((range) => ({ topic, segment: range.segment })));
  return { table, segments, leaders: Array.from({ length: LEADERS }, () => createLeader(table)) };
}

type Contested = { readonly topic: Topic; readonly segment: SegmentId };

const race = (leaders: readonly Leader[], { topic, segment }: Contested): Promise<(readonly BrokerId[])[]> =>
  Promise.all(leaders.map((leader) => leader.assign(topic, segment, signal)));

async function headIn(table: MetadataTable, { topic, segment }: Contested) {
  const item = await table.get(headKey(topic.id, segment), signal);
  if (item === undefined) throw new Error(`no head of ${segment}`);
  return decodeHead(item);
}

async function listedAt(table: MetadataTable, { topic, segment }: Contested): Promise<BrokerId[]> {
  const items = await Promise.all(BROKERS.map((broker) => table.get(servedKey(broker, topic.id, segment), signal)));
  return BROKERS.filter((_, n) => items[n] !== undefined);
}

/** As a change of topology seals it, with whatever brokers it has by then. */
async function seal(table: MetadataTable, { topic, segment }: Contested): Promise<void> {
  const result = await table.update(headKey(topic.id, segment), sealUpdate({ change: 'c', successors: [], deleted: false }, 9), signal);
  const { brokers } = decodeHead(result.item ?? {});
  await forgetServed({ table, clock, random }, { topic: topic.id, segment }, brokers, signal);
}

describe.each([
  { kind: 'dynoxide' as const, topics: 6 },
  { kind: 'ministack' as const, topics: 4 },
])('leaders at once on $kind', ({ kind, topics }) => {
  test(
    `in ${topics * SEGMENTS_AT_CREATION_MAX} races for a segment all answer what was saved, and the lists say the same`,
    async () => {
      const { table, segments, leaders } = await raceOn(kind, topics);
      let distinct = 0;
      await inParallel(segments, ROUNDS_PARALLEL, async (contested) => {
        const answers = await race(leaders, contested);
        const { brokers } = await headIn(table, contested);
        expect(new Set(brokers).size).toBe(2);
        expect(answers).toEqual(answers.map(() => brokers));
        expect(await listedAt(table, contested)).toEqual(brokers.toSorted());
        distinct += 1;
      });
      expect(distinct).toBe(topics * SEGMENTS_AT_CREATION_MAX);
      // What each leader counts for itself stays near to what is there: nobody is given far more than the others.
      const counts = await Promise.all(BROKERS.map((broker) => countServed(table, broker, signal)));
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(2 * segments.length);
      expect(Math.max(...counts)).toBeLessThanOrEqual((1.25 * 2 * segments.length) / BROKERS.length);
    },
    TEST_MS,
  );

  test(
    'and somebody who seals the segment meanwhile: assigned before or not at all, and nobody has it in a list',
    async () => {
      const { table, segments, leaders } = await raceOn(kind, topics / 2);
      const outcomes = { before: 0, never: 0 };
      // How long a race takes here: the seal comes at any time of it.
      let raceMs = 20;
      await inParallel(segments, ROUNDS_PARALLEL, async (contested) => {
        const beganMs = clock.monotonicMs();
        const sealing = clock.sleep(random.fraction() * raceMs, signal).then(() => seal(table, contested));
        const answers = await race(leaders, contested);
        raceMs = clock.monotonicMs() - beganMs;
        await sealing;
        const head = await headIn(table, contested);
        expect(head.state).toBe('sealed');
        expect(answers).toEqual(answers.map(() => head.brokers));
        expect(await listedAt(table, contested)).toEqual([]);
        outcomes[head.brokers.length === 0 ? 'never' : 'before'] += 1;
      });
      expect(outcomes.before).toBeGreaterThan(0);
      expect(outcomes.never).toBeGreaterThan(0);
    },
    TEST_MS,
  );
});
