import { beforeEach, describe, expect, test } from 'vitest';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import type { TopicId, UploadId } from '../../src/model/ids.ts';
import { type Log, openLog } from './log.ts';
import { announce, contentOf, fetched, uploaded } from './some-upload.ts';
import { createTestApp, type TestApp } from './test-app.ts';

const HELLO = Buffer.from('hello');
const SHA256 = contentOf(HELLO).sha256;
const NEW = { bytes: 5, sha256: SHA256, contentType: 'text/plain; charset=utf-8' };
const signal = new AbortController().signal;

let t: TestApp;
let log: Log;
let path: string;
beforeEach(async () => {
  t = createTestApp();
  log = await openLog(t);
  path = `/v1/topics/${log.topic}/uploads`;
});

describe('J-40 an upload', () => {
  test('is announced, sent once as announced, and seen', async () => {
    const made = await t.send('POST', path, { body: NEW });
    expect(made.status).toBe(201);
    const { upload, expiresAt, ...request } = made.json;
    expect(upload).toMatch(/^u[0-9a-z]{15}$/);
    expect(request).toMatchObject({
      method: 'PUT',
      headers: { 'content-length': '5', 'content-type': NEW.contentType, 'if-none-match': '*' },
    });
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(86_300_000);
    const put = async (body: string, headers = {}): Promise<number> =>
      (await t.presigner.send({ ...request, headers: { ...request.headers, ...headers }, body: Buffer.from(body) }, signal)).status;
    expect(await put('hellO')).toBe(400);
    expect(await put('hello!')).toBe(403);
    expect(await put('hello', { 'content-type': 'text/html' })).toBe(403);
    const seen = { upload, state: 'staged', ...NEW, expiresAt };
    expect((await t.send('GET', `${path}/${upload}`)).json).toEqual(seen);
    expect(await put('hello')).toBe(200);
    expect(await put('hello')).toBe(412);
    expect((await t.send('GET', `${path}/${upload}`)).json).toEqual(seen);
    expect(t.telemetry.total('kelp.uploads.created')).toBe(1);
  });

  test('may be empty, and of no type', async () => {
    const { sha256 } = contentOf(new Uint8Array(0));
    const { upload, ...request } = await announce(t, log.topic, { bytes: 0, sha256 });
    expect(request.headers['content-type']).toBe('application/octet-stream');
    expect((await t.presigner.send({ ...request, body: new Uint8Array(0) }, signal)).status).toBe(200);
    expect((await t.send('GET', `${path}/${upload}`)).json).toMatchObject({ contentType: 'application/octet-stream', bytes: 0 });
  });

  test.each([
    [{ ...NEW, contentType: 'text/plain\r\nx-amz-acl: public-read' }, 'invalid-content-type', 'contentType'],
    [{ ...NEW, contentType: 'text/pl\u00e4in' }, 'invalid-content-type', 'contentType'],
    [{ ...NEW, contentType: `text/${'a'.repeat(300)}` }, 'invalid-content-type', 'contentType'],
    [{ ...NEW, contentType: 'text/plain;  charset=utf-8' }, 'invalid-content-type', 'contentType'],
    [{ ...NEW, contentType: null }, 'invalid-content-type', 'contentType'],
    [{ ...NEW, contentType: '' }, 'invalid-content-type', 'contentType'],
    [{ ...NEW, bytes: -1 }, 'invalid-bytes', 'bytes'],
    [{ ...NEW, bytes: 5.5 }, 'invalid-bytes', 'bytes'],
    [{ ...NEW, bytes: '5' }, 'invalid-bytes', 'bytes'],
    [{ ...NEW, bytes: null }, 'invalid-bytes', 'bytes'],
    [{ ...NEW, bytes: 5_368_709_121 }, 'invalid-bytes', 'bytes'],
    [{ ...NEW, bytes: undefined }, 'invalid-bytes', 'bytes'],
    [{ ...NEW, sha256: SHA256.toUpperCase() }, 'invalid-sha256', 'sha256'],
    [{ ...NEW, sha256: SHA256.slice(1) }, 'invalid-sha256', 'sha256'],
    [{ ...NEW, sha256: `${SHA256}\n` }, 'invalid-sha256', 'sha256'],
    [{ ...NEW, sha256: 5 }, 'invalid-sha256', 'sha256'],
    [{ ...NEW, sha256: undefined }, 'invalid-sha256', 'sha256'],
    [{ ...NEW, url: 'http://169.254.169.254/' }, 'invalid-request', 'url'],
    [[], 'invalid-request', ''],
    ['{"bytes":5e0}', 'invalid-bytes', 'bytes'],
    ['{"bytes":05}', 'invalid-bytes', 'bytes'],
    ['{"bytes":5,"bytes":5}', 'invalid-json', 'bytes'],
    ['{"bytes":5', 'invalid-json', undefined],
    ['', 'invalid-request', ''],
  ])('announced as %j is refused', async (body, code, field) => {
    const answer = await t.send('POST', path, { body, headers: { 'content-type': 'application/json' } });
    expect([answer.status, answer.json.code, answer.json.field]).toEqual([400, code, field]);
    expect(t.telemetry.total('kelp.uploads.created')).toBe(0);
  });

  test('is announced as JSON, of at most 4 KiB, to a topic that is there', async () => {
    const refused = async (to: string, sending: object): Promise<unknown[]> => {
      const { status, json } = await t.send('POST', to, sending);
      return [status, json.code];
    };
    expect(await refused(path, { body: JSON.stringify(NEW), headers: { 'content-type': 'text/plain' } })).toEqual([
      415,
      'unsupported-type',
    ]);
    const long = JSON.stringify(NEW).padEnd(5_000);
    expect(await refused(path, { body: long, headers: { 'content-type': 'application/json' } })).toEqual([413, 'too-large']);
    expect(await refused('/v1/topics/none/uploads', { body: NEW })).toEqual([404, 'topic-not-found']);
    expect(await refused('/v1/topics/No/uploads', { body: NEW })).toEqual([400, 'invalid-topic']);
    expect(await refused(path, { body: NEW, token: null })).toEqual([401, 'unauthenticated']);
  });

  test('is looked for by its id alone', async () => {
    for (const [id, status, code] of [
      ['u00hvd5k0123abcd', 404, 'upload-not-found'],
      ['o00hvd5k0123abcd', 400, 'invalid-upload'],
      ['U00HVD5K0123ABCD', 400, 'invalid-upload'],
      ['swept', 400, 'invalid-upload'],
      ['http%3A%2F%2F169.254.169.254', 400, 'invalid-upload'],
      ['u00hvd5k0123abcd%00', 400, 'invalid-upload'],
    ] as const) {
      const answer = await t.send('GET', `${path}/${id}`);
      expect([answer.status, answer.json.code, answer.json.field]).toEqual([status, code, 'upload']);
    }
    const id = await uploaded(t, log.topic, HELLO);
    expect((await t.send('GET', `${path}/${id}?x=1`)).json.code).toBe('invalid-query');
    expect((await t.send('GET', `${path}/${id}`, { headers: { accept: 'text/html' } })).status).toBe(406);
    expect((await t.send('HEAD', `${path}/${id}`)).status).toBe(200);
    expect((await t.send('DELETE', `${path}/${id}`)).headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    expect((await t.send('GET', path)).headers.get('allow')).toBe('POST, OPTIONS');
  });

  test('A7 of another topic, or of a former life of this one, is none', async () => {
    const other = await openLog(t);
    const id = await uploaded(t, log.topic, HELLO);
    expect((await t.send('GET', `/v1/topics/${other.topic}/uploads/${id}`)).json).toMatchObject({ code: 'upload-not-found', status: 404 });
    const stolen = await other.publish({ messages: [{ key: 'a', upload: id }] });
    expect(stolen.json).toMatchObject({ status: 404, code: 'upload-not-found', field: 'messages[0].upload', upload: id });
    expect(await other.tail()).toBe(0);

    await t.send('DELETE', `/v1/topics/${log.topic}`);
    await t.send('PUT', `/v1/topics/${log.topic}`, { body: { partitionKey: 'key' } });
    expect((await t.send('GET', `${path}/${id}`)).json).toMatchObject({ code: 'upload-not-found', status: 404 });
    expect((await log.publish({ messages: [{ key: 'a', upload: id }] })).json.code).toBe('upload-not-found');
  });

  test('is seen where it was published, with a URL of its bytes', async () => {
    const id = await uploaded(t, log.topic, HELLO);
    await log.publish({ messages: [{ key: 'a', text: 'x' }] });
    expect((await log.publish({ messages: [{ key: 'a', upload: id }] })).json).toEqual({ results: [{ segment: log.segment, offset: 1 }] });
    const { reference, ...seen } = (await t.send('GET', `${path}/${id}`)).json;
    expect(seen).toMatchObject({ upload: id, state: 'submitted', segment: log.segment, offset: 1, ...contentOf(HELLO) });
    expect(reference).toMatchObject({ upload: id, ...contentOf(HELLO) });
    expect(await fetched(t, reference.url)).toBe('200 hello');
  });

  test('made by a broker that remembers a former life of the topic belongs to the new one', async () => {
    await log.publish({ messages: [{ key: 'a', text: 'remembered' }] });
    const second = createTestApp({ table: t.table, store: t.store, presigner: t.presigner });
    await second.send('DELETE', `/v1/topics/${log.topic}`);
    const { id: topic } = (await second.send('PUT', `/v1/topics/${log.topic}`, { body: { partitionKey: 'key' } })).json;
    const upload = await uploaded(t, log.topic, HELLO);
    expect(await t.store.head(uploadObjectKey(topic as TopicId, upload as UploadId), signal)).toMatchObject({ bytes: 5 });
    // And one of the new life is found by a broker that remembers the old one.
    const third = createTestApp({ table: t.table, store: t.store, presigner: t.presigner });
    await third.send('POST', `/v1/topics/${log.topic}/messages`, { body: { messages: [{ key: 'a', text: 'remembered' }] } });
    await second.send('DELETE', `/v1/topics/${log.topic}`);
    await second.send('PUT', `/v1/topics/${log.topic}`, { body: { partitionKey: 'key' } });
    const newest = await uploaded(second, log.topic, HELLO);
    const published = await third.send('POST', `/v1/topics/${log.topic}/messages`, { body: { messages: [{ key: 'a', upload: newest }] } });
    expect(published.json.results).toHaveLength(1);
  });
});
