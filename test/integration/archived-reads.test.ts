import { beforeAll, describe, expect, test } from 'vitest';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createPresigner } from '../../src/adapters/s3/presigner.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { archivedFilesPrefix } from '../../src/format/object-key.ts';
import { decodeBatch } from '../../src/format/record-batch-decode.ts';
import { splitBatches } from '../../src/format/record-batch-header.ts';
import type { SegmentId, TopicId } from '../../src/model/ids.ts';
import { followReferences, REFERENCES, type StretchReference } from '../clients/follow-references.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { createTestApp, type TestApp } from '../http/test-app.ts';
import { freshTable, sharedStack } from '../stack.ts';
import { createRealArchive, type RealArchive } from './real-archive.ts';

// The whole API over SeaweedFS and a real table: what is read, before messages become files and after.

const TEST_MS = 60_000;
const { signal } = new AbortController();
const compression = createCompression({ codec: 'zstd' });
const address = sharedStack().store;
const objects = createLeanStore({ ...address, clock: createSystemClock() });
const TOPICS = { forms: 'forms', slow: 'slow', damage: 'damage' } as const;

let real: RealArchive;
beforeAll(async () => {
  real = createRealArchive({ store: address, table: await freshTable('dynoxide', AbortSignal.timeout(TEST_MS)) });
}, TEST_MS);

/** An instance that has seen nothing yet. */
const instance = (): TestApp => createTestApp({ ...real, change: ({ clock }) => ({ presigner: createPresigner({ ...address, clock }) }) });

async function make(name: string, segments: number): Promise<{ readonly t: TestApp; readonly id: TopicId; readonly ids: SegmentId[] }> {
  const t = instance();
  const { id } = (await t.send('PUT', `/v1/topics/${name}`, { body: { partitionKey: 'key', segments } })).json;
  const listed = (await t.send('GET', `/v1/topics/${name}/segments`)).json.segments as { segment: SegmentId }[];
  return { t, id, ids: listed.map(({ segment }) => segment) };
}

async function publish(t: TestApp, name: string, messages: readonly object[]): Promise<void> {
  expect((await t.send('POST', `/v1/topics/${name}/messages`, { body: { messages } })).status).toBe(200);
}

/** Messages in every form, in many commits. */
async function fill(t: TestApp, name: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  for (let n = 0; n < 60; n += 1) {
    const key = `k${n % 7}`;
    const exact = `{"messages":[{"key":"${key}","value":{"id":9007199254740993, "z":-0,"n":${n}.50}}]}`;
    expect((await t.send('POST', `/v1/topics/${name}/messages`, { body: exact, headers })).status).toBe(200);
    await publish(t, name, [
      {
        key,
        text: `größe 🚕 ${'x'.repeat(n * 7)}`,
        timestamp: 1_000 * ((n * 7) % 60),
        headers: [
          ['a', ''],
          ['a', 'b'],
          ['B', null],
        ],
      },
      { key: `größe ${n}`, bytes: Buffer.from([0, 0xc3, 0x28, n]).toString('base64') },
      { key: '', tombstone: true, timestamp: 0 },
    ]);
  }
  const batch = rawBatch({ records: Array.from({ length: 5 }, (_, n) => ({ key: 'k6', value: `record ${n}` })) });
  const sent = { body: batch, headers: { 'content-type': 'application/vnd.kelp.batch' } };
  expect((await t.send('POST', `/v1/topics/${name}/messages`, sent)).status).toBe(200);
}

const accept = (type: string) => ({ headers: { accept: type } });

/** What a segment's readers get in every format and by times, but where pages and batches end. */
async function everyForm(t: TestApp, name: string, segment: string): Promise<Record<string, unknown>> {
  const path = `/v1/topics/${name}/segments/${segment}/messages`;
  const pages: unknown[] = [];
  const records: unknown[] = [];
  let tail = 1;
  for (let offset = 0; offset < tail;) {
    const { json } = await t.send('GET', `${path}?offset=${offset}&limit=29&maxBytes=3000`);
    pages.push(...json.messages);
    ({ nextOffset: offset, tail } = json);
  }
  for (let offset = 0; offset < tail;) {
    const answer = await t.send('GET', `${path}?offset=${offset}&maxBytes=20000`, accept('application/vnd.kelp.batch'));
    for (const { bytes } of splitBatches(answer.bytes)) {
      const base = Number(Buffer.from(bytes).readBigInt64BE(0));
      if (base >= offset) records.push(...(await decodeBatch(bytes, base, compression)));
    }
    offset = Number(answer.headers.get('kelp-next-offset'));
  }
  const times = await Promise.all([0, 1, 30_500, 59_000, 2e12].map((at) => t.send('GET', `${path}?timestamp=${at}&limit=1`)));
  const events = await t.events(path, tail);
  return {
    pages,
    records,
    tail,
    lines: (await t.send('GET', `${path}?limit=10000`, accept('application/x-ndjson'))).text,
    events: events.split('\n').filter((line) => line.startsWith('data: ') || line.startsWith('id: ')),
    times: times.map(({ json }) => json.messages.map((one: { offset: number }) => one.offset)),
  };
}

async function byCursor(t: TestApp, name: string): Promise<Map<string, unknown[]>> {
  const read = new Map<string, unknown[]>();
  for (let cursor = 'earliest'; ;) {
    const { json } = await t.send('GET', `/v1/topics/${name}/messages?cursor=${cursor}&limit=50`);
    if (json.messages.length === 0) return read;
    for (const one of json.messages) read.set(one.segment, [...(read.get(one.segment) ?? []), one]);
    ({ cursor } = json);
  }
}

describe('old messages on SeaweedFS', () => {
  test(
    'are the same in every form, by offset, cursor and time, as files, and once nothing else is left of them',
    async () => {
      const { t, id, ids } = await make(TOPICS.forms, 2);
      await fill(t, TOPICS.forms);
      const look = async (app: TestApp) => ({
        forms: await Promise.all(ids.map((segment) => everyForm(app, TOPICS.forms, segment))),
        cursor: await byCursor(app, TOPICS.forms),
      });
      const before = await look(t);
      expect(before.forms.map(({ tail }) => tail)).not.toContain(0);
      await real.archive(4_000);
      expect((await objects.list(archivedFilesPrefix(TOPICS.forms, id), { limit: 100 }, signal)).objects.length).toBeGreaterThan(4);
      for (const app of [t, instance()]) expect(await look(app)).toEqual(before);
      await real.collect(id, ids);
      for (const app of [t, instance()]) expect(await look(app)).toEqual(before);
    },
    TEST_MS,
  );

  test(
    'J-39 (a), (d): no slow read fails while they become files and are collected; references give the same bytes, or 404 and a way on',
    async () => {
      const { t, id, ids } = await make(TOPICS.slow, 1);
      const path = `/v1/topics/${TOPICS.slow}/messages`;
      const texts = Array.from({ length: 48 }, (_, n) => `message ${n}`);
      const send = async ({ method, url, headers }: Pick<StretchReference, 'method' | 'url' | 'headers'>) => {
        const response = await fetch(url, { method, headers });
        return { status: response.status, body: new Uint8Array(await response.arrayBuffer()) };
      };
      const read: string[] = [];
      let cursor = 'earliest';
      for (const [n, text] of texts.entries()) {
        await publish(t, TOPICS.slow, [{ key: 'a', text }]);
        if (n % 3 === 2) {
          const page = (await t.send('GET', `${path}?cursor=${cursor}&limit=1`)).json;
          read.push(...page.messages.map((one: { text: string }) => one.text));
          ({ cursor } = page);
        }
        if (n % 12 !== 11) continue;
        const { references } = (
          await instance().send('GET', `/v1/topics/${TOPICS.slow}/segments/${ids[0]}/messages?offset=${n - 11}`, { headers: REFERENCES })
        ).json;
        await real.archive(1_000_000);
        const followed = await followReferences({ send, compression }, references);
        expect(followed.map(({ value }) => value)).toEqual(texts.slice(n - 11, n + 1));
        await real.collect(id, ids);
        expect(new Set((await Promise.all(references.map(send))).map(({ status }) => status))).toEqual(new Set([404]));
      }
      for (;;) {
        const gone = await instance().send('GET', `${path}?cursor=${cursor}`, { headers: REFERENCES });
        if (gone.status === 200) break;
        expect([gone.status, gone.json.code, gone.json.segment, gone.json.nextOffset]).toEqual([410, 'archived', ids[0], 48]);
        const page = (await t.send('GET', `${path}?cursor=${cursor}&limit=7`)).json;
        read.push(...page.messages.map((one: { text: string }) => one.text));
        ({ cursor } = page);
      }
      expect(read).toEqual(texts);
    },
    TEST_MS,
  );

  test(
    'F18: of a file that is cut, has a flipped bit, or is gone, a read is an error that names it, and never other bytes; repaired, it is read',
    async () => {
      const { t, id, ids } = await make(TOPICS.damage, 1);
      await publish(
        t,
        TOPICS.damage,
        Array.from({ length: 20 }, (_, n) => ({ key: 'a', text: `message ${n}` })),
      );
      await real.archive(1_000_000);
      await real.collect(id, ids);
      const { objects: files } = await objects.list(archivedFilesPrefix(TOPICS.damage, id), { limit: 2 }, signal);
      const key = files[0]?.key ?? '';
      const bytes = Buffer.from(await objects.getRange(key, 0, 1_000_000, signal));
      const path = `/v1/topics/${TOPICS.damage}/segments/${ids[0]}/messages`;
      const flip = (at: number) => bytes.map((byte, index) => (index === at ? byte ^ 4 : byte));
      for (const wrong of [bytes.subarray(0, -9), bytes.subarray(0, 200), Buffer.alloc(0), flip(40), flip(bytes.length - 300), undefined]) {
        await (wrong === undefined ? objects.delete(key, signal) : objects.put(key, [wrong], signal));
        const app = instance();
        const answer = await app.send('GET', `${path}?offset=3`);
        const { status, json } = answer;
        expect([status, json.code, json.object, json.offset, json.nextOffset]).toEqual([500, 'corrupt', key, 3, 20]);
        expect((await app.send('GET', `${path}?offset=20`)).json).toMatchObject({ messages: [], tail: 20 });
        await objects.put(key, [bytes], signal);
        expect((await app.send('GET', `${path}?offset=3`)).json.messages).toHaveLength(17);
      }
    },
    TEST_MS,
  );
});
