import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { encodeBatch } from '../../src/format/record-batch-encode.ts';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import type { TopicId, UploadId } from '../../src/model/ids.ts';
import { partitionOf } from '../../src/model/partition.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { declared } from '../http/some-upload.ts';
import { sharedStack } from '../stack.ts';
import type { Send } from './http-scenario.ts';
import { type Pair, pairOfFunctions, pairOfProcesses } from './pair.ts';

// What is passed by reference goes between a client and SeaweedFS; of brokers that know nothing of each other, and of functions.

const TEST_MS = 120_000;
const { signal } = new AbortController();
const NDJSON = { accept: 'application/x-ndjson' };
const clock = createSystemClock();

const linesOf = (text: string): any[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** Page by page to the end: another instance may have seen less of it so far. */
async function allOf(send: Send, target: string, next: (json: any) => string): Promise<any[]> {
  const messages: any[] = [];
  for (let place = ''; ;) {
    const { json } = await send('GET', `${target}${place}`);
    messages.push(...json.messages);
    if (json.messages.length === 0) return messages;
    place = next(json);
  }
}

async function allLinesOf(send: Send, target: string, next: (headers: Headers) => string): Promise<any[]> {
  const messages: any[] = [];
  for (let place = ''; ;) {
    const { text, headers } = await send('GET', `${target}${place}`, { headers: NDJSON });
    messages.push(...linesOf(text));
    if (text === '') return messages;
    place = next(headers);
  }
}

describe.each([
  ['processes', pairOfProcesses],
  ['functions', pairOfFunctions],
] as const)('uploads by %s', (_kind, start) => {
  let pair: Pair;
  let send: Send;
  let other: Send;
  let store: ObjectStore;
  beforeAll(async () => {
    pair = await start(AbortSignal.timeout(TEST_MS));
    [send, other] = pair.sends;
    store = createLeanStore({ ...sharedStack().store, clock });
  }, TEST_MS);
  afterAll(() => pair.stop());

  async function topicOf(
    partitionKey: unknown = 'key',
  ): Promise<{ readonly path: string; readonly id: TopicId; readonly segment: string }> {
    const path = `/v1/topics/t${randomBytes(8).toString('hex')}`;
    const { id } = (await send('PUT', path, { body: { partitionKey } })).json;
    const { segments } = (await send('GET', `${path}/segments`)).json;
    return { path, id, segment: segments[0].segment };
  }

  /** Announced by one instance, and sent to the store. */
  async function upload(path: string, body: Uint8Array): Promise<string> {
    const sha256 = createHash('sha256').update(body).digest('hex');
    const announced = await send('POST', `${path}/uploads`, { body: { bytes: body.length, sha256, contentType: 'image/png' } });
    const { upload: id, url, method, headers } = announced.json;
    expect((await fetch(url, { method, headers, body: Buffer.from(body) })).status).toBe(200);
    return id as string;
  }

  async function sha256At(url: string): Promise<string> {
    const answer = await fetch(url);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/octet-stream']);
    return createHash('sha256')
      .update(Buffer.from(await answer.arrayBuffer()))
      .digest('hex');
  }

  const eventsOf = (text: string): any[] => [...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data));

  test(
    'what was uploaded is published by its id, by JSON and by lines, and read back in every form',
    async () => {
      const { path, segment } = await topicOf();
      const bodies = [randomBytes(16_777_216), randomBytes(1_000), Buffer.alloc(0), Buffer.from('<svg onload="alert(1)"/>')];
      const hashes = bodies.map((body) => createHash('sha256').update(body).digest('hex'));
      const ids: string[] = [];
      for (const body of bodies) ids.push(await upload(path, body));
      const [large, small, ...rest] = ids.map((id) => ({ key: 'a', upload: id }));
      const byJson = await other('POST', `${path}/messages`, { body: { messages: [large, { key: 'a', text: 'x' }, small] } });
      expect(byJson.json.results.map(({ offset }: { offset: number }) => offset)).toEqual([0, 1, 2]);
      const lines = rest.map((line) => JSON.stringify(line)).join('\n');
      const sent = await send('POST', `${path}/messages`, { body: lines, headers: { 'content-type': 'application/x-ndjson' } });
      expect(sent.json.results).toHaveLength(2);

      const read = `${path}/segments/${segment}/messages`;
      const forms = [
        await allOf(other, `${read}?`, (json) => `offset=${json.nextOffset}`),
        await allLinesOf(send, `${read}?`, (headers) => `offset=${headers.get('kelp-next-offset')}`),
        await allOf(send, `${path}/messages?`, (json) => `cursor=${json.cursor}`),
        await allLinesOf(other, `${path}/messages?`, (headers) => `cursor=${headers.get('kelp-cursor')}`),
      ];
      for (const messages of forms) {
        const references = messages.flatMap(({ reference }: any) => reference ?? []);
        expect(references.map(({ upload: id, sha256 }: any) => [id, sha256])).toEqual(ids.map((id, at) => [id, hashes[at]]));
        expect(await Promise.all(references.map(({ url }: any) => sha256At(url)))).toEqual(hashes);
      }
      const inline = (await other('GET', `${read}?inlineBytes=1000&offset=2`)).json.messages;
      expect(inline.map(({ reference }: any) => reference.content)).toEqual(bodies.slice(1).map((body) => body.toString('base64')));
      const { reference } = (await send('GET', `${path}/uploads/${ids[0]}`)).json;
      expect(await sha256At(reference.url)).toBe(hashes[0]);
    },
    TEST_MS,
  );

  test(
    'a stream of events has references too',
    async () => {
      const { path, segment } = await topicOf();
      const id = await upload(path, Buffer.from('hello'));
      expect((await other('POST', `${path}/messages`, { body: { messages: [{ key: 'a', upload: id }] } })).status).toBe(200);
      for (const target of [`${path}/segments/${segment}/messages`, `${path}/messages`]) {
        const events = eventsOf(await pair.events(target));
        expect(events).toMatchObject([{ reference: { upload: id } }]);
        expect(await sha256At(events[0].reference.url)).toBe(events[0].reference.sha256);
      }
    },
    TEST_MS,
  );

  test(
    'batches that were uploaded are committed as they are, and read in every form',
    async () => {
      const { path, segment } = await topicOf();
      const compression = createCompression({ codec: 'zstd' });
      const values = Array.from({ length: 5 }, (_, batch) =>
        Array.from({ length: 100 * (batch + 1) }, (_each, at) => `batch ${batch} record ${at}`),
      );
      const batches = await Promise.all(
        values.map((texts) =>
          encodeBatch(
            texts.map((text) => ({ key: Buffer.from('a'), value: Buffer.from(text), headers: [], timestampMs: 1_700_000_000_000 })),
            compression,
          ),
        ),
      );
      const body = Buffer.concat(batches);
      const batch = await upload(path, body);
      const request = { batch, segment, batches: declared(batches, partitionOf(Buffer.from('a'))) };
      const headers = { 'idempotency-key': 'once' };
      const submitted = await other('POST', `${path}/messages`, { body: request, headers });
      expect(submitted.json.results.map(({ offset, count }: any) => [offset, count])).toEqual([
        [0, 100],
        [100, 200],
        [300, 300],
        [600, 400],
        [1_000, 500],
      ]);
      const again = await send('POST', `${path}/messages`, { body: request, headers });
      expect(again.json.results.map(({ offset }: any) => offset)).toEqual([0, 100, 300, 600, 1_000]);
      expect((await send('POST', `${path}/messages`, { body: request })).json).toMatchObject({
        code: 'upload-submitted',
        segment,
        offset: 0,
      });

      const read = `${path}/segments/${segment}/messages`;
      const { messages } = (await send('GET', `${read}?limit=10000`)).json;
      expect(messages.map(({ bytes }: any) => Buffer.from(bytes, 'base64').toString())).toEqual(values.flat());
      expect(linesOf((await other('GET', `${read}?offset=1499`, { headers: NDJSON })).text)).toMatchObject([{ offset: 1_499 }]);
      const raw = await send('GET', `${read}?limit=10000`, { headers: { accept: 'application/vnd.kelp.batch' } });
      // But for the offset that a reader sets, which is 0 for the first of them.
      expect(raw.bytes.length).toBe(body.length);
      expect(
        Buffer.from(raw.bytes)
          .subarray(0, batches[0]?.length)
          .equals(batches[0] as Buffer),
      ).toBe(true);
    },
    TEST_MS,
  );

  test(
    'of an object that is removed afterwards a reader is told which one, and goes on behind it',
    async () => {
      const { path, id: topic, segment } = await topicOf();
      const ids = [
        await upload(path, Buffer.from('first')),
        await upload(path, Buffer.from('second')),
        await upload(path, Buffer.from('third')),
      ];
      await send('POST', `${path}/messages`, { body: { messages: ids.map((one) => ({ key: 'a', upload: one })) } });
      const object = uploadObjectKey(topic, ids[1] as UploadId);
      await store.delete(object, signal);
      const read = `${path}/segments/${segment}/messages?inlineBytes=100`;
      expect((await other('GET', read)).json).toMatchObject({ messages: [{ reference: { upload: ids[0] } }], nextOffset: 1 });
      expect((await other('GET', `${read}&offset=1`)).json).toMatchObject({
        status: 500,
        code: 'corrupt',
        segment,
        offset: 1,
        nextOffset: 2,
        object,
      });
      expect((await other('GET', `${read}&offset=2`)).json).toMatchObject({ messages: [{ reference: { upload: ids[2] } }] });
      const { messages } = (await other('GET', `${path}/segments/${segment}/messages`)).json;
      expect((await fetch(messages[1].reference.url)).status).toBe(404);
      // And a batch of which the bytes are gone.
      const record = { key: Buffer.from('a'), value: Buffer.from('x'), headers: [], timestampMs: 0 };
      const batches = [await encodeBatch([record], createCompression({ codec: 'none' }))];
      const batch = await upload(path, batches[0] as Uint8Array);
      const request = { batch, segment, batches: declared(batches, partitionOf(record.key)) };
      expect((await send('POST', `${path}/messages`, { body: request })).json.results).toMatchObject([{ offset: 3 }]);
      const gone = uploadObjectKey(topic, batch as UploadId);
      await store.delete(gone, signal);
      const damage = { status: 500, code: 'corrupt', segment, offset: 3, nextOffset: 4, object: gone };
      expect((await other('GET', `${path}/segments/${segment}/messages?offset=3`)).json).toMatchObject(damage);
    },
    TEST_MS,
  );

  test(
    'of two requests at a time one has it',
    async () => {
      const { path } = await topicOf();
      for (let round = 0; round < 5; round += 1) {
        const id = await upload(path, randomBytes(100));
        const body = { messages: [{ key: 'a', upload: id }] };
        const answers = await Promise.all([send('POST', `${path}/messages`, { body }), other('POST', `${path}/messages`, { body })]);
        const stored = answers.filter(({ status }) => status === 200);
        expect(stored).toHaveLength(1);
        const [lost] = answers.filter(({ status }) => status !== 200);
        expect(['upload-submitted', 'upload-in-use']).toContain(lost?.json.code);
        expect((await send('GET', `${path}/uploads/${id}`)).json).toMatchObject({ state: 'submitted', ...stored[0]?.json.results[0] });
      }
      const { messages } = (await send('GET', `${path}/messages`)).json;
      expect(messages).toHaveLength(5);
    },
    TEST_MS,
  );
});
