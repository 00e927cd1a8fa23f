import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { assembleArchiver } from '../../src/cli/assemble-archiver.ts';
import { archivedFileKey, archivedFilesPrefix } from '../../src/format/object-key.ts';
import { FILE_BYTES_MIN, PLANNED_BY_OTHERS_MS } from '../../src/model/archive-limits.ts';
import type { FileRecord } from '../../src/model/archive.ts';
import type { SegmentId, TopicId } from '../../src/model/ids.ts';
import { readArchive, readFileRecords } from '../../src/state/archives.ts';
import { oneSegment, publishOf } from '../publish/requests.ts';
import { readAll } from '../archive/some-file.ts';
import { createRecordingTelemetry } from '../../src/adapters/memory/recording-telemetry.ts';
import { freshTable, sharedStack, type TableAddress } from '../stack.ts';
import { type FaultProxy, type Passing, startFaultProxy } from './fault-proxy.ts';
import { createRealBroker } from './real-broker.ts';
import { callerOf, ROOT_TOKEN, runServe, type Served } from './run-serve.ts';

// Messages of a broker's process become files, by its own thread, whatever end it takes.

const TEST_MS = 60_000;
const SEGMENT = 's0000000' as SegmentId;
const SOON = { KELP_ARCHIVE_MS: '1000', KELP_ARCHIVE_AGE_MS: '0' };
const REQUEST = 20;
const POLL = { timeout: 20_000 };
const clock = createSystemClock();
const { signal } = new AbortController();
const store = sharedStack().store;
const objects = createLeanStore({ ...store, clock });

const isFilePut = ({ method, path }: Passing): boolean => method === 'PUT' && path.includes('.parquet');

let address: TableAddress;
let proxy: FaultProxy;
beforeAll(async () => {
  address = await freshTable('dynoxide', AbortSignal.timeout(TEST_MS));
  proxy = await startFaultProxy(store.endpoint);
}, TEST_MS);
afterAll(() => proxy.close());

/** A topic of one segment with so many messages, of some hundred bytes each, in requests of twenty. */
async function fill(name: string, count: number): Promise<{ readonly topic: TopicId; readonly texts: readonly string[] }> {
  const broker = createRealBroker({ store, table: address });
  const { topic } = await broker.topics.create(name, oneSegment, signal);
  const texts = Array.from({ length: count }, (_, index) => `${index} ${'ä'.repeat(index % 500)}`);
  for (let at = 0; at < count; at += REQUEST) await broker.publisher.publish(topic, publishOf(texts.slice(at, at + REQUEST)), signal);
  await broker.settled();
  return { topic: topic.id, texts };
}

const table = () => createLeanTable({ ...address, clock });
const through = async (topic: TopicId): Promise<number> =>
  (await readArchive({ table: table() }, { topic, segment: SEGMENT }, signal)).through;

/** What is in the files of the segment's written records, and which files there are besides. */
async function archived(name: string, topic: TopicId): Promise<{ readonly texts: string[]; readonly strays: string[] }> {
  const { records } = await readFileRecords({ table: table() }, { topic, segment: SEGMENT }, 0, signal);
  const keyOf = ({ date, first, last }: FileRecord): string => archivedFileKey(name, { topic, segment: SEGMENT, date, first, last });
  const texts: string[] = [];
  for (const record of records) {
    expect([record.state, record.first]).toEqual(['written', texts.length]);
    const rows = await readAll(await objects.getRange(keyOf(record), 0, 100_000_000, signal));
    texts.push(...rows.map(({ value }) => Buffer.from(value ?? '').toString()));
  }
  const keys = (await objects.list(archivedFilesPrefix(name, topic), { limit: 1_000 }, signal)).objects.map(({ key }) => key);
  return { texts, strays: keys.filter((key) => !records.map(keyOf).includes(key)) };
}

/** An archiver in this process, whose clock is so far ahead that it leaves nothing to others. */
function archiver(aheadMs: number) {
  const ahead = { ...clock, nowMs: () => clock.nowMs() + aheadMs };
  const parts = { clock: ahead, random: createSystemRandom(), telemetry: createRecordingTelemetry(), table: table(), store: objects };
  return assembleArchiver({ fileAgeMs: 0, fileBytesMax: FILE_BYTES_MIN, garbageAgeMs: 0 }, parts);
}

async function served(environment: Readonly<Record<string, string>>, use: (broker: Served) => Promise<void>): Promise<void> {
  const broker = await runServe({ store: { ...store, endpoint: proxy.url }, table: address, environment: { ...SOON, ...environment } });
  try {
    await use(broker);
  } finally {
    broker.signal('SIGKILL');
    await broker.exited;
  }
}

describe('a broker', () => {
  test(
    'archives by itself while it serves, and ends when it is told to',
    () =>
      served({}, async (broker) => {
        const { topic, texts } = await fill('own', 200);
        await expect.poll(() => through(topic), POLL).toBe(200);
        expect(await archived('own', topic)).toEqual({ texts, strays: [] });
        const answer = await callerOf(broker)('GET', `/v1/topics/own/segments/${SEGMENT}/messages?offset=0&limit=1000`);
        const { messages } = (await answer.json()) as { messages: { bytes: string }[] };
        expect(messages.map(({ bytes }) => Buffer.from(bytes, 'base64').toString())).toEqual(texts);
        const metrics = await fetch(`${broker.url}/metrics`, { headers: { authorization: `Bearer ${ROOT_TOKEN}` } });
        expect(await metrics.text()).toMatch(/^kelp_archive_rows_total 200$/m);
        broker.signal('SIGTERM');
        const { code, errors } = await broker.exited;
        expect(code).toBe(0);
        expect(errors).toMatch(/"message":"archived","archived":\d/);
        // A machine that is busy is told of by other parts.
        expect(errors).not.toMatch(/"level":"(warn|error)","message":"[^"]*archiv/);
      }),
    TEST_MS,
  );

  test.each([
    ['its file is there, and nothing says so', 'hold-answer'],
    ['its file is on its way', 'hold'],
  ] as const)(
    'is killed when %s: messages are once in files, and nothing is left over (J-39 c)',
    async (_, kind) => {
      const name = `killed-${kind}`;
      const { topic, texts } = await fill(name, 1_000);
      const held = proxy.plant({ matches: isFilePut, fault: { kind } });
      await served({ KELP_ARCHIVE_BYTES: String(FILE_BYTES_MIN) }, () => held.struck);
      held.end();
      expect(await through(topic)).toBe(0);
      expect(await archiver(2 * PLANNED_BY_OTHERS_MS).archive({ until: signal }, signal)).toMatchObject({ held: 0, failed: 0 });
      expect(await through(topic)).toBe(1_000);
      expect(await archived(name, topic)).toEqual({ texts, strays: [] });
    },
    TEST_MS,
  );
});

test(
  'archivers at once, of which each takes the others’ work for abandoned, write each message once',
  async () => {
    const { topic, texts } = await fill('crowd', 1_000);
    const runs = [0, 2, 4].map((times) => archiver(times * PLANNED_BY_OTHERS_MS).archive({ until: signal }, signal));
    for (const run of await Promise.all(runs)) expect(run).toMatchObject({ held: 0, failed: 0 });
    expect(await through(topic)).toBe(1_000);
    expect(await archived('crowd', topic)).toEqual({ texts, strays: [] });
  },
  TEST_MS,
);
