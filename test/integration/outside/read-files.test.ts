import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createChildren } from '../../../infra/local/processes.ts';
import { CACHE_DIR, findDataReaders } from '../../../infra/local/tools.ts';
import { createLeanStore } from '../../../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { archivedFileKey, archivedFilesPrefix, parseArchivedFileKey } from '../../../src/format/object-key.ts';
import { type ArchivedMessage, dateOf } from '../../../src/model/archived-file.ts';
import { segmentId, type SegmentId, type TopicId } from '../../../src/model/ids.ts';
import { TIMESTAMP_MS_MAX } from '../../../src/model/limits.ts';
import type { Header, Message } from '../../../src/model/message.ts';
import { archived, fileOf, jsonMessage, SOME_TIME_MS, write } from '../../archive/some-file.ts';
import { freshPrefix, sharedStack } from '../../stack.ts';
import { TIMES_MS } from './berlin-times.ts';

const SCRIPT = join(import.meta.dirname, 'read-files.py');
/** The readers are fetched on first use, and a machine that is busy takes its time for each. */
const SETUP_MS = 600_000;
const READ_MS = 120_000;
const run = promisify(execFile);

type Stored = { readonly segment: SegmentId; readonly message: ArchivedMessage };
type Found = {
  readonly columns: string[];
  readonly dateType: string;
  /** Of midnight in UTC, by the reader's clock. */
  readonly hour: number;
  readonly byDate: Record<string, number>;
  readonly bySegment: Record<string, number>;
  readonly byHour: Record<string, number>;
  readonly onDate: number;
  readonly offsets: number[];
  readonly times: number[];
  readonly withKey: number;
  readonly tombstones: number;
  readonly rows: unknown[];
};

const name = `${freshPrefix()}.flights_us-east`;
const topic = 'tabcdefghijklmno' as TopicId;
const KEY = 'flight-7';
const hex = (bytes: Uint8Array | null): string | null => (bytes === null ? null : Buffer.from(bytes).toString('hex'));
const text = (value: string): Buffer => Buffer.from(value);
const stored: Stored[] = [];
const dir = mkdtempSync(join(tmpdir(), 'kelp-outside-'));
let modules: string;

const headers: Header[] = [
  { name: 'größe', value: text('1') },
  { name: 'a', value: null },
  { name: 'a', value: text('') },
  { name: 'A', value: Buffer.from([0, 255]) },
];

/** Any bytes, no value, an empty one, headers of all kinds, and all times. */
const unusual: Message[] = TIMES_MS.flatMap((timestampMs, at) => [
  { key: text(KEY), value: text(`{"at":${at}}`), headers, timestampMs },
  { key: Buffer.from([at, 0, 128, 255]), value: null, headers: [], timestampMs },
  { key: text(''), value: text(''), headers: headers.slice(0, at % 4), timestampMs },
]);

/** No value and no header at all: pages without a byte. */
const tombstones: Message[] = [0, 1].map((timestampMs) => ({ key: text('gone'), value: null, headers: [], timestampMs }));

beforeAll(async () => {
  const signal = AbortSignal.timeout(SETUP_MS);
  vi.stubEnv('TZ', 'Europe/Berlin');
  modules = await findDataReaders({ cacheDir: CACHE_DIR, children: createChildren(dir), say: console.error, signal });
  const { store: address } = sharedStack();
  const store = createLeanStore({ ...address, clock: createSystemClock() });
  const put = async (topicName: string, messages: readonly ArchivedMessage[], segment: SegmentId): Promise<void> => {
    const file = { ...fileOf(messages, segment), topic };
    await store.put(archivedFileKey(topicName, file), [await write(messages, 1_000, file)], signal);
    if (topicName === name) stored.push(...messages.map((message) => ({ segment, message })));
  };
  // Around the hour that is there twice in Berlin: 23:59:59.999 in UTC is the next day there already.
  const [evening, midnight, noon] = [
    Date.parse('2026-10-24T23:59:59.999Z'),
    Date.parse('2026-10-25T00:00Z'),
    Date.parse('2026-10-25T12:00Z'),
  ];
  await put(name, archived(unusual, 0, evening), segmentId(0));
  await put(name, archived(unusual, unusual.length, midnight), segmentId(0));
  await put(name, archived(many(40_000), 0, noon), segmentId(1));
  await put(name, archived(unusual, 2 ** 33, noon), segmentId(36));
  await put(name, archived(tombstones, 5, noon), segmentId(37));
  // Not to be found: another topic, whose name goes on where this one's ends.
  await put(`${name}.old`, archived(unusual, 0, noon), segmentId(0));
}, SETUP_MS);

afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

const many = (length: number): Message[] => Array.from({ length }, (_, number) => jsonMessage(number, 10));

/** What each reader has found, once for all tests. */
const reads = new Map<string, Promise<Found>>();
const readBy = (reader: string): Promise<Found> => {
  const known = reads.get(reader) ?? read(reader);
  reads.set(reader, known);
  return known;
};

async function read(reader: string): Promise<Found> {
  const { endpoint, bucket, region, accessKey, secretKey } = sharedStack().store;
  const folder = archivedFilesPrefix(name, topic).replace(/\/$/, '');
  const where = { endpoint, bucket, region, accessKey, secretKey, folder, key: KEY, date: '2026-10-25' };
  // A machine in Berlin, with a home of nobody's: DuckDB would look there for extensions.
  const env = { ...process.env, PYTHONPATH: modules, PYTHONDONTWRITEBYTECODE: '1', TZ: 'Europe/Berlin', HOME: dir };
  const args = [SCRIPT, reader, JSON.stringify(where)];
  const { stdout } = await run(process.env['PYTHON'] ?? 'python3', args, { env, timeout: READ_MS, maxBuffer: 64 * 1_048_576 });
  return JSON.parse(stdout) as Found;
}

function count(keys: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}

const rowOf = ({ segment, message }: Stored): unknown[] => [
  message.offset,
  message.partition,
  hex(message.key),
  hex(message.value),
  message.headers.map((header) => [header.name, hex(header.value)]),
  message.timestampMs,
  message.committedMs,
  dateOf(message.committedMs),
  segment,
];

describe.each([
  ['duckdb', 'DATE'],
  ['pyarrow', 'date32[day]'],
  ['polars', 'Date'],
])('J-34 archived files by %s', (reader, dateType) => {
  let found: Found;
  beforeAll(async () => {
    found = await readBy(reader);
  }, READ_MS);

  test('are as many by date, segment and hour as were written, whatever the time zone', () => {
    const offsets = stored.map(({ message }) => message.offset);
    const times = stored.map(({ message }) => message.timestampMs);
    expect(found).toMatchObject({
      dateType,
      byDate: { '2026-10-24': unusual.length, '2026-10-25': 2 * unusual.length + 40_002 },
      onDate: 2 * unusual.length + 40_002,
      bySegment: count(stored.map(({ segment }) => segment)),
      byHour: count(times.map((timeMs) => String(new Date(timeMs).getUTCHours()))),
      offsets: [0, Math.max(...offsets), offsets.reduce((sum, offset) => sum + offset, 0)],
      times: [0, TIMESTAMP_MS_MAX],
      withKey: stored.filter(({ message }) => hex(message.key) === hex(text(KEY))).length,
      tombstones: stored.filter(({ message }) => message.value === null).length,
    });
    // It did take effect, here and there.
    expect([new Date(0).getHours(), found.hour]).toEqual([1, 1]);
  });

  test('have these columns and no others', () => {
    const ours = ['offset', 'partition', 'key', 'value', 'headers', 'timestamp', 'committed', 'date', 'segment'];
    expect(found.columns).toEqual(ours.map((column) => `kelp_${column}`));
  });

  test('give back every message, byte for byte', () => {
    expect(found.rows.length).toBe(stored.length);
    const different = stored.map(rowOf).filter((row, at) => JSON.stringify(row) !== JSON.stringify(found.rows[at]));
    expect(different).toEqual([]);
  });
});

test(
  'pyarrow finds the bounds of each row group in its footer',
  async () => {
    const { rowGroups } = (await readBy('pyarrow')) as Found & { readonly rowGroups: number[][][] };
    const half = unusual.length;
    const of = (timeMs: number): number => SOME_TIME_MS + timeMs;
    expect(rowGroups).toEqual([
      [[half, 0, half - 1, 0, TIMESTAMP_MS_MAX]],
      [[half, half, 2 * half - 1, 0, TIMESTAMP_MS_MAX]],
      [
        [32_768, 0, 32_767, of(0), of(32_767)],
        [7_232, 32_768, 39_999, of(32_768), of(39_999)],
      ],
      [[half, 2 ** 33, 2 ** 33 + half - 1, 0, TIMESTAMP_MS_MAX]],
      [[2, 5, 6, 0, 1]],
    ]);
  },
  READ_MS,
);

test('the store lists files in the order of date, segment and offset', async () => {
  const store = createLeanStore({ ...sharedStack().store, clock: createSystemClock() });
  const { objects } = await store.list(archivedFilesPrefix(name, topic), { limit: 100 }, AbortSignal.timeout(READ_MS));
  expect(objects.map(({ key }) => parseArchivedFileKey(key)).map((file) => [file?.date, file?.segment, file?.first])).toEqual([
    ['2026-10-24', segmentId(0), 0],
    ['2026-10-25', segmentId(0), unusual.length],
    ['2026-10-25', segmentId(1), 0],
    ['2026-10-25', segmentId(36), 2 ** 33],
    ['2026-10-25', segmentId(37), 5],
  ]);
});
