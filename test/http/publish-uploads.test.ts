import { beforeEach, describe, expect, test } from 'vitest';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { uploadKey } from '../../src/format/item-key.ts';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import { decodeUpload, encodeUpload } from '../../src/format/upload-item.ts';
import type { TopicId, UploadId } from '../../src/model/ids.ts';
import type { Upload } from '../../src/model/upload.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { type Log, openLog, one } from './log.ts';
import { announce, contentOf, uploaded } from './some-upload.ts';
import { createTestApp, type TestApp } from './test-app.ts';

const HELLO = Buffer.from('hello');
const NDJSON = { 'content-type': 'application/x-ndjson' };
const signal = new AbortController().signal;

let t: TestApp;
let log: Log;
beforeEach(async () => {
  t = createTestApp();
  log = await openLog(t);
});

const topicId = async (of = log): Promise<TopicId> => (await t.send('GET', `/v1/topics/${of.topic}`)).json.id;
const message = (upload: string, key = 'a'): object => ({ key, upload });

async function change(id: string, members: Partial<Upload>): Promise<void> {
  const key = uploadKey(await topicId(), id as UploadId);
  const item = await t.table.get(key, signal);
  if (item === undefined) throw new Error(`no upload ${id}`);
  const upload = decodeUpload(item);
  await t.table.put(key, encodeUpload({ ...upload, ...members, version: upload.version + 1 }), [], signal);
}

describe('an upload as the value of a message', () => {
  test('is stored in its place among others, as JSON and as lines', async () => {
    const [a, b, c] = [await uploaded(t, log.topic, HELLO), await uploaded(t, log.topic, HELLO), await uploaded(t, log.topic, HELLO)];
    const sent = await log.publish({
      messages: [message(a), { key: 'a', text: 'x' }, { key: 'b', upload: b, headers: { h: '1' }, timestamp: 7 }],
    });
    expect(sent.json.results.map(({ offset }: { offset: number }) => offset)).toEqual([0, 1, 2]);
    const lines = [message(c), { key: 'a', value: { n: 1 } }].map((line) => JSON.stringify(line)).join('\n');
    expect((await log.publish(lines, NDJSON)).json.results).toHaveLength(2);
    const reference = { ...contentOf(HELLO), url: expect.stringContaining('/uploads/') };
    expect(await log.messages()).toMatchObject([
      { key: 'a', reference: { upload: a, ...reference }, headers: [] },
      { text: 'x' },
      { key: 'b', reference: { upload: b, ...reference }, headers: [['h', '1']], timestamp: 7 },
      { reference: { upload: c, ...reference } },
      { value: { n: 1 } },
    ]);
  });

  test('keeps the trace of its request, and its own', async () => {
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    const id = await uploaded(t, log.topic, HELLO);
    expect((await log.publish(one(message(id)), { traceparent })).status).toBe(200);
    expect(await log.messages()).toMatchObject([{ reference: { upload: id }, headers: [['traceparent', traceparent]] }]);
  });

  test('has its key in a header, where the topic says so; none in what nobody has read', async () => {
    const byHeader = await openLog(t, { partitionKey: { header: 'tenant' } });
    const id = await uploaded(t, byHeader.topic, HELLO);
    expect((await byHeader.publish(one({ upload: id, headers: { tenant: 'acme' } }))).status).toBe(200);
    expect(await byHeader.messages()).toMatchObject([{ key: 'acme', reference: { upload: id } }]);
    const byPointer = await openLog(t, { partitionKey: { pointer: '/id' } });
    const other = await uploaded(t, byPointer.topic, HELLO);
    await byPointer.refuses(byPointer.publish(one({ upload: other })), 400, {
      code: 'invalid-key',
      field: 'messages[0].upload',
      pointer: '/id',
    });
    await byPointer.refuses(byPointer.publish(JSON.stringify({ upload: other }), NDJSON), 400, {
      code: 'invalid-key',
      field: 'upload',
      line: 1,
    });
  });

  test.each([
    'http://169.254.169.254/latest/meta-data/',
    'https://169.254.169.254',
    'file:///etc/passwd',
    'gopher://127.0.0.1:6379/_x',
    'uploads/tabcdefghijklmno/u00hvd5k0123abcd',
    '',
  ])('A8 is never %j, and nobody is asked for it', async (upload) => {
    const calls: string[] = [];
    const table = interceptTable(createMemoryTable(), (call, make) => {
      calls.push(call.name);
      return make();
    });
    t = createTestApp({ table });
    log = await openLog(t);
    calls.length = 0;
    await log.publish(one(message(upload)));
    // But for the topic, should it have been forgotten meanwhile.
    expect(calls.filter((name) => !/ (?:name|topic)$/.test(name))).toEqual([]);
    await log.refuses(log.publish(one(message(upload))), 400, { code: 'invalid-upload', field: 'messages[0].upload' });
    await log.refuses(log.publish(JSON.stringify(message(upload)), NDJSON), 400, { code: 'invalid-upload', field: 'upload', line: 1 });
    await log.refuses(log.publish({ batch: upload, segment: log.segment, batches: [] }), 400, { code: 'invalid-upload', field: 'batch' });
  });

  test('stands in a request once', async () => {
    const id = await uploaded(t, log.topic, HELLO);
    const twice = { messages: [message(id), { key: 'a', text: 'x' }, message(id, 'b')] };
    await log.refuses(log.publish(twice), 400, { code: 'invalid-upload', field: 'messages[2].upload' });
    expect((await log.publish(one(message(id)))).status).toBe(200);
  });

  test('that is wrong is named by its place, and nothing of the request is stored', async () => {
    const good = await uploaded(t, log.topic, HELLO);
    const missing = (await announce(t, log.topic, contentOf(HELLO))).upload;
    const differs = (await announce(t, log.topic, contentOf(HELLO))).upload;
    await t.store.put(uploadObjectKey(await topicId(), differs), [Buffer.from('hallo')], signal);
    const expired = await uploaded(t, log.topic, HELLO);
    await change(expired, { expiresMs: Date.now() });
    const swept = await uploaded(t, log.topic, HELLO);
    await change(swept, { state: 'expired' });
    for (const [id, status, code, retryable] of [
      [missing, 409, 'upload-missing', true],
      [differs, 409, 'upload-differs', false],
      [expired, 410, 'upload-expired', false],
      [swept, 410, 'upload-expired', false],
      ['u00hvd5k0123abcd', 404, 'upload-not-found', false],
    ] as const) {
      const problem = { code, retryable, indefinite: false, upload: id };
      await log.refuses(log.publish({ messages: [message(good), { key: 'a', text: 'x' }, message(id)] }), status, {
        ...problem,
        field: 'messages[2].upload',
      });
      const lines = [message(good), message(id)].map((line) => JSON.stringify(line)).join('\n');
      await log.refuses(log.publish(lines, NDJSON), status, { ...problem, field: 'upload', line: 2 });
      expect((await t.send('GET', `/v1/topics/${log.topic}/uploads/${good}`)).json.state).toBe('staged');
    }
    expect((await log.publish(one(message(good)))).status).toBe(200);
  });

  test('is submitted once: again says where it is, and names the place', async () => {
    const id = await uploaded(t, log.topic, HELLO);
    await log.publish(one({ key: 'a', text: 'x' }));
    expect((await log.publish(one(message(id)))).json.results).toEqual([{ segment: log.segment, offset: 1 }]);
    const again = await log.publish({ messages: [{ key: 'a', text: 'y' }, message(id)] });
    expect(again.json).toMatchObject({
      status: 409,
      code: 'upload-submitted',
      retryable: false,
      field: 'messages[1].upload',
      segment: log.segment,
      offset: 1,
    });
    expect(await log.tail()).toBe(2);
  });

  test('has the same answer under the same Idempotency-Key, though its object were gone', async () => {
    const id = await uploaded(t, log.topic, HELLO);
    const key = { 'idempotency-key': 'k' };
    const body = { messages: [message(id), { key: 'a', text: 'x' }] };
    const first = await log.publish(body, key);
    expect(first.status).toBe(200);
    await t.store.delete(uploadObjectKey(await topicId(), id as UploadId), signal);
    const again = await log.publish(body, key);
    const offsets = (answer: typeof first): number[] => answer.json.results.map(({ offset }: { offset: number }) => offset);
    expect([again.status, offsets(again)]).toEqual([200, offsets(first)]);
    expect((await log.publish({ messages: [...body.messages, { key: 'a', text: 'y' }] }, key)).json.code).toBe('key-reused');
    expect((await log.publish(body, { 'idempotency-key': 'other' })).json.code).toBe('upload-submitted');
    expect(await log.tail()).toBe(2);
  });

  test('goes without a producer', async () => {
    const id = await uploaded(t, log.topic, HELLO);
    const producer = { 'kelp-segment': log.segment, 'kelp-producer-id': 'p', 'kelp-producer-epoch': '0', 'kelp-producer-sequence': '0' };
    await log.refuses(log.publish(one(message(id)), producer), 400, { code: 'invalid-header', field: 'Kelp-Producer-Id' });
    const batch = { batch: id, segment: log.segment, batches: [{ offset: 0, bytes: 70, count: 1, crc: 0, partitions: [1] }] };
    await log.refuses(log.publish(batch, producer), 400, { code: 'invalid-header', field: 'Kelp-Producer-Id' });
  });

  test('can be said by nobody who sends batches, or a header', async () => {
    const body = rawBatch({ records: [{ key: 'a', value: '{}', headers: [['kelp-kind', 'upload']] }] });
    await log.refuses(log.publish(body, { 'content-type': 'application/vnd.kelp.batch' }), 400, {
      code: 'invalid-headers',
      field: 'batches[0].records[0].headers',
    });
    await log.refuses(log.publishRaw('{}', { query: '?key=a', headers: { 'kelp-header-kelp-kind': 'upload' } }), 400, {
      code: 'invalid-headers',
    });
    await log.refuses(log.publish(one({ key: 'a', text: '{}', headers: { 'kelp-kind': 'upload' } })), 400, { code: 'invalid-headers' });
  });
});
