import { expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { decodeHead, encodeNewHead } from '../../src/format/head-item.ts';
import { headKey } from '../../src/format/item-key.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { Head } from '../../src/model/head.ts';
import { type Minute, type ObjectId, type SegmentId, segmentId, type TopicId } from '../../src/model/ids.ts';
import { LOAD_BUCKETS } from '../../src/model/limits.ts';
import { type SegmentRange, TENANT_DEFAULT, type Topic, type TopologyChange } from '../../src/model/topic.ts';
import type { MetadataTable, WriteResult } from '../../src/ports/metadata-table.ts';
import { sealUpdate } from '../../src/protocol/segment-life.ts';
import { commitBatch } from '../../src/publish/commit-batch.ts';
import type { CommitOutcome } from '../../src/publish/commit-outcome.ts';
import { createHeads } from '../../src/state/heads.ts';
import { applyChanges, intend, readTopic } from '../../src/topology/apply-change.ts';
import { publishOf } from '../publish/requests.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { type LogMessage, readTopicLog, type SegmentLog } from '../simulation/read-log.ts';
import { createSeededRandom, type SeededRandom } from '../simulation/seeded-random.ts';
import { createTestBroker, type TestBroker } from '../simulation/test-broker.ts';
import { freshTable } from '../stack.ts';
import { lineageProblems } from '../topology/check-lineage.ts';

// F14: commits and seals of the same heads at once, on real tables: all segments of a topic are split, then merged by twos, and
// so on, while writers publish to all of them.

const SEED = process.env['KELP_TEST_SEED'] ?? '1';
/** Segments that are sealed among commits: not cut by the time, so that as many are on a slow machine. */
const RACES = Number(process.env['KELP_TEST_RACES'] ?? 1_000);
const TEST_MS = 60_000 + 200 * RACES;
const TOPICS = 3;
const WRITERS = 3;
const KEYS_OF_WRITER = 40;
const REQUEST_KEYS_MAX = 12;
/** Rounds at once, each with a segment of its own. */
const LANES = 8;

const clock = createSystemClock();
const { signal } = new AbortController();

type Sealed = { readonly id: string; readonly tail: number };
/** What went by at the table. */
type Watched = { readonly table: MetadataTable; readonly sealed: Sealed[]; readonly opened: Sealed[]; refused(): number };

/** Seals and openings as the table answered them, and commits that it refused because of a seal. */
function watch(table: MetadataTable): Watched {
  const sealed: Sealed[] = [];
  const opened: Sealed[] = [];
  let refused = 0;
  const watched = interceptTable(table, async (call, make) => {
    const answer = await make();
    if (call.op !== 'update' || call.name !== 'update head') return answer;
    const { applied, item } = answer as WriteResult;
    const set = call.update.changes.find(({ op, path }) => op === 'set' && path.join() === 'state');
    const head = decodeHead(item ?? {});
    const seen = { id: `${head.topic}/${head.segment}`, tail: head.tail };
    if (set === undefined) refused += !applied && head.state === 'sealed' ? 1 : 0;
    else if (applied) (head.state === 'sealed' ? sealed : opened).push(seen);
    return answer;
  });
  return { table: watched, sealed, opened, refused: () => refused };
}

type Sent = { readonly key: string; readonly value: string; readonly place?: { readonly segment: SegmentId; readonly offset: number } };

/** One message after the other of each key, for as long as the topic changes. Without a place: refused, for sure. */
async function write(
  broker: TestBroker,
  topic: Topic,
  options: { name: string; random: SeededRandom; isOver: () => boolean },
): Promise<Sent[]> {
  const { name, random, isOver } = options;
  const sent: Sent[] = [];
  for (let n = 0; !isOver(); n += 1) {
    const keys = new Set(Array.from({ length: 1 + random.integer(REQUEST_KEYS_MAX) }, () => `${name}k${random.integer(KEYS_OF_WRITER)}`));
    const messages = [...keys].map((key) => [key, `${key}#${n}`] as const);
    const results = await broker.publisher.publish(topic, publishOf(messages), signal);
    results.forEach((result, index) => {
      const [key, value] = messages[index] ?? ['', ''];
      if (!(result instanceof KelpError)) sent.push({ key, value, place: { segment: result.segment, offset: result.offset ?? -1 } });
      else if (result.kind === 'indefinite') throw result;
      else sent.push({ key, value });
    });
  }
  return sent;
}

type Changer = Parameters<typeof applyChanges>[0] & { readonly random: SeededRandom };

/** Splits all segments, each at any partition, or merges all of them by twos. */
async function changeAll(deps: Changer, id: Topic['id'], isSplit: boolean): Promise<void> {
  const topic = await readTopic(deps, id, signal);
  let next = topic.nextSegment;
  const changeOf = (parents: readonly SegmentRange[], los: readonly number[], hi: number): TopologyChange => ({
    id: `c${deps.random.base36(16)}`,
    kind: los.length > 1 ? 'split' : 'merge',
    parents: parents.map(({ segment }) => segment),
    children: los.map((lo, n) => ({ segment: segmentId(next++), lo, hi: (los[n + 1] ?? hi + 1) - 1 })),
  });
  const changes = topic.open.flatMap((range, n): TopologyChange[] => {
    const { lo, hi } = range;
    const upper = topic.open[n + 1];
    if (isSplit) return [changeOf([range], [lo, lo + 1 + deps.random.integer(hi - lo)], hi)];
    return n % 2 === 0 && upper !== undefined ? [changeOf([range, upper], [lo], upper.hi)] : [];
  });
  const intended = await intend(deps, topic, changes, signal);
  if (intended === undefined) throw new Error('somebody else changed the topic');
  await applyChanges(deps, intended, changes, signal);
}

type Raced = { readonly topic: Topic; readonly sent: readonly Sent[]; readonly log: readonly SegmentLog[] };
type Race = { readonly segments: number; readonly seals: number };

async function race(watched: Watched, name: string, { segments, seals }: Race): Promise<Raced> {
  const { table } = watched;
  const random = createSeededRandom(`${SEED} ${name}`);
  const store = createMemoryStore();
  const brokers = Array.from({ length: WRITERS }, (_, n) => createTestBroker({ table, store, clock, random: random.fork(`broker ${n}`) }));
  const [first] = brokers as [TestBroker];
  const { topic } = await first.topics.create(name, { partitionKey: 'key', segments, replicas: 1 }, signal);
  const changer: Changer = { table, heads: createHeads(table), clock, random: random.fork('changer') };
  let isOver = false;
  const writing = brokers.map((broker, n) =>
    write(broker, topic, { name: `w${n}`, random: random.fork(`writer ${n}`), isOver: () => isOver }),
  );
  for (let round = 0, done = 0; done < seals; round += 1) {
    const isSplit = round % 2 === 0;
    await changeAll(changer, topic.id, isSplit);
    done += isSplit ? segments : 2 * segments;
  }
  isOver = true;
  const sent = (await Promise.all(writing)).flat();
  return { topic, sent, log: await readTopicLog({ table, store }, topic.id) };
}

/** What is wrong: acknowledged and not there, there and not acknowledged, twice, out of order; a lineage that is not whole. */
function problemsOf({ sent, log }: Raced): string[] {
  const problems = lineageProblems(log);
  const at = new Map(log.flatMap(({ messages }) => messages).map((message) => [`${message.segment}:${message.offset}`, message]));
  const acked = sent.filter(({ place }) => place !== undefined);
  for (const { value, place } of acked) {
    const found = at.get(`${place?.segment}:${place?.offset}`);
    if (found?.value !== value) problems.push(`${value} is not at ${place?.segment}:${place?.offset}`);
  }
  if (at.size !== acked.length) problems.push(`${at.size} messages are stored, ${acked.length} were acknowledged`);
  // Segments of a key in order of their ids, which count up along its lineage.
  const byKey = Map.groupBy(at.values() as Iterable<LogMessage>, ({ key }) => key);
  for (const [key, messages] of byKey) {
    const numbers = messages.map(({ value }) => Number(value.slice(key.length + 1)));
    if (numbers.some((number, n) => n > 0 && number <= (numbers[n - 1] ?? -1))) problems.push(`${key}: ${numbers.join()}`);
  }
  return problems;
}

type Round = { readonly head: Head; readonly sealedTail: number; readonly outcomes: ReadonlyMap<string, CommitOutcome> };

const BYTES_OF_MESSAGE = 1;
const COMMITTERS = 2;
const COMMITS_OF_BROKER = 2;
const minute = '29932870' as Minute;

/** Brokers commit to a segment that they know to be open, each again and again, and after some of that it is sealed among them. */
async function sealAmongCommits(
  brokers: readonly TestBroker[],
  { topic, random }: { topic: TopicId; random: SeededRandom },
): Promise<Round> {
  const [{ deps }] = brokers as [TestBroker];
  const segment = segmentId(0);
  const range = { segment, lo: 0, hi: 65_535 };
  const pending = encodeNewHead({ topic, tenant: TENANT_DEFAULT, range, floor: '', predecessors: [] });
  const { item = {} } = await deps.table.put(headKey(topic, segment), { ...pending, state: 'open' }, [], signal);
  const outcomes = new Map<string, CommitOutcome>();
  const commit = async (broker: TestBroker): Promise<void> => {
    const id = `o${random.base36(15)}` as ObjectId;
    const buckets = Array.from({ length: LOAD_BUCKETS }, (_, bucket) => (bucket === 0 ? 1 : 0));
    const members = [{ runs: [{ start: 0, bytes: BYTES_OF_MESSAGE, count: 1 }], count: 1, highestTimestampMs: 0, buckets }];
    outcomes.set(id, await commitBatch(broker.deps, { topic, segment, object: { minute, id }, members }, signal));
    if (outcomes.size === sealBehind) begin();
  };
  const sealBehind = random.integer(brokers.length * COMMITS_OF_BROKER);
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  if (sealBehind === 0) begin();
  const commits = brokers.map(async (broker) => {
    broker.heads.offer(decodeHead(item));
    for (let n = 0; n < COMMITS_OF_BROKER; n += 1) await commit(broker);
  });
  await begun;
  const successors = [{ ...range, segment: segmentId(1) }];
  const seal = sealUpdate({ change: 'c0', successors, deleted: false }, clock.nowMs());
  const sealed = await deps.table.update(headKey(topic, segment), seal, signal);
  await Promise.all(commits);
  const head = decodeHead((await deps.table.get(headKey(topic, segment), signal)) ?? {});
  return { head, sealedTail: sealed.applied ? decodeHead(sealed.item).tail : -1, outcomes };
}

/** Each commit is in the head once, where its broker was told, or is refused for ever; and nothing landed after the seal. */
function roundProblems({ head, sealedTail, outcomes }: Round): string[] {
  const problems: string[] = [];
  if (head.state !== 'sealed' || head.tail !== sealedTail) problems.push(`${head.state} at ${head.tail}, the seal was at ${sealedTail}`);
  if (head.entries.some(({ offset }, n) => offset !== n) || head.entries.length !== head.tail) problems.push('offsets have a hole');
  for (const [id, outcome] of outcomes) {
    const offsets = head.entries.flatMap(({ object, offset }) => (object.id === id ? [offset] : []));
    const [member] = outcome.outcome === 'done' ? outcome.members : [];
    const told = member?.outcome === 'stored' ? [member.offset] : [];
    const isKnown = member?.outcome === 'stored' || member?.outcome === 'sealed';
    if (!isKnown || offsets.join() !== told.join()) problems.push(`${member?.outcome} at ${told.join()}, it is at ${offsets.join()}`);
  }
  return problems;
}

test.each([
  { kind: 'dynoxide' as const, rounds: RACES },
  { kind: 'ministack' as const, rounds: Math.ceil(RACES / 10) },
])(
  '$rounds segments on $kind are sealed among commits: each commit lands below the final tail or is refused',
  async ({ kind, rounds }) => {
    const table = createLeanTable({ ...(await freshTable(kind, signal)), clock });
    const random = createSeededRandom(`${SEED} rounds`);
    let [left, made, mixed] = [rounds, 0, 0];
    const play = async (lane: number): Promise<string[]> => {
      const own = random.fork(`lane ${lane}`);
      const brokers = Array.from({ length: COMMITTERS }, (_, n) =>
        createTestBroker({ table, store: createMemoryStore(), clock, random: own.fork(`broker ${n}`) }),
      );
      const problems: string[] = [];
      while (left > 0) {
        left -= 1;
        const round = await sealAmongCommits(brokers, { topic: `t${own.base36(15)}` as TopicId, random: own });
        problems.push(...roundProblems(round));
        made += 1;
        if (round.head.tail > 0 && round.head.tail < COMMITTERS * COMMITS_OF_BROKER) mixed += 1;
      }
      return problems;
    };
    expect((await Promise.all(Array.from({ length: LANES }, (_, lane) => play(lane)))).flat()).toEqual([]);
    expect(made).toBe(rounds);
    // Where some landed and some did not, they raced.
    expect(mixed).toBeGreaterThan(rounds / 10);
  },
  TEST_MS,
);

test.each([
  { kind: 'dynoxide' as const, segments: 8, seals: Math.ceil(RACES / 20) },
  { kind: 'ministack' as const, segments: 4, seals: Math.ceil(RACES / 100) },
])(
  'all segments of topics on $kind are split and merged while they are written to: nothing is lost, or there twice, or out of order',
  async ({ kind, ...options }) => {
    const watched = watch(createLeanTable({ ...(await freshTable(kind, signal)), clock }));
    const raced = await Promise.all(Array.from({ length: TOPICS }, (_, n) => race(watched, `t${n}`, options)));
    expect(raced.flatMap(problemsOf)).toEqual([]);
    // Sealed is for ever: nothing landed after the update that sealed.
    const tails = new Map(raced.flatMap(({ log }) => log.map(({ head }) => [`${head.topic}/${head.segment}`, head.tail])));
    expect(watched.sealed.filter(({ id, tail }) => tails.get(id) !== tail)).toEqual([]);
    expect(watched.opened.filter(({ tail }) => tail !== 0)).toEqual([]);
    expect(watched.sealed.length).toBeGreaterThanOrEqual(TOPICS * options.seals);
    // Or nothing raced.
    expect(watched.refused()).toBeGreaterThan((TOPICS * options.seals) / 4);
  },
  TEST_MS,
);
