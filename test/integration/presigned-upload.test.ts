import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSdkStore } from '../../src/adapters/s3/sdk-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { freshTable, sharedStack } from '../stack.ts';
import { startChangingProxy, stripped, type ChangingProxy } from './changing-proxy.ts';
import { type RawAnswer, type RawRequest, sendRaw } from './raw-request.ts';
import { callerOf, runServe, type Served, type ServeOptions } from './run-serve.ts';

// What a client uploads goes past the broker: a process that signs, a real SeaweedFS that holds everybody to it, one of them behind
// a proxy with a path. (SeaweedFS before 4.17, where several creates won, is refused at the start: start-errors.test.ts.)

const TEST_MS = 60_000;
const { signal } = new AbortController();
const HOUR_MS = 3_600_000;
const MIB = 1_048_576;
const TEXT = 'text/plain; charset=utf-8';

type Upload = RawRequest & { readonly upload: string };

let brokers: { readonly direct: Served; readonly proxied: Served };
let stores: Pick<ServeOptions, 'store' | 'table'>;
let proxy: ChangingProxy;
let store: ObjectStore;
const topic = `t${randomBytes(8).toString('hex')}`;
let topicId: string;

beforeAll(async () => {
  const { store: address } = sharedStack();
  store = createLeanStore({ ...address, clock: createSystemClock() });
  proxy = await startChangingProxy(new URL(address.endpoint), stripped({ 'x-forwarded-prefix': '/s3' }));
  stores = { store: address, table: await freshTable('dynoxide', AbortSignal.timeout(TEST_MS)) };
  const environment = { KELP_S3_PUBLIC_ENDPOINT: `http://127.0.0.1:${proxy.port}/s3/` };
  const [direct, proxied] = await Promise.all([runServe(stores), runServe({ ...stores, environment })]);
  brokers = { direct, proxied };
  const made = await callerOf(direct)('PUT', `/v1/topics/${topic}`, { partitionKey: 'key' });
  topicId = ((await made.json()) as { id: string }).id;
}, TEST_MS);
afterAll(async () => {
  for (const broker of Object.values(brokers)) {
    broker.signal('SIGTERM');
    await broker.exited;
  }
  await proxy.stop();
});

type Answered = { readonly status: number; readonly json: any };
async function call(method: string, path: string, body?: unknown, broker = brokers.direct): Promise<Answered> {
  const answer = await callerOf(broker)(method, `/v1/topics/${topic}${path}`, body);
  return { status: answer.status, json: await answer.json() };
}

const contentOf = (body: string, contentType = TEXT) => ({
  bytes: Buffer.byteLength(body),
  sha256: createHash('sha256').update(body).digest('hex'),
  contentType,
});

async function announce(content: object, broker?: Served): Promise<Upload> {
  const { status, json } = await call('POST', '/uploads', content, broker);
  expect(status).toBe(201);
  return json as Upload;
}

const statusOf = async (answering: Promise<RawAnswer>): Promise<string> => {
  const { status, code } = await answering;
  return `${status} ${code}`.trim();
};
/** As a client that counts by itself what it sends. */
const put = (upload: Upload, body: string, headers: Record<string, string> = {}): Promise<string> =>
  statusOf(sendRaw({ ...upload, headers: { ...upload.headers, 'content-length': String(Buffer.byteLength(body)), ...headers } }, body));
const submit = (upload: Upload, broker?: Served): Promise<Answered> =>
  call('POST', '/messages', { messages: [{ key: 'a', upload: upload.upload }] }, broker);
const objectOf = (upload: Upload): string => `uploads/${topicId}/${upload.upload}`;

describe('J-40 a presigned upload', () => {
  test.for(['direct', 'proxied'] as const)('is sent with what was returned, and submitted: %s', async (which) => {
    const broker = brokers[which];
    const upload = await announce(contentOf('hello'), broker);
    expect(upload).toMatchObject({
      method: 'PUT',
      headers: {
        'content-length': '5',
        'content-type': TEXT,
        'if-none-match': '*',
        'x-amz-checksum-sha256': 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=',
      },
    });
    expect(decodeURIComponent(upload.url)).not.toMatch(/AAAAAA==|crc32/i);
    expect(upload.url.startsWith(`http://127.0.0.1:${proxy.port}/s3/`)).toBe(which === 'proxied');
    expect(await statusOf(sendRaw(upload, 'hello'))).toBe('200');
    expect(await submit(upload, broker)).toMatchObject({ status: 200, json: { results: [{ offset: expect.any(Number) as number }] } });
    const { reference } = (await call('GET', `/uploads/${upload.upload}`, undefined, broker)).json;
    expect((await sendRaw({ method: 'GET', url: reference.url, headers: {} })).body.toString()).toBe('hello');
  });

  test.for(['direct', 'proxied'] as const)('of anything else is refused, and nothing is there: %s', async (which) => {
    const upload = await announce(contentOf('hello'), brokers[which]);
    expect(await put(upload, 'hellO')).toBe('400 BadDigest');
    expect(await put(upload, 'hello!')).toBe('403 SignatureDoesNotMatch');
    expect(await put(upload, 'hello', { 'content-type': 'text/html' })).toBe('403 SignatureDoesNotMatch');
    expect(await store.head(objectOf(upload), signal)).toBeUndefined();
    expect(await submit(upload, brokers[which])).toMatchObject({ status: 409, json: { code: 'upload-missing' } });
    expect(await put(upload, 'hello')).toBe('200');
  });

  test('whose readers would be told to unpack it is not submitted', async () => {
    const upload = await announce(contentOf('hello'));
    // Not signed: the store keeps it, and hands it out with the object.
    expect(await put(upload, 'hello', { 'content-encoding': 'gzip' })).toBe('200');
    expect(await store.head(objectOf(upload), signal)).toEqual({ bytes: 5, sha256: undefined });
    expect(await createSdkStore(sharedStack().store).head(objectOf(upload), signal)).toEqual({ bytes: 5, sha256: undefined });
    expect(await submit(upload)).toMatchObject({ status: 409, json: { code: 'upload-differs', upload: upload.upload } });
  });

  test('of bytes without a length is refused', async () => {
    const { method, url, headers } = await announce(contentOf('hello'));
    const { 'content-length': _length, ...others } = headers;
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest(url, { method, headers: { ...others, 'transfer-encoding': 'chunked' }, agent: false });
      request
        .once('response', (answer) => resolve(answer.resume().statusCode))
        .once('error', reject)
        .end('hello');
    });
    expect([403, 411]).toContain(status);
  });

  test.for([1, -1])('of a broker whose clock is %s h off works, and so does its reference', async (hours) => {
    const dir = mkdtempSync(join(tmpdir(), 'kelp-test-'));
    const clockFile = join(dir, 'clock');
    writeFileSync(clockFile, String(hours * HOUR_MS));
    const imports = [join(import.meta.dirname, 'fleet', 'shift-clock.ts')];
    const broker = await runServe({ ...stores, imports, environment: { KELP_TEST_CLOCK_FILE: clockFile } });
    onTestFinished(async () => {
      broker.signal('SIGKILL');
      await broker.exited;
      rmSync(dir, { recursive: true });
    });
    const upload = await announce(contentOf('hello'), broker);
    expect(await put(upload, 'hello')).toBe('200');
    // Its first look at the store, which says what time it is there.
    expect((await submit(upload, broker)).status).toBe(200);
    const { reference } = (await call('GET', `/uploads/${upload.upload}`, undefined, broker)).json;
    expect(await statusOf(sendRaw({ method: 'GET', url: reference.url, headers: {} }))).toBe('200');
  });

  test('of 20 MiB whose last bit differs is refused, and nothing of it is there', async () => {
    const bytes = randomBytes(20 * MIB);
    const upload = await announce({ bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
    const other = Buffer.from(bytes);
    other.writeUInt8(other.readUInt8(other.length - 1) ^ 1, other.length - 1);
    expect(await statusOf(sendRaw(upload, other))).toBe('400 BadDigest');
    expect(await store.head(objectOf(upload), signal)).toBeUndefined();
    expect(await statusOf(sendRaw(upload, bytes))).toBe('200');
    expect((await submit(upload)).status).toBe(200);
  });

  test('that is cut off leaves nothing, and is sent again', async () => {
    const bytes = randomBytes(MIB);
    const upload = await announce({ bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
    const cut = httpRequest(upload.url, { method: upload.method, headers: upload.headers, agent: false });
    const closed = new Promise((resolve) => cut.once('error', resolve).once('close', resolve));
    cut.write(bytes.subarray(0, MIB / 2), () => cut.destroy());
    await closed;
    expect(await store.head(objectOf(upload), signal)).toBeUndefined();
    expect(await statusOf(sendRaw(upload, bytes))).toBe('200');
    expect(await store.head(objectOf(upload), signal)).toMatchObject({ bytes: MIB });
  });

  test('is there once: again after success, and of three at once', async () => {
    const upload = await announce(contentOf('hello'));
    expect(await put(upload, 'hello')).toBe('200');
    expect(await put(upload, 'hello')).toBe('412 PreconditionFailed');
    const contended = await announce(contentOf('hello'));
    const statuses = await Promise.all([1, 2, 3].map(() => put(contended, 'hello')));
    expect(statuses.toSorted()).toEqual(['200', '412 PreconditionFailed', '412 PreconditionFailed']);
  });

  test('of nothing works', async () => {
    const upload = await announce({ bytes: 0, sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' });
    expect(upload.headers).toMatchObject({ 'content-length': '0', 'content-type': 'application/octet-stream' });
    expect(await put(upload, 'x')).toBe('403 SignatureDoesNotMatch');
    expect(await statusOf(sendRaw(upload))).toBe('200');
    expect((await submit(upload)).status).toBe(200);
  });

  test.for([
    ['a line break', 'text/plain\r\nx-amz-acl: public-read'],
    ['a line feed', 'text/plain\n'],
    ['letters of other alphabets', 'text/plain; name=\u00fcber'],
    ['300 characters', `text/plain; name=${'x'.repeat(283)}`],
    ['no subtype', 'text'],
    ['nothing', ''],
  ])('with a type of %s is not announced', async ([, contentType]) => {
    expect(await call('POST', '/uploads', contentOf('hello', contentType))).toMatchObject({
      status: 400,
      json: { code: 'invalid-content-type', field: 'contentType' },
    });
  });

  test.for([`text/plain; name="a b;c='d'+%20~*"`, `text/plain; name=${'x'.repeat(238)}`])(
    'with a type of odd signs works: %s',
    async (contentType) => {
      const upload = await announce(contentOf('hello', contentType));
      expect(await statusOf(sendRaw(upload, 'hello'))).toBe('200');
      expect((await submit(upload)).status).toBe(200);
    },
  );
});

describe('attacks on uploads', () => {
  test('A9 a URL that is used again after submitting changes nothing', async () => {
    const upload = await announce(contentOf('hello'));
    await put(upload, 'hello');
    expect((await submit(upload)).status).toBe(200);
    expect(await put(upload, 'hello')).toBe('412 PreconditionFailed');
    expect(['400 BadDigest', '412 PreconditionFailed']).toContain(await put(upload, 'other'));
    expect(Buffer.from(await store.getRange(objectOf(upload), 0, 10, signal)).toString()).toBe('hello');
    expect(await submit(upload)).toMatchObject({ status: 409, json: { code: 'upload-submitted' } });
  });

  test('A10 what is larger than declared is refused by the store, and what got there some other way by the broker', async () => {
    const upload = await announce(contentOf('hello'));
    const large = 'hello'.repeat(1_000_000);
    expect(await put(upload, large)).toBe('403 SignatureDoesNotMatch');
    // A length that is a lie ends the body: what comes behind it is no part of the object.
    expect(await statusOf(sendRaw(upload, 'hello and more'))).toBe('200');
    expect(await store.head(objectOf(upload), signal)).toEqual({ bytes: 5, sha256: contentOf('hello').sha256 });
    for (const body of ['hello!', 'hellO']) {
      const other = await announce(contentOf('hello'));
      await store.put(objectOf(other), [Buffer.from(body)], signal);
      expect(await submit(other)).toMatchObject({ status: 409, json: { code: 'upload-differs' } });
    }
  });

  test.for(['text/html; charset=utf-8', 'image/svg+xml', 'application/xhtml+xml'])(
    'A11 %s comes back as an attachment of no type',
    async (contentType) => {
      const body = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
      const upload = await announce(contentOf(body, contentType));
      expect(await put(upload, body)).toBe('200');
      expect((await submit(upload)).status).toBe(200);
      const { url } = (await call('GET', `/uploads/${upload.upload}`)).json.reference;
      const answer = await sendRaw({ method: 'GET', url, headers: {} });
      expect(answer).toMatchObject({
        status: 200,
        headers: { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' },
      });
      expect(answer.body.toString()).toBe(body);
      for (const part of ['response-content-type', 'response-content-disposition']) {
        const changed = new URL(url);
        changed.searchParams.set(part, 'text/html');
        expect(await statusOf(sendRaw({ method: 'GET', url: changed.href, headers: {} }))).toBe('403 SignatureDoesNotMatch');
      }
    },
  );
});
