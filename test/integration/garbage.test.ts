import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createFileCompression } from '../../src/adapters/system/file-compression.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { wrapStore, wrapTable } from '../../src/adapters/wrap/stores.ts';
import { createArchiving } from '../../src/broker/create-archiving.ts';
import { sweep } from '../../src/broker/sweep.ts';
import { archivedFilesPrefix, batchObjectPrefix } from '../../src/format/object-key.ts';
import type { SweepReport } from '../../src/model/sweep-report.ts';
import type { Topic } from '../../src/model/topic.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { readFileRecords } from '../../src/state/archives.ts';
import { randomly } from '../faults/choose.ts';
import { createFaultyTable, type TableCall, type TableFault } from '../faults/faulty-table.ts';
import { left, unreferenced } from '../garbage/garbage-world.ts';
import { brief, firstSegment, message, publishOf } from '../publish/requests.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { readHanded } from '../simulation/read-handed.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { createTestBroker, type TestBroker } from '../simulation/test-broker.ts';
import { startOwnStack } from '../own-stack.ts';
import { freshTable, sharedStack } from '../stack.ts';

// Garbage by the product's own code on SeaweedFS and both tables. Nothing has to be of any age, and who sweeps has a clock that is ahead: what is
// under way is kept by the floor alone, or not at all.

const TEST_MS = 60_000;
const SEED = process.env['KELP_TEST_SEED'] ?? '1';
const MINUTE_MS = 60_000;
const system = createSystemClock();
const signal = AbortSignal.timeout(600_000);
const ahead = (ms: number) => ({ ...system, nowMs: () => system.nowMs() + ms });

type Stores = { readonly table: MetadataTable; readonly store: ObjectStore };
const brokerOf = (stores: Stores): TestBroker =>
  createTestBroker({ ...stores, clock: system, random: createSystemRandom(), wrapped: true });

/** By a clock that is so many minutes ahead. */
function sweepAt(stores: Stores, minutes: number): Promise<SweepReport> {
  const { deps } = brokerOf(stores);
  return sweep({ ...deps, clock: ahead(minutes * MINUTE_MS), garbageAgeMs: 0 }, { dryRun: false }, signal);
}

/** All that was committed becomes files, of a few messages each. */
function archive({ table, store }: Stores, clock = system) {
  const wrapping = { clock, random: createSystemRandom(), telemetry: brokerOf({ table, store }).deps.telemetry };
  const { deps } = brokerOf({ table, store });
  return createArchiving({
    ...wrapping,
    table: wrapTable(table, wrapping),
    store: wrapStore(store, wrapping),
    compression: deps.compression,
    fileCompression: createFileCompression(),
    fileBytesMax: 4_000,
    fileAgeMs: 0,
  }).archive({ until: signal }, signal);
}

/** Of everything that can be read, segment by segment. */
async function values(stores: Stores, topic: Topic): Promise<string[]> {
  const { handed } = await readHanded({ run: (work) => work, signal }, brokerOf(stores), { topic, limit: 100 });
  return handed.map(({ value }) => value);
}

describe.each(['dynoxide', 'ministack'] as const)('on SeaweedFS and %s', (kind) => {
  let stores: Stores;
  // A sweep looks at all topics that there are.
  beforeEach(async () => {
    stores = {
      table: createLeanTable({ ...(await freshTable(kind, signal)), clock: system }),
      store: createLeanStore({ ...sharedStack().store, clock: system }),
    };
  }, TEST_MS);

  async function made(count: number, settings: object = {}): Promise<Topic> {
    const broker = brokerOf(stores);
    const name = `g-${randomBytes(4).toString('hex')}`;
    const { topic } = await broker.topics.create(name, { partitionKey: 'key', segments: 1, replicas: 2, ...settings }, signal);
    for (let n = 0; n < count; n += 1) await broker.publisher.publish(topic, publishOf([`${n}`]), signal);
    await broker.notes.idle();
    return topic;
  }
  const numbers = (count: number): string[] => Array.from({ length: count }, (_, n) => `${n}`);

  /** Nothing that nobody refers to is left: objects, and files. */
  async function expectClean(topic: Topic): Promise<void> {
    expect(await unreferenced({ ...stores, signal }, topic)).toEqual([]);
    const { objects } = await stores.store.list(archivedFilesPrefix(topic.name, topic.id), { limit: 1_000 }, signal);
    let written = 0;
    for (let n = topic.firstSegment; n < topic.nextSegment + 2; n += 1) {
      const segment = `s${n.toString(36).padStart(7, '0')}` as Topic['open'][number]['segment'];
      const { records } = await readFileRecords(stores, { topic: topic.id, segment }, 0, signal);
      written += records.filter(({ state }) => state === 'written').length;
    }
    expect(objects.length).toBe(written);
  }

  test(
    'F2, J-39 (b): an object whose broker was killed before the commit goes; one who was paused there is refused, and stores it anew',
    async () => {
      const topic = await made(20);
      const { promise: never } = Promise.withResolvers<never>();
      const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
      const halting = (until: Promise<unknown>) => ({
        ...stores,
        table: interceptTable(stores.table, async (call, make) => {
          if (call.name === 'update head') await until;
          return make();
        }),
      });
      void brokerOf(halting(never)).publisher.publish(topic, publishOf(['killed']), signal);
      const paused = brokerOf(halting(goesOn)).publisher.publish(topic, publishOf(['paused']), signal);
      await expect.poll(async () => (await unreferenced({ ...stores, signal }, topic)).length, { timeout: TEST_MS }).toBe(2);
      expect((await sweepAt(stores, 2)).garbage).toMatchObject({ neverCommitted: 2, failed: 0 });
      expect(await values(stores, topic)).toEqual(numbers(20));
      goOn();
      expect(brief(await paused)).toEqual([`${firstSegment(topic)}:20`]);
      for (const minutes of [3, 4]) expect((await sweepAt(stores, minutes)).garbage).toMatchObject({ neverCommitted: 0, failed: 0 });
      await expectClean(topic);
      expect(await values(stores, topic)).toEqual([...numbers(20), 'paused']);
    },
    TEST_MS,
  );

  test(
    'J-39 (c): an archiver that is stopped behind the file’s PUT leaves each message once, whoever sweeps and archives meanwhile, and if he comes back',
    async () => {
      const topic = await made(40);
      const { promise: put, resolve: isPut } = Promise.withResolvers<void>();
      const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
      const stopping = {
        ...stores,
        store: interceptStore(stores.store, async (call, make) => {
          const answer = await make();
          if (call.op === 'put' && call.key.startsWith('topics/')) {
            isPut();
            await goesOn;
          }
          return answer;
        }),
      };
      const late = archive(stopping);
      await put;
      expect((await sweepAt(stores, 2)).garbage).toMatchObject({ files: 0, failed: 0 });
      // By a clock at which the file is nobody's any more who is at work.
      expect(await archive(stores, ahead(MINUTE_MS * 60))).toMatchObject({ failed: 0, held: 0 });
      expect((await sweepAt(stores, 120)).garbage).toMatchObject({ files: 0, failed: 0 });
      expect(await values(stores, topic)).toEqual(numbers(40));
      goOn();
      await late;
      for (const minutes of [121, 122]) expect((await sweepAt(stores, minutes)).garbage).toMatchObject({ files: 0, failed: 0 });
      expect(await values(stores, topic)).toEqual(numbers(40));
      await expectClean(topic);
      expect(await left({ ...stores, signal }, topic, [firstSegment(topic)])).toMatchObject({ objects: 0, pages: 0 });
    },
    TEST_MS,
  );

  test(
    `F22: publishers whose commits are slow, readers, splits, archivers and sweeps: all that is acked is read once, and nothing else is left (seed ${SEED})`,
    async () => {
      const topic = await made(0, { segments: 2 });
      const random = createSeededRandom(`${SEED} ${kind}`);
      const slow = () =>
        createFaultyTable(stores.table, {
          clock: system,
          choose: randomly<TableCall, TableFault>(random, [
            {
              probability: 0.3,
              match: ({ op }) => op === 'update',
              fault: (own) => ({ kind: 'delayed', ms: Math.ceil(own.fraction() * 300) }),
            },
            { probability: 0.1, match: ({ op }) => op === 'update' || op === 'put', fault: () => ({ kind: 'answer-lost' }) },
          ]),
        });
      const acked: string[] = [];
      const told = new Set<string>();
      const writers = [0, 1, 2].map(async (writer) => {
        const { publisher, notes } = brokerOf({ ...stores, table: slow() });
        for (let n = 0; n < 15; n += 1) {
          const value = `${writer}-${n}`;
          told.add(value);
          const [result] = await publisher.publish(
            topic,
            { content: { kind: 'messages', messages: [message(`k${n % 5}`, value)] } },
            signal,
          );
          if (/^s\w{7}:\d+/.test(brief([result!])[0]!)) acked.push(value);
        }
        await notes.idle();
      });
      const writing = Promise.all(writers);
      const end = new AbortController();
      const over = writing.finally(() => end.abort());
      // Each of them is minutes ahead of the one before.
      const sweeping = (async () => {
        for (let minutes = 2; !end.signal.aborted; minutes += 1)
          expect((await sweepAt({ ...stores, table: slow() }, minutes)).garbage.failed).toBe(0);
      })();
      const archiving = (async () => {
        while (!end.signal.aborted) await archive(stores);
      })();
      const reading = (async () => {
        while (!end.signal.aborted) await values(stores, topic);
      })();
      const splitting = replaceSegment({ ...stores, random, signal, clock: system, run: (work) => work }, topic, {
        segment: firstSegment(topic),
        children: 2,
      });
      await Promise.all([over, sweeping, archiving, reading, splitting]);

      for (const minutes of [1_000, 1_001]) expect((await sweepAt(stores, minutes)).garbage).toMatchObject({ failed: 0 });
      const read = await values(stores, topic);
      expect(new Set(read).size).toBe(read.length);
      expect(acked.filter((value) => !read.includes(value))).toEqual([]);
      expect(read.filter((value) => !told.has(value))).toEqual([]);
      expect(acked.length).toBeGreaterThan(30);
      await expectClean(topic);
    },
    TEST_MS,
  );
});

test(
  'SeaweedFS gives the disk back once it is vacuumed behind a sweep',
  async () => {
    const own = await startOwnStack();
    try {
      const stores = { table: createLeanTable({ ...own.table, clock: system }), store: createLeanStore({ ...own.store, clock: system }) };
      const diskKilobytes = (): number => Number(execFileSync('du', ['-sk', join(own.dir, 'weed')], { encoding: 'utf8' }).split('\t')[0]);
      const broker = brokerOf(stores);
      const settings = { partitionKey: 'key', segments: 1, replicas: 2, retention: { maxAgeSeconds: 60 } } as const;
      const { topic } = await broker.topics.create('large', settings, signal);
      const before = diskKilobytes();
      for (let n = 0; n < 16; n += 1) {
        const messages = [1, 2, 3].map(() => ({ ...message('a', ''), value: randomBytes(1_000_000) }));
        await broker.publisher.publish(topic, { content: { kind: 'messages', messages } }, signal);
      }
      await broker.notes.idle();
      const filled = diskKilobytes();
      expect(filled - before).toBeGreaterThan(46_000);
      const { retention, garbage } = await sweepAt(stores, 5);
      expect([retention.messages, garbage.archived, garbage.failed]).toEqual([48, 16, 0]);
      expect((await stores.store.list(batchObjectPrefix(topic.id), { limit: 1 }, signal)).objects).toEqual([]);
      // Deleted, and still there.
      expect(diskKilobytes()).toBeGreaterThanOrEqual(filled);
      // The filer tells its volume servers of what was deleted a moment later.
      const vacuumed = (): number => {
        own.weedShell('volume.vacuum -garbageThreshold 0.1');
        return diskKilobytes() - before;
      };
      await expect.poll(vacuumed, { timeout: TEST_MS, interval: 500 }).toBeLessThan(4_000);
    } finally {
      await own.stop();
    }
  },
  TEST_MS,
);
