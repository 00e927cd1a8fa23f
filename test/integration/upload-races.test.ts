import { expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { problemOf } from '../../src/http/problem.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { UploadId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import { SUBMITTING_MS_MAX, UPLOAD_MS } from '../../src/model/upload-limits.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { PublishResult } from '../../src/publish/request.ts';
import { settleUpload } from '../../src/reference/settle-upload.ts';
import { createHeads } from '../../src/state/heads.ts';
import { readUpload } from '../../src/state/stored-uploads.ts';
import { readTopic } from '../../src/topology/apply-change.ts';
import { createFaultyTable, type FaultyTable } from '../faults/faulty-table.ts';
import { randomTableFaults } from '../faults/random-faults.ts';
import { stage, submitOf } from '../publish/uploads.ts';
import { readTopicLog } from '../simulation/read-log.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createSeededRandom, type SeededRandom } from '../simulation/seeded-random.ts';
import { createTestBroker, type TestBroker } from '../simulation/test-broker.ts';
import { freshTable } from '../stack.ts';

// F7, F23: the same uploads are submitted by several at once on real tables, with a key and without, in other orders, by callers
// that leave; answers are lost, writes land late or twice, the segment is sealed, and sweeps raise its floor, in between.

const SEED = process.env['KELP_TEST_SEED'] ?? '1';
/** Rounds, each with uploads of its own: not cut by the time, so that as many are on a slow machine. */
const RACES = Math.ceil(Number(process.env['KELP_TEST_RACES'] ?? 1_000) / 10);
const TEST_MS = 60_000 + 1_000 * RACES;
/** Topics at once. */
const LANES = 4;
const UPLOADS = 3;
const FAULTS = { share: 0.1, msMax: 20, copiesOfApplied: true };
const LEAVES_MS_MAX = 60;

const clock = createSystemClock();
const { signal } = new AbortController();
const ahead = (ms: number): Clock => ({ ...clock, nowMs: () => clock.nowMs() + ms });

type Lane = {
  readonly table: MetadataTable;
  readonly store: ReturnType<typeof createMemoryStore>;
  readonly random: SeededRandom;
  readonly topic: Topic;
};
/** `number`: each fifth one is sealed, each fifth one swept of old attempts, each fifth one of what is due. */
type Round = Lane & { readonly number: number; readonly uploads: readonly UploadId[] };
type Submitted = { readonly uploads: readonly UploadId[]; readonly result: PublishResult };

const faulty = (table: MetadataTable, random: SeededRandom): FaultyTable =>
  createFaultyTable(table, { choose: randomTableFaults(random, FAULTS), clock });

/** Two handlers of one request under a key, and two without one that want some of its uploads, in another order. */
async function submitAll({ table, store, random, topic, uploads }: Round, tables: FaultyTable[]): Promise<Submitted[]> {
  const wishes = [uploads, uploads, uploads.toReversed(), uploads.slice(1)];
  return Promise.all(
    wishes.map(async (wanted, n): Promise<Submitted> => {
      const own = random.fork(`submitter ${n} ${uploads.join()}`);
      const broken = faulty(table, own.fork('faults'));
      tables.push(broken);
      const broker = createTestBroker({ table: broken, store, clock, random: own.fork('broker'), wrapped: true });
      await clock.sleep(own.integer(10), signal);
      const leaves = own.integer(3) === 0 ? clock.deadline(1 + own.integer(LEAVES_MS_MAX)) : clock.deadline(20_000);
      const key = n < 2 ? uploads.join() : undefined;
      try {
        return { uploads: wanted, result: await broker.publisher.publish(topic, submitOf(wanted, key), leaves) };
      } catch (error) {
        // Nothing was begun, for a caller that had left, or for stores that did not answer.
        if (!leaves.aborted && !(error instanceof KelpError)) throw error;
        return { uploads: wanted, result: wanted.map(() => new KelpError('indefinite', 'indefinite', 'it left', { cause: error })) };
      }
    }),
  );
}

/** As a sweep does: some find only the attempts too old, some find all of it due. */
async function sweep({ table, store, topic, uploads }: Round, ms: number, tables: FaultyTable[], random: SeededRandom): Promise<void> {
  const broken = faulty(table, random);
  tables.push(broken);
  const { deps } = createTestBroker({ table: broken, store, clock: ahead(ms), random, wrapped: true });
  const counts = { expired: 0, submitted: 0, staged: 0, bytes: 0 };
  for (const id of uploads) {
    try {
      const upload = await readUpload(deps, topic.id, id, signal);
      if (upload !== undefined) await settleUpload(deps, { topic: topic.id, dryRun: false, counts }, upload, signal);
    } catch (error) {
      if (!(error instanceof KelpError)) throw error;
    }
  }
}

/** What happens beside the submitters. */
async function disturb(round: Round, tables: FaultyTable[]): Promise<void> {
  const random = round.random.fork(`disturbance ${round.uploads.join()}`);
  await clock.sleep(random.integer(30), signal);
  const kind = round.number % 5;
  if (kind === 0) {
    const [range] = round.topic.open;
    const world = { table: round.table, random, signal, clock, run: <T>(work: Promise<T>): Promise<T> => work };
    if (range !== undefined) await replaceSegment(world, round.topic, { segment: range.segment, children: 1 });
  } else if (kind <= 2)
    await sweep(round, kind === 1 ? SUBMITTING_MS_MAX + 60_000 : UPLOAD_MS + SUBMITTING_MS_MAX + 60_000, tables, random);
}

const CODES = [
  'indefinite',
  'unavailable',
  'timeout',
  'throttled',
  'upload-submitted',
  'upload-in-use',
  'upload-expired',
  'upload-not-found',
];

type Played = { readonly problems: readonly string[]; readonly contended: boolean; readonly expired: number };

async function play(lane: Lane, number: number): Promise<Played> {
  const topic = await readTopic({ ...lane, heads: createHeads(lane.table), clock }, lane.topic.id, signal);
  const uploads: UploadId[] = [];
  for (let n = 0; n < UPLOADS; n += 1) uploads.push(await stage({ ...lane, clock, signal }, topic));
  const round: Round = { ...lane, topic, number, uploads };
  const tables: FaultyTable[] = [];
  const [submitted] = await Promise.all([submitAll(round, tables), disturb(round, tables)]);
  while (tables.some(({ late }) => late.waiting() > 0)) await clock.sleep(1, signal);
  const broker: TestBroker = createTestBroker({
    table: lane.table,
    store: lane.store,
    clock,
    random: lane.random.fork(`last ${uploads.join()}`),
  });
  for (const upload of uploads)
    submitted.push({ uploads: [upload], result: await broker.publisher.publish(topic, submitOf([upload]), signal) });
  return {
    ...(await judge(round, submitted)),
    contended: submitted.some(({ result }) => result.some((one) => one instanceof KelpError && one.code === 'upload-in-use')),
  };
}

/** Each upload is in the log once, or expired; and whoever was told where it is was told so truly. */
async function judge(
  { table, store, topic, uploads }: Round,
  submitted: readonly Submitted[],
): Promise<Pick<Played, 'problems' | 'expired'>> {
  const problems: string[] = [];
  const stored = (await readTopicLog({ table, store }, topic.id)).flatMap(({ messages }) => messages);
  let expired = 0;
  for (const upload of uploads) {
    const places = stored.filter(({ value }) => value === upload).map(({ segment, offset }) => `${segment}:${offset}`);
    const item = await readUpload({ table }, topic.id, upload, signal);
    const isGone = item === undefined || item.state === 'expired';
    if (isGone) expired += 1;
    const said = item?.state === 'submitted' ? [`${item.attempt?.segment}:${item.offset}`] : [];
    if (places.join() !== said.join() || (places.length === 0 && !isGone))
      problems.push(`${upload} is ${item?.state} ${said.join()}, and at ${places.join()}`);
    for (const told of submitted.flatMap((one) => placesOf(one, upload))) {
      if (told !== places[0]) problems.push(`${upload} is at ${places.join()}, and somebody was told ${told}`);
    }
  }
  const codes = submitted.flatMap(({ result }) => result.flatMap((one) => (one instanceof KelpError ? [problemOf(one)['code']] : [])));
  for (const code of new Set(codes)) if (!CODES.includes(code)) problems.push(code);
  return { problems, expired };
}

function placesOf({ uploads, result }: Submitted, upload: UploadId): string[] {
  const own = result[uploads.indexOf(upload)];
  const told = result.flatMap((one) =>
    one instanceof KelpError && one.code === 'upload-submitted' && one.extra['upload'] === upload
      ? [`${one.extra['segment']}:${one.extra['offset']}`]
      : [],
  );
  return own === undefined || own instanceof KelpError ? told : [...told, `${own.segment}:${own.offset}`];
}

test.each([
  { kind: 'dynoxide' as const, rounds: RACES, isMany: true },
  { kind: 'ministack' as const, rounds: Math.ceil(RACES / 10), isMany: false },
])(
  '$rounds times on $kind several submit the same uploads at once: each is in the log once, or expired, and nobody was told otherwise',
  async ({ kind, rounds, isMany }) => {
    const table = createLeanTable({ ...(await freshTable(kind, signal)), clock });
    const random = createSeededRandom(`${SEED} uploads`);
    let left = rounds;
    const lane = async (n: number): Promise<Played[]> => {
      const own = random.fork(`lane ${n}`);
      const store = createMemoryStore();
      const { topics } = createTestBroker({ table, store, clock, random: own.fork('topics') });
      const { topic } = await topics.create(`t${n}`, { partitionKey: 'key', segments: 1, replicas: 1 }, signal);
      const played: Played[] = [];
      while (left > 0) {
        left -= 1;
        played.push(await play({ table, store, random: own, topic }, left));
      }
      return played;
    };
    const played = (await Promise.all(Array.from({ length: LANES }, (_, n) => lane(n)))).flat();
    expect(played.flatMap(({ problems }) => problems)).toEqual([]);
    expect(played).toHaveLength(rounds);
    // Or nothing raced: few rounds may all go by in peace.
    expect(played.some(({ contended }) => contended) || !isMany).toBe(true);
    expect(played.some(({ expired }) => expired > 0) || !isMany).toBe(true);
  },
  TEST_MS,
);
