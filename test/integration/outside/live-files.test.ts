import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dateOf } from '../../../src/model/archived-file.ts';
import { TIMES_MS } from './berlin-times.ts';
import { createFlightLog, DATE, type FlightLog } from './flight-log.ts';
import { type FoundRows, type ReaderName, READERS, type Where } from './live-readers.ts';
import type { LiveTopic } from './live-topic.ts';
import { type LiveWorld, startWorld, STEP_MS, untilArchived } from './live-world.ts';
import { prepareReadme, readmeBlock, runBlock } from './readme-block.ts';

/** The readers are fetched on first use, and a machine that is busy takes its time for each. */
const SETUP_MS = 600_000;

const NAMES_SCHEMA = {
  properties: {
    date: { type: 'string' },
    hour: { type: 'integer' },
    segment: { type: 'string' },
    offset: { type: 'integer' },
    key: { type: 'string' },
    timestamp: { type: 'number' },
    headers: { type: 'boolean' },
  },
};
const NAMES_VALUE = '{"date":"2026-10-25","hour":8,"segment":"1","offset":-9223372036854775808,"key":"k","timestamp":1.5,"headers":true}';
const OTHER_SCHEMA = { properties: { Key: { type: 'integer' } } };

const mark = Math.random().toString(36).slice(2, 10);
let world: LiveWorld;
let log: FlightLog;
let zones: LiveTopic;
let names: LiveTopic;
let others: LiveTopic;

beforeAll(async () => {
  world = await startWorld(AbortSignal.timeout(SETUP_MS));
  log = await createFlightLog(world, `flights-${mark}`);
  zones = await world.make(`zones-${mark}`, { segments: 2 });
  for (const [at, timestampMs] of TIMES_MS.entries())
    await world.publish(`zones-${mark}`, { key: `k${at}`, timestampMs, body: `{"at":${at}}` });
  names = await world.make(`names-${mark}`, { schema: NAMES_SCHEMA });
  await world.publish(`names-${mark}`, { key: 'a', timestampMs: 1, body: NAMES_VALUE });
  others = await world.make(`others-${mark}`);
  await world.publish(`others-${mark}`, { key: 'a', timestampMs: 2, body: '{"Key":1}' });
}, SETUP_MS);

afterAll(() => world?.stop(), STEP_MS);

describe('of messages that become files', { timeout: STEP_MS }, () => {
  test('there is nothing to see before', async () => {
    await log.publish(6_000);
    expect(await log.topic.files()).toEqual({ keys: [], messages: 0 });
  });

  test('only older ones are seen while nobody archives', async () => {
    const archiver = await world.startArchiving();
    await Promise.all([untilArchived(log.topic, 6_000), untilArchived(zones, TIMES_MS.length)]);
    await Promise.all([untilArchived(names, 1), untilArchived(others, 1)]);
    await archiver.stop();
    await log.publish(4_000);
    for (const reader of READERS) {
      const found = await world.reader(reader).flights({ ...(await placeOf(log.topic)), date: DATE });
      expect(await log.check(found), reader).toEqual({ seen: 6_000, rest: 4_000 });
    }
  });

  test('three readers and the API see all together, none twice, at any moment and in the end', async () => {
    expect((await world.call('PATCH', `/v1/topics/others-${mark}`, { schema: OTHER_SCHEMA })).status).toBe(200);
    await world.publish(`others-${mark}`, { key: 'a', timestampMs: 3, body: '{"Key":9223372036854775807}' });
    await world.startArchiving();
    // What a reader sees then is more than before, and not all.
    for (let moments = 0; moments < 2 * READERS.length;) {
      const publishing = log.publish(2_000);
      const place = await placeOf(log.topic);
      const { keys } = await log.topic.files();
      for (const reader of READERS) {
        const found = await world.reader(reader).flights({ ...place, files: keys, date: DATE });
        const { seen, rest } = await log.check(found, publishing);
        if (seen > 6_000 && rest > 0) moments += 1;
      }
      await publishing;
    }
    await Promise.all([untilArchived(log.topic, log.published().length), untilArchived(others, 2)]);
    for (const reader of READERS) {
      const found = await world.reader(reader).flights({ ...(await placeOf(log.topic)), date: DATE });
      expect(await log.check(found), reader).toEqual({ seen: log.published().length, rest: 0 });
    }
  });

  test('the query of the README finds the busiest origin, pasted as it stands there', async () => {
    await prepareReadme(world);
    const output = await runBlock(world, readmeBlock('Old messages are files'));
    const [[origin, flights] = ['', []]] = [...Map.groupBy(log.published(), ({ key }) => key)].toSorted(
      ([, a], [, b]) => b.length - a.length,
    );
    expect(output).toMatch(new RegExp(`│ ${origin} +│ +${flights.length} │`));
  });
});

async function placeOf({ folder, files }: LiveTopic): Promise<Where> {
  return { folder, newest: (await files()).keys.at(-1) ?? expect.unreachable('there are files') };
}

/** Of all three, which agree. */
async function readBy(topic: LiveTopic): Promise<Record<ReaderName, FoundRows>> {
  const place = await placeOf(topic);
  const read = async (name: ReaderName) => world.reader(name).all(place);
  const found = { duckdb: await read('duckdb'), pyarrow: await read('pyarrow'), polars: await read('polars') };
  for (const { rows, columns } of [found.pyarrow, found.polars]) {
    expect(rows).toEqual(found.duckdb.rows);
    expect(Object.keys(columns)).toEqual(Object.keys(found.duckdb.columns));
  }
  return found;
}

const hex = (text: string): string => Buffer.from(text).toString('hex');

test('J-34 messages lie under the date of their commit in UTC, and three readers agree on them', { timeout: STEP_MS }, async () => {
  const { duckdb, pyarrow, polars } = await readBy(zones);
  expect([duckdb, pyarrow, polars].map(({ columns }) => columns['kelp_date'])).toEqual(['DATE', 'date32[day]', 'Date']);
  // It did take effect.
  expect([duckdb, pyarrow, polars].map(({ hour }) => hour)).toEqual([1, 1, 1]);
  const sent = TIMES_MS.map((timestampMs, at) => [hex(`k${at}`), timestampMs]);
  const found = duckdb.rows.map((row) => [row['kelp_key'], row['kelp_timestamp']]);
  expect(found.toSorted()).toEqual(sent.toSorted());
  for (const row of duckdb.rows) {
    const committedMs = row['kelp_committed'] as number;
    expect(row['kelp_date']).toBe(dateOf(committedMs));
    expect(Math.abs(committedMs - Date.now())).toBeLessThan(SETUP_MS);
  }
  expect(new Set(duckdb.rows.map((row) => row['kelp_segment'])).size).toBe(2);
});

describe('J-35 columns of a schema', { timeout: STEP_MS }, () => {
  test('meet no other ones, whatever their properties are called', async () => {
    const { duckdb } = await readBy(names);
    const [row] = duckdb.rows;
    const cells = { date: '2026-10-25', hour: 8, segment: '1', offset: '-9223372036854775808', key: 'k', timestamp: 1.5, headers: true };
    expect(duckdb.rows.length).toBe(1);
    expect(row).toMatchObject(Object.fromEntries(Object.entries(cells).map(([name, cell]) => [`value_${name}`, cell])));
    expect(row).toMatchObject({
      kelp_offset: 0,
      kelp_key: hex('a'),
      kelp_value: hex(NAMES_VALUE),
      kelp_timestamp: 1,
      kelp_segment: 's0000000',
    });
    const own = ['committed', 'date', 'headers', 'key', 'offset', 'partition', 'segment', 'timestamp', 'value'].map(
      (name) => `kelp_${name}`,
    );
    const typed = Object.keys(cells).map((name) => `value_${name}`);
    expect(Object.keys(duckdb.columns)).toEqual([...own, ...typed.toSorted()]);
    const answer = await world.call('GET', `/v1/topics/names-${mark}/segments/s0000000/messages?offset=0`);
    expect(await answer.text()).toContain(`"value":${NAMES_VALUE}`);
  });

  test('are there for messages that came after them, and read together with older files', async () => {
    const { duckdb } = await readBy(others);
    expect(duckdb.rows.map((row) => [row['kelp_timestamp'], row['value_Key']])).toEqual([
      [2, null],
      [3, '9223372036854775807'],
    ]);
  });

  test('that differ by letter case alone are refused, by name', async () => {
    const properties = { key: { type: 'string' }, Key: { type: 'string' } };
    const answer = await world.call('PUT', `/v1/topics/both-${mark}`, { partitionKey: 'key', schema: { properties } });
    expect(await answer.json()).toMatchObject({ status: 400, code: 'invalid-schema', field: 'schema.properties.Key' });
  });
});
