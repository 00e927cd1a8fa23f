import { expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { MoveDeps } from '../../src/control/failover/move-segments.ts';
import { changeSegments } from '../../src/control/scaling/change-segments.ts';
import type { SegmentChange } from '../../src/control/scaling/check-change.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { BrokerId } from '../../src/model/ids.ts';
import type { SegmentRange, Topic } from '../../src/model/topic.ts';
import { readTopic } from '../../src/topology/apply-change.ts';
import { createChanger } from '../control/scaling/some-changer.ts';
import { brokerId, putBroker, someBroker } from '../control/some-broker.ts';
import { publishOf } from '../publish/requests.ts';
import { readHanded } from '../simulation/read-handed.ts';
import { readTopicLog } from '../simulation/read-log.ts';
import { createSeededRandom, type SeededRandom } from '../simulation/seeded-random.ts';
import { createTestBroker, type TestBroker } from '../simulation/test-broker.ts';
import { freshTable } from '../stack.ts';
import { lineageProblems, readingProblems } from '../topology/check-lineage.ts';
import { watchTopology } from '../topology/topology-watch.ts';

// F8, F14: two leaders on real tables, each of which wants another change of the same segment at the same moment, while the topic is
// written to: a merge whose second parent, or first, is being split; two merges that share a segment; two splits of one.

const SEED = process.env['KELP_TEST_SEED'] ?? '1';
/** Pairs of changes; each takes some ten times as long as a seal of `seal-races`. */
const RACES = Math.ceil(Number(process.env['KELP_TEST_RACES'] ?? 1_000) / 10);
const TEST_MS = 60_000 + 2_000 * RACES;
/** What may come of a pair. Neither of two always comes first, or they did not race. */
const OUTCOMES = ['split: split', 'merge-and-split: merge', 'merge-and-split: split', 'merge: merge'];
/** Races beyond those that were asked for, in which what is not among them yet has to come. */
const RACES_MORE_MAX = 200;
const TOPICS = 3;
const WRITERS = 1;
const KEYS_OF_WRITER = 20;
const REQUEST_KEYS_MAX = 6;
const SEGMENTS = 3;
/** Beyond it only merges race. */
const SEGMENTS_MANY = 6;
const PAGE_MESSAGES = 50;
const BROKERS = ['a', 'b', 'c'].map(brokerId);

const clock = createSystemClock();
const { signal } = new AbortController();

type Rivals = readonly [SegmentChange, SegmentChange];
type Race = 'split' | 'merge-and-split' | 'merge';

/** Two changes that share a segment. */
function rivalsOf(open: readonly SegmentRange[], random: SeededRandom): { readonly race: Race; readonly rivals: Rivals } {
  const mergeAt = (index: number): SegmentChange => {
    const [lower, upper] = open.slice(index, index + 2) as [SegmentRange, SegmentRange];
    return { kind: 'merge', segments: [lower.segment, upper.segment] };
  };
  const splitAt = (index: number): SegmentChange => {
    const { segment, lo, hi } = open[index] as SegmentRange;
    return { kind: 'split', segment, at: lo + 1 + random.integer(hi - lo) };
  };
  const wide = open.flatMap(({ lo, hi }, index) => (lo < hi ? [index] : [])) as [number, ...number[]];
  const index = random.pick(wide);
  if (open.length > SEGMENTS_MANY || (open.length > SEGMENTS && random.chance(0.2))) {
    const first = random.integer(open.length - 2);
    return { race: 'merge', rivals: [mergeAt(first), mergeAt(first + 1)] };
  }
  if (open.length === 1 || random.chance(0.3)) return { race: 'split', rivals: [splitAt(index), splitAt(index)] };
  const neighbour = index === 0 ? 0 : index - 1;
  return { race: 'merge-and-split', rivals: [mergeAt(neighbour), splitAt(index)] };
}

/** Race after race, until it is over. What came of each is counted in `won`. */
async function play(
  leaders: readonly [MoveDeps, MoveDeps],
  topic: Topic,
  { random, won, isOver }: { random: SeededRandom; won: Map<string, number>; isOver: () => boolean },
): Promise<string[]> {
  const problems: string[] = [];
  while (!isOver()) {
    const { open } = await readTopic(leaders[0], topic.id, signal);
    const { race, rivals } = rivalsOf(open, random);
    const asked = random.chance(0.5) ? rivals : (rivals.toReversed() as unknown as Rivals);
    const applied = (await Promise.all(asked.map((change, n) => changeSegments(leaders[n] as MoveDeps, topic, [change], signal)))).flat();
    const made = applied.filter(({ refused }) => refused === undefined);
    const refused = applied.flatMap((one) => one.refused ?? []);
    const successors = (refused[0]?.extra['successors'] ?? []) as readonly SegmentRange[];
    const idsOf = (ranges: readonly SegmentRange[] = []): string => ranges.map(({ segment }) => segment).join();
    if (made.length !== 1 || refused[0]?.code !== 'segment-sealed' || idsOf(successors) !== idsOf(made[0]?.children)) {
      problems.push(`${JSON.stringify(asked)}: ${made.length} were made, and the other was told ${refused[0]?.code} ${idsOf(successors)}`);
    }
    const winner = `${race}: ${made[0]?.change.kind}`;
    won.set(winner, (won.get(winner) ?? 0) + 1);
  }
  return problems;
}

/** Each key's values one after the other, by a broker that knows the topic as it was. Answers those that were acknowledged, by key. */
async function write(
  broker: TestBroker,
  topic: Topic,
  { name, random, isOver }: { name: string; random: SeededRandom; isOver: () => boolean },
): Promise<Map<string, string[]>> {
  const written = new Map<string, string[]>();
  while (!isOver()) {
    const keys = new Set(Array.from({ length: 1 + random.integer(REQUEST_KEYS_MAX) }, () => `${name}k${random.integer(KEYS_OF_WRITER)}`));
    const messages = [...keys].map((key) => [key, `${key}#${written.get(key)?.length ?? 0}`] as const);
    const results = await broker.publisher.publish(topic, publishOf(messages), signal);
    for (const [n, result] of results.entries()) {
      const [key, value] = messages[n] ?? ['', ''];
      // The segments changed too fast for it: it surely isn't there, and is sent again.
      if (result instanceof KelpError && result.kind !== 'unavailable') throw result;
      if (!(result instanceof KelpError)) written.set(key, [...(written.get(key) ?? []), value]);
    }
  }
  return written;
}

test.each([
  { kind: 'dynoxide' as const, races: RACES },
  { kind: 'ministack' as const, races: Math.ceil(RACES / 10) },
])(
  'F8, F14: $races pairs of changes that share a segment, asked of two leaders at once on $kind under load: one of each pair is made',
  async ({ kind, races }) => {
    const watch = watchTopology(createLeanTable({ ...(await freshTable(kind, signal)), clock }));
    const { table } = watch;
    for (const id of BROKERS) await putBroker(table, someBroker(id));
    const random = createSeededRandom(`${SEED} scaling ${kind}`);
    const store = createMemoryStore();
    const won = new Map<string, number>();
    const count = (): number => [...won.values()].reduce((sum, times) => sum + times, 0);
    const unseen = (): string[] => OUTCOMES.filter((outcome) => !won.has(outcome));
    const noMore = (): boolean => count() >= races && (unseen().length === 0 || count() >= races + RACES_MORE_MAX);
    const playTopic = async (name: string): Promise<string[]> => {
      const own = random.fork(name);
      const broker = (what: string): TestBroker => createTestBroker({ table, store, clock, random: own.fork(what) });
      const { topic } = await broker('first').topics.create(name, { partitionKey: 'key', segments: SEGMENTS, replicas: 2 }, signal);
      const leaders = BROKERS.slice(0, 2).map((self: BrokerId) => createChanger({ table, clock, random: own.fork(self), self }));
      let isOver = false;
      const writing = Array.from({ length: WRITERS }, (_, n) =>
        write(broker(`writer ${n}`), topic, { name: `w${n}`, random: own.fork(`keys ${n}`), isOver: () => isOver }),
      );
      const played = await play(leaders as [MoveDeps, MoveDeps], topic, { random: own.fork('changes'), won, isOver: noMore }).finally(
        () => {
          isOver = true;
        },
      );
      const written = new Map((await Promise.all(writing)).flatMap((some) => [...some]));
      const log = await readTopicLog({ table, store }, topic.id);
      const { handed } = await readHanded({ run: (work) => work, signal }, broker('reader'), { topic, limit: PAGE_MESSAGES });
      return [...played, ...lineageProblems(log), ...readingProblems(handed, log, written)];
    };
    const played = await Promise.all(Array.from({ length: TOPICS }, (_, n) => playTopic(`t${n}`)));
    expect(played.flat()).toEqual([]);
    expect(watch.problems()).toEqual([]);
    expect(count()).toBeGreaterThanOrEqual(races);
    expect(unseen()).toEqual([]);
  },
  TEST_MS,
);
