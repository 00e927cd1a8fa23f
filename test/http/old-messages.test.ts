import { beforeEach, describe, expect, test } from 'vitest';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { createFileCompression } from '../../src/adapters/system/file-compression.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { createArchiving } from '../../src/broker/create-archiving.ts';
import { WAIT_MARGIN_MS } from '../../src/model/limits.ts';
import type { OldMessages } from '../../src/archive/old-messages.ts';
import { createDeadlineClock } from '../consume/manual-clock.ts';
import { openFile, readAll } from '../archive/some-file.ts';
import { type Log, openLog } from './log.ts';
import { createTestApp, type TestApp } from './test-app.ts';

const forEver = new AbortController().signal;
const TEN_YEARS_MS = 315_360_000_000;

let t: TestApp;
let log: Log;
let path: string;
/** Of URLs that were signed, in milliseconds. */
let lives: number[];
beforeEach(async () => {
  lives = [];
  t = createTestApp({
    change: ({ presigner }) => ({
      presigner: { ...presigner, get: (key, forMs, range) => (lives.push(forMs), presigner.get(key, forMs, range)) },
    }),
  });
  log = await openLog(t);
  path = `/v1/topics/${log.topic}`;
});

/** Texts of messages, one commit each, all with the same key. */
async function publish(...texts: readonly (string | { readonly text: string; readonly timestamp: number })[]): Promise<void> {
  for (const text of texts) {
    const message = typeof text === 'string' ? { key: 'a', text } : { key: 'a', ...text };
    expect((await log.publish({ messages: [message] })).status).toBe(200);
  }
}

/** All that is in no file yet, as one. */
async function archive(): Promise<void> {
  const { archive: run } = createArchiving({
    table: t.table,
    store: t.store,
    telemetry: t.telemetry,
    clock: createSystemClock(),
    random: createSystemRandom(),
    compression: createCompression({ codec: 'none' }),
    fileCompression: createFileCompression(),
    fileBytesMax: 1_000_000,
    fileAgeMs: 0,
  });
  expect(await run({ until: forEver }, forEver)).toMatchObject({ held: 0, failed: 0, complete: true });
}

const truncate = (body: object | string) => t.send('POST', `${path}/truncate`, { body, headers: { 'content-type': 'application/json' } });
const texts = (messages: readonly { readonly text: string }[]): string[] => messages.map(({ text }) => text);
const startAndTail = async (): Promise<readonly number[]> => {
  const { start, tail } = (await t.send('GET', `${path}/segments/${log.segment}`)).json;
  return [start, tail];
};

describe('truncation', () => {
  test.each([false, true])('up to an offset: what lies before is gone, and cursors go on behind it (as files: %s)', async (asFiles) => {
    await publish('a', 'b');
    const first = (await t.send('GET', `${path}/messages?cursor=earliest&limit=1`)).json;
    expect(texts(first.messages)).toEqual(['a']);
    await publish('c', 'd');
    if (asFiles) await archive();
    const answer = await truncate({ segment: log.segment, offset: 3 });
    const segments = [{ segment: log.segment, offset: 3, from: 0, start: 3, tail: 4 }];
    expect([answer.status, answer.json]).toEqual([200, { dryRun: false, complete: true, segments }]);
    expect(await startAndTail()).toEqual([3, 4]);
    // Another instance, which has seen nothing.
    const other = createTestApp({ table: t.table, store: t.store });
    for (const offset of [0, 2]) {
      const read = await other.send('GET', `${path}/segments/${log.segment}/messages?offset=${offset}`);
      expect([read.status, read.json.code, read.json.start]).toEqual([410, 'truncated', 3]);
    }
    for (const query of [
      'segments/s0000000/messages',
      'segments/s0000000/messages?offset=3',
      'messages',
      `messages?cursor=${first.cursor}`,
    ]) {
      const read = await other.send('GET', `${path}/${query}`);
      expect([query, read.status, texts(read.json.messages)]).toEqual([query, 200, ['d']]);
    }
  });

  test('again does no harm, and never goes back', async () => {
    await publish('a', 'b', 'c');
    await truncate({ segment: log.segment, offset: 2 });
    for (const offset of [2, 1, 0]) {
      const { json } = await truncate({ segment: log.segment, offset });
      expect(json.segments).toEqual([{ segment: log.segment, offset, from: 2, start: 2, tail: 3 }]);
    }
    expect((await truncate({ segment: log.segment, offset: 3 })).json.segments).toMatchObject([{ from: 2, start: 3 }]);
    expect(await startAndTail()).toEqual([3, 3]);
    await publish('d');
    expect(texts(await log.messages())).toEqual(['d']);
  });

  test('inside of a file: the file stays, and is read from there on', async () => {
    await publish('a', 'b', 'c');
    await archive();
    await truncate({ segment: log.segment, offset: 1 });
    expect((await t.send('GET', `${path}/files`)).json.files).toMatchObject([{ firstOffset: 0, lastOffset: 2, rows: 3 }]);
    const other = createTestApp({ table: t.table, store: t.store });
    expect(texts((await other.send('GET', `${path}/messages`)).json.messages)).toEqual(['b', 'c']);
  });

  test.each([false, true])(
    'J-37 up to a time: to the first message that has it or a later one, and says where (as files: %s)',
    async (asFiles) => {
      const nowMs = Date.now();
      await publish({ text: 'a', timestamp: 0 }, { text: 'b', timestamp: nowMs - 1 }, { text: 'far', timestamp: nowMs + TEN_YEARS_MS });
      await publish({ text: 'c', timestamp: 0 });
      if (asFiles) await archive();
      const segments = [{ segment: log.segment, offset: 2, from: 0, start: 2, tail: 4 }];
      expect((await truncate({ timestamp: nowMs, dryRun: true })).json).toEqual({ dryRun: true, complete: true, segments });
      expect(await startAndTail()).toEqual([0, 4]);
      expect((await truncate({ timestamp: nowMs })).json).toEqual({ dryRun: false, complete: true, segments });
      expect(await startAndTail()).toEqual([2, 4]);
      expect((await truncate({ timestamp: nowMs + TEN_YEARS_MS + 1, segment: log.segment })).json.segments).toMatchObject([
        { offset: 4, start: 4 },
      ]);
    },
  );

  test('up to a time, of all segments; those of which nothing is left are not listed', async () => {
    log = await openLog(t, { segments: 4 });
    path = `/v1/topics/${log.topic}`;
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
      await log.publish({
        messages: [
          { key, text: key, timestamp: 5 },
          { key, text: key, timestamp: 10 },
        ],
      });
    }
    const before = (await t.send('GET', `${path}/segments`)).json.segments;
    const { json } = await truncate({ timestamp: 10 });
    const used = before.filter(({ tail }: { tail: number }) => tail > 0);
    expect(json.segments.map(({ segment }: { segment: string }) => segment)).toEqual(
      used.map(({ segment }: { segment: string }) => segment),
    );
    expect(json.segments.every(({ start, offset }: { start: number; offset: number }) => start === 1 && offset === 1)).toBe(true);
    expect((await truncate({ timestamp: 11 })).json.segments).toHaveLength(used.length);
    expect((await truncate({ timestamp: 11 })).json).toEqual({ dryRun: false, complete: true, segments: [] });
  });

  test.each([
    ['{"segment":"s0000000","offset":-1}', 'invalid-offset', 'offset'],
    ['{"segment":"s0000000","offset":"1"}', 'invalid-offset', 'offset'],
    ['{"segment":"x","offset":1}', 'invalid-segment', 'segment'],
    ['{"segment":1,"offset":1}', 'invalid-segment', 'segment'],
    ['{"timestamp":1.5}', 'invalid-timestamp', 'timestamp'],
    ['{"timestamp":253402300800000}', 'invalid-timestamp', 'timestamp'],
    ['{"timestamp":1,"dryRun":1}', 'invalid-dry-run', 'dryRun'],
    ['{"timestamp":1,"segment":"s0000000","offset":1}', 'invalid-request', undefined],
    ['{"offset":1}', 'invalid-request', undefined],
    ['{"segment":"s0000000"}', 'invalid-request', undefined],
    ['{}', 'invalid-request', undefined],
    ['{"timestamp":1,"before":1}', 'invalid-request', 'before'],
    ['[]', 'invalid-request', undefined],
    ['{"timestamp":1', 'invalid-json', undefined],
  ])('of %s is refused, and nothing goes', async (body, code, field) => {
    await publish('a', 'b');
    const answer = await truncate(body);
    expect([answer.status, answer.json.code]).toEqual([400, code]);
    if (field !== undefined) expect(answer.json.field).toBe(field);
    expect(await startAndTail()).toEqual([0, 2]);
  });

  test('of what is not there', async () => {
    await publish('a');
    const beyond = await truncate({ segment: log.segment, offset: 2 });
    expect([beyond.status, beyond.json.code, beyond.json.tail]).toEqual([416, 'beyond-tail', 1]);
    expect([(await truncate({ segment: 's00000zz', offset: 0 })).json.code]).toEqual(['segment-not-found']);
    expect((await t.send('POST', '/v1/topics/none/truncate', { body: { timestamp: 1 } })).json.code).toBe('topic-not-found');
    expect((await t.send('POST', `${path}/truncate?dryRun=true`, { body: { timestamp: 1 } })).json.code).toBe('invalid-query');
    const none = await t.send('POST', `${path}/truncate`, { body: 'x', headers: { 'content-type': 'text/plain' } });
    expect(none.status).toBe(415);
    await t.send('DELETE', path);
    await t.send('PUT', path, { body: { partitionKey: 'key' } });
    const former = await truncate({ segment: log.segment, offset: 0 });
    expect([former.status, former.json.code]).toEqual([410, 'topic-replaced']);
  });

  test('ends a moment before its caller’s time, and says how far it got', async () => {
    const clock = createDeadlineClock();
    const beganMs = clock.monotonicMs();
    let endedMs: number | undefined;
    const oldMessages: OldMessages = {
      files: () => Promise.reject(new Error('nobody asks')),
      truncate: (_topic, _wanted, signal) =>
        new Promise((resolve) => {
          const onEnd = (): void => {
            endedMs ??= clock.monotonicMs() - beganMs;
            resolve({ segments: [], complete: false });
          };
          signal.addEventListener('abort', onEnd, { once: true });
        }),
    };
    const stuck = createTestApp({ table: t.table, store: t.store, clock, change: () => ({ oldMessages }) });
    const answer = stuck.send('POST', `${path}/truncate`, { body: { timestamp: 1 }, headers: { 'kelp-timeout-ms': '1000' } });
    await clock.advance(1_000);
    const { status, json } = await answer;
    expect([status, json, endedMs]).toEqual([200, { dryRun: false, complete: false, segments: [] }, 1_000 - WAIT_MARGIN_MS]);
  });
});

describe('files', () => {
  test('are listed page by page, each with a URL that gives it', async () => {
    await publish('a', 'b');
    await archive();
    expect((await t.send('PATCH', path, { body: { schema: { properties: { n: { type: 'integer' } } } } })).status).toBe(200);
    await publish('c');
    await archive();
    await publish('not yet');
    const whole = (await t.send('GET', `${path}/files`)).json;
    expect(whole).toMatchObject({
      files: [
        { segment: log.segment, firstOffset: 0, lastOffset: 1, rows: 2, misfits: 0, method: 'GET', headers: {} },
        { segment: log.segment, firstOffset: 2, lastOffset: 2, rows: 1, misfits: 1, date: new Date().toISOString().slice(0, 10) },
      ],
    });
    expect(whole).not.toHaveProperty('next');
    const leftMs = Date.parse(whole.expiresAt) - Date.now();
    expect([leftMs > 890_000, leftMs <= 900_000, lives]).toEqual([true, true, [900_000, 900_000]]);
    const found: string[] = [];
    for (const file of whole.files) {
      const { status, body } = await t.presigner.send(file, forEver);
      expect([status, body.length]).toEqual([200, file.bytes]);
      for (const { offset, value } of await readAll(body, openFile(body))) found.push(`${offset}:${Buffer.from(value ?? []).toString()}`);
    }
    expect(found).toEqual(['0:a', '1:b', '2:c']);
    const paged: unknown[] = [];
    for (let after = ''; ;) {
      const page = (await t.send('GET', `${path}/files?limit=1${after}`)).json;
      paged.push(...page.files.map(({ firstOffset }: { firstOffset: number }) => firstOffset));
      if (page.next === undefined) break;
      after = `&after=${page.next}`;
    }
    expect(paged).toEqual([0, 2]);
  });

  test('are those of kept messages alone, and of one segment if it is named', async () => {
    for (const text of ['a', 'b', 'c']) {
      await publish(text);
      await archive();
    }
    await truncate({ segment: log.segment, offset: 1 });
    const first = async (query = ''): Promise<number[]> =>
      (await t.send('GET', `${path}/files${query}`)).json.files.map(({ firstOffset }: { firstOffset: number }) => firstOffset);
    expect(await first()).toEqual([1, 2]);
    expect(await first(`?segment=${log.segment}`)).toEqual([1, 2]);
    expect(await first(`?after=${log.segment}:2`)).toEqual([2]);
    expect(await first(`?after=${log.segment}:3`)).toEqual([]);
    expect(await first('?after=s0000001:0')).toEqual([]);
    await truncate({ segment: log.segment, offset: 3 });
    expect(await first()).toEqual([]);
  });

  test.each([
    ['?segment=x', 400, 'invalid-segment'],
    ['?after=s0000000', 400, 'invalid-after'],
    ['?after=s0000000:1:2', 400, 'invalid-after'],
    ['?after=x:1', 400, 'invalid-after'],
    ['?after=s0000000:01', 400, 'invalid-after'],
    ['?limit=0', 400, 'invalid-limit'],
    ['?limit=1001', 400, 'invalid-limit'],
    ['?from=1', 400, 'invalid-query'],
    ['?segment=s00000zz', 404, 'segment-not-found'],
  ])('%s is refused', async (query, status, code) => {
    const answer = await t.send('GET', `${path}/files${query}`);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  test('are none of a topic that is not there, or of a segment of a former life', async () => {
    expect((await t.send('GET', '/v1/topics/none/files')).json.code).toBe('topic-not-found');
    await t.send('DELETE', path);
    await t.send('PUT', path, { body: { partitionKey: 'key' } });
    expect((await t.send('GET', `${path}/files`)).json.files).toEqual([]);
    const former = await t.send('GET', `${path}/files?segment=${log.segment}`);
    expect([former.status, former.json.code]).toEqual([410, 'topic-replaced']);
  });
});
