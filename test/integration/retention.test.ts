import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { archivedFilesPrefix } from '../../src/format/object-key.ts';
import type { TopicId } from '../../src/model/ids.ts';
import { freshTable, sharedStack } from '../stack.ts';
import { callerOf, runServe, type Served } from './run-serve.ts';

// Messages that were kept long enough, of a broker's process on SeaweedFS: by age, and by hand, whether they are in files or not.

const TEST_MS = 60_000;
const POLL = { timeout: 20_000, interval: 200 };
const TEN_YEARS_MS = 315_360_000_000;
const SEGMENT = 's0000000';
const store = createLeanStore({ ...sharedStack().store, clock: createSystemClock() });
const { signal } = new AbortController();

type Json = any;

let broker: Served;
beforeAll(async () => {
  const table = await freshTable('dynoxide', AbortSignal.timeout(TEST_MS));
  const environment = { KELP_ARCHIVE_MS: '1000', KELP_ARCHIVE_AGE_MS: '0', KELP_GARBAGE_AGE_MS: '0' };
  broker = await runServe({ store: sharedStack().store, table, environment });
}, TEST_MS);
afterAll(async () => {
  broker.signal('SIGTERM');
  const { errors } = await broker.exited;
  expect(errors).not.toMatch(/"level":"error"/);
});

async function ask(method: string, path: string, body?: unknown): Promise<Json> {
  const answer = await callerOf(broker)(method, path, body);
  const json = (await answer.json()) as Json;
  if (!answer.ok && ![410].includes(answer.status)) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(json)}`);
  return json;
}
const topicOf = async (name: string, settings: object = {}): Promise<TopicId> =>
  (await ask('PUT', `/v1/topics/${name}`, { partitionKey: 'key', ...settings })).id;
const segmentOf = (name: string): Promise<Json> => ask('GET', `/v1/topics/${name}/segments/${SEGMENT}`);
const filesOf = async (name: string): Promise<Json[]> => (await ask('GET', `/v1/topics/${name}/files`)).files;
const rowsOf = async (name: string): Promise<number> => (await filesOf(name)).reduce((sum, { rows }) => sum + rows, 0);
const keysOf = async (prefix: string): Promise<number> => (await store.list(prefix, { limit: 1_000 }, signal)).objects.length;

/** A thousand, one of them of a time to come, ten without a time to speak of. */
async function thousand(name: string, count = 1_000): Promise<void> {
  const nowMs = Date.now();
  for (let first = 0; first < count; first += 100) {
    const messages = Array.from({ length: 100 }, (_, index) => {
      const number = first + index;
      return { key: 'k', text: `${number}`, timestamp: number === 500 ? nowMs + TEN_YEARS_MS : number % 100 === 7 ? 0 : nowMs };
    });
    await ask('POST', `/v1/topics/${name}/messages`, { messages });
  }
}

describe('J-37 messages that are kept for a time', () => {
  test(
    'go by when they were committed; what reads them is told, or goes on behind them; their files go, too',
    async () => {
      const id = await topicOf('aged', { retention: { maxAgeSeconds: 3_600 } });
      await thousand('aged');
      const { cursor } = await ask('GET', '/v1/topics/aged/messages?cursor=earliest&limit=10');
      await expect.poll(() => rowsOf('aged'), POLL).toBe(1_000);
      const [file] = await filesOf('aged');
      const fetched = await fetch(file.url, { method: file.method, headers: file.headers });
      expect([fetched.status, (await fetched.arrayBuffer()).byteLength]).toEqual([200, file.bytes]);

      expect((await ask('POST', '/v1/sweep')).retention).toMatchObject({ messages: 0, failed: 0, cuts: [] });
      expect(await segmentOf('aged')).toMatchObject({ start: 0, tail: 1_000 });

      await ask('PATCH', '/v1/topics/aged', { retention: { maxAgeSeconds: 1 } });
      // A second after the last commit, which may have been a moment ago.
      const cut = { topic: id, segment: SEGMENT, start: 1_000, messages: 1_000, reason: 'max-age' };
      await expect.poll(async () => (await ask('POST', '/v1/sweep', { dryRun: true })).retention.cuts, POLL).toMatchObject([cut]);
      expect(await segmentOf('aged')).toMatchObject({ start: 0 });
      expect((await ask('POST', '/v1/sweep')).retention).toMatchObject({ messages: 1_000, failed: 0, cuts: [cut] });
      expect(await segmentOf('aged')).toMatchObject({ start: 1_000, tail: 1_000 });

      const below = await ask('GET', `/v1/topics/aged/segments/${SEGMENT}/messages?offset=999`);
      expect([below.code, below.start]).toEqual(['truncated', 1_000]);
      await ask('PATCH', '/v1/topics/aged', { retention: null });
      await ask('POST', '/v1/topics/aged/messages', { messages: [{ key: 'k', text: 'new' }] });
      for (const from of [cursor, 'earliest', 'timestamp:0']) {
        const { messages } = await ask('GET', `/v1/topics/aged/messages?cursor=${from}`);
        expect(messages.map(({ text }: Json) => text)).toEqual(['new']);
      }

      await expect
        .poll(async () => {
          const { garbage } = await ask('POST', '/v1/sweep');
          expect(garbage.failed).toBe(0);
          return fetch(file.url).then(({ status }) => status);
        }, POLL)
        .toBe(404);
      await expect.poll(() => rowsOf('aged'), POLL).toBe(1);
      expect(await keysOf(archivedFilesPrefix('aged', id))).toBe(1);
    },
    TEST_MS,
  );
});

describe('truncation', () => {
  test.each([true, false])(
    'up to a time stops at the first message that has it or a later one, and says where (as files: %s)',
    async (asFiles) => {
      const name = asFiles ? 'cut-files' : 'cut-index';
      const id = await topicOf(name);
      await thousand(name, 600);
      if (asFiles) await expect.poll(() => rowsOf(name), POLL).toBe(600);
      const timestamp = Date.now() + 1_000;
      const segments = [{ segment: SEGMENT, offset: 500, from: 0, start: 500, tail: 600 }];
      expect(await ask('POST', `/v1/topics/${name}/truncate`, { timestamp, dryRun: true })).toEqual({
        dryRun: true,
        complete: true,
        segments,
      });
      await expect
        .poll(async () => (await ask('POST', `/v1/topics/${name}/truncate`, { timestamp })).segments[0], POLL)
        .toMatchObject({ offset: 500, start: 500, tail: 600 });
      const { messages } = await ask('GET', `/v1/topics/${name}/messages`);
      expect(messages.map(({ text }: Json) => text)).toEqual(Array.from({ length: 100 }, (_, index) => `${500 + index}`));
      expect(await ask('POST', `/v1/topics/${name}/truncate`, { segment: SEGMENT, offset: 600 })).toMatchObject({
        segments: [{ from: 500, start: 600 }],
      });
      await expect
        .poll(async () => {
          await ask('POST', '/v1/sweep');
          return keysOf(archivedFilesPrefix(name, id));
        }, POLL)
        .toBe(0);
    },
    TEST_MS,
  );
});
