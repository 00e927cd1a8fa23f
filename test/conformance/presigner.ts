import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { MemoryPresigner } from '../../src/adapters/memory/memory-presigner.ts';
import type { UploadContent } from '../../src/model/upload.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import type { PresignedRequest, Presigner } from '../../src/ports/presigner.ts';

const { signal } = new AbortController();
const MINUTE_MS = 60_000;

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const sha256Of = (body: Uint8Array): string => createHash('sha256').update(body).digest('hex');
const contentOf = (value: string, contentType = 'text/plain; charset=utf-8'): UploadContent => {
  const body = text(value);
  return { bytes: body.length, sha256: sha256Of(body), contentType };
};
const without = (headers: PresignedRequest['headers'], name: string): PresignedRequest['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name));

export type PresignerUnderTest = {
  readonly store: ObjectStore;
  readonly presigner: Presigner;
  /** The same store's, by a clock that is so far off. */
  readonly presignerOff: (ms: number) => Presigner;
  readonly send: MemoryPresigner['send'];
  /** Under which the suite is alone; without a slash at its end. */
  readonly prefix: string;
};

/** What every implementation of the port must do, sentence by sentence of src/ports/presigner.ts. */
export function describePresigner(name: string, make: () => Promise<PresignerUnderTest>): void {
  describe(`presigner: ${name}`, () => {
    let under: PresignerUnderTest;
    let count = 0;
    beforeAll(async () => {
      under = await make();
    });
    const freshKey = (): string => `${under.prefix}/u${String(count++).padStart(15, '0')}`;
    const sent = async (request: PresignedRequest, body: string, changes: object = {}): Promise<number> =>
      (await under.send({ ...request, ...changes, body: text(body) }, signal)).status;

    describe('a PUT', () => {
      const announced = (value = 'hello', contentType?: string) => {
        const key = freshKey();
        return { key, request: under.presigner.put(key, contentOf(value, contentType), MINUTE_MS) };
      };
      const expectNothing = async (key: string): Promise<void> => expect(await under.store.head(key, signal)).toBeUndefined();

      test.for([
        ['text', 'hello', 'text/plain; charset=utf-8'],
        ['nothing', '', 'application/octet-stream'],
        ['a type with all that a header may have', 'hello', `multipart/mixed; boundary="a  b/c;+=%2F\\"~'()"; x=*`],
      ] as const)('of what was announced is stored, with its hash: %s', async ([, value, contentType]) => {
        const { key, request } = announced(value, contentType);
        expect(await sent(request, value)).toBe(200);
        expect(await under.store.head(key, signal)).toEqual({ bytes: value.length, sha256: sha256Of(text(value)) });
        expect(await under.store.getRange(key, 0, 10, signal)).toEqual(text(value));
      });

      test('names its method and headers, all of which are to be sent', () => {
        const { request } = announced();
        expect(request.method).toBe('PUT');
        expect(request.headers).toEqual({
          'content-length': '5',
          'content-type': 'text/plain; charset=utf-8',
          'if-none-match': '*',
          'x-amz-checksum-sha256': 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=',
        });
        // The checksum of an empty body, which some clients sign by themselves.
        expect(decodeURIComponent(request.url)).not.toMatch(/AAAAAA==|crc32/i);
      });

      test('of other bytes is refused', async () => {
        const { key, request } = announced();
        expect(await sent(request, 'hellO')).toBe(400);
        await expectNothing(key);
      });

      test.for(['hello!', 'hell', ''])('of another length is refused: "%s"', async (body) => {
        const { key, request } = announced();
        expect(await sent(request, body)).toBe(403);
        await expectNothing(key);
      });

      test('of something where nothing was announced is refused', async () => {
        const { key, request } = announced('');
        expect(await sent(request, 'hello')).toBe(403);
        await expectNothing(key);
      });

      test.for(['content-type', 'if-none-match', 'x-amz-checksum-sha256'])(
        'without %s, or with another one, is refused',
        async (header) => {
          const { key, request } = announced();
          expect(await sent(request, 'hello', { headers: without(request.headers, header) })).toBe(403);
          expect(await sent(request, 'hello', { headers: { ...request.headers, [header]: 'text/html' } })).toBe(403);
          await expectNothing(key);
        },
      );

      test.for([
        ['x-amz-acl', 'public-read'],
        ['x-amz-meta-a', 'b'],
        ['x-amz-copy-source', '/kelp/ready'],
        ['x-amz-write-offset-bytes', '0'],
      ] as const)('that asks for more is refused: %s', async ([header, value]) => {
        const { key, request } = announced();
        expect(await sent(request, 'hello', { headers: { ...request.headers, [header]: value } })).toBe(403);
        await expectNothing(key);
      });

      test('under another key is refused', async () => {
        const { key, request } = announced();
        expect(await sent(request, 'hello', { url: request.url.replace(key, `${key}x`) })).toBe(403);
        await expectNothing(`${key}x`);
      });

      test.for(['GET', 'HEAD', 'DELETE'])('is no %s', async (method) => {
        const { key, request } = announced();
        await sent(request, 'hello');
        const { status } = await under.send({ ...request, method }, signal);
        expect(status).toBe(403);
        expect(await under.store.getRange(key, 0, 5, signal)).toEqual(text('hello'));
      });

      test('again is refused, with the same bytes or with others, by the same URL or a new one', async () => {
        const { key, request } = announced();
        expect(await sent(request, 'hello')).toBe(200);
        expect(await sent(request, 'hello')).toBe(412);
        expect([400, 412]).toContain(await sent(request, 'hellO'));
        expect(await sent(under.presigner.put(key, contentOf('other'), MINUTE_MS), 'other')).toBe(412);
        expect(await under.store.getRange(key, 0, 10, signal)).toEqual(text('hello'));
      });

      test('of three at once, one wins', async () => {
        const { request } = announced();
        const statuses = await Promise.all(Array.from({ length: 3 }, () => sent(request, 'hello')));
        expect(statuses.toSorted()).toEqual([200, 412, 412]);
      });

      test('once the object was deleted can be made again', async () => {
        const { key, request } = announced();
        expect(await sent(request, 'hello')).toBe(200);
        await under.store.delete(key, signal);
        expect(await sent(request, 'hello')).toBe(200);
      });

      test('is refused when its time is over', async () => {
        const key = freshKey();
        const late = under.presignerOff(-MINUTE_MS);
        expect(await sent(late.put(key, contentOf('hello'), MINUTE_MS - 1_000), 'hello')).toBe(403);
        await expectNothing(key);
        expect(await sent(late.put(key, contentOf('hello'), 2 * MINUTE_MS), 'hello')).toBe(200);
      });
    });

    describe('a GET', () => {
      const stored = async (value = 'hello', contentType?: string): Promise<string> => {
        const key = freshKey();
        expect(await sent(under.presigner.put(key, contentOf(value, contentType), MINUTE_MS), value)).toBe(200);
        return key;
      };

      test.for(['text/html', 'image/svg+xml'])('gives all bytes, as an attachment of no type, also of %s', async (contentType) => {
        const request = under.presigner.get(await stored('<script>', contentType), MINUTE_MS);
        expect(request).toMatchObject({ method: 'GET', headers: {} });
        const { status, headers, body } = await under.send(request, signal);
        expect([status, headers['content-type'], headers['content-disposition']]).toEqual([200, 'application/octet-stream', 'attachment']);
        expect(body).toEqual(text('<script>'));
      });

      test('of an empty object gives nothing', async () => {
        const { status, body } = await under.send(under.presigner.get(await stored(''), MINUTE_MS), signal);
        expect([status, body.length]).toEqual([200, 0]);
      });

      test('of a key as archived files have it gives its bytes', async () => {
        const key = `${freshKey()}/t.x_1-a/kelp_date=2026-01-31/0000-0001.parquet`;
        await under.store.put(key, [text('hello')], signal);
        const { status, body } = await under.send(under.presigner.get(key, MINUTE_MS), signal);
        expect([status, body]).toEqual([200, text('hello')]);
      });

      test('gives a range, and no other one', async () => {
        const request = under.presigner.get(await stored('0123456789'), MINUTE_MS, { start: 2, bytes: 5 });
        expect(request.headers).toEqual({ range: 'bytes=2-6' });
        const { status, headers, body } = await under.send(request, signal);
        expect([status, headers['content-range'], headers['content-disposition']]).toEqual([206, 'bytes 2-6/10', 'attachment']);
        expect(body).toEqual(text('23456'));
        for (const range of ['bytes=2-7', 'bytes=0-9', 'bytes=-5']) expect(await refused({ ...request, headers: { range } })).toBe(403);
        expect(await refused({ ...request, headers: {} })).toBe(403);
      });
      const refused = async (request: PresignedRequest): Promise<number> => (await under.send(request, signal)).status;

      test('of an object that is not there finds nothing', async () => {
        expect(await refused(under.presigner.get(freshKey(), MINUTE_MS))).toBe(404);
      });

      test('is no PUT and no DELETE', async () => {
        const key = await stored();
        const request = under.presigner.get(key, MINUTE_MS);
        for (const method of ['PUT', 'DELETE']) expect((await under.send({ ...request, method }, signal)).status).toBe(403);
        expect(await under.store.getRange(key, 0, 10, signal)).toEqual(text('hello'));
      });

      test('without any part of its URL is refused', async () => {
        const { url, ...request } = under.presigner.get(await stored(), MINUTE_MS);
        const names = [...new URL(url).searchParams.keys()];
        expect(names.length).toBeGreaterThan(0);
        for (const part of names) {
          const changed = new URL(url);
          changed.searchParams.delete(part);
          const status = await refused({ ...request, url: changed.href });
          expect([part, status >= 400 && status < 500]).toEqual([part, true]);
        }
      });

      test('is refused when its time is over', async () => {
        const key = await stored();
        expect(await refused(under.presignerOff(-MINUTE_MS).get(key, MINUTE_MS - 1_000))).toBe(403);
        expect(await refused(under.presignerOff(-MINUTE_MS).get(key, 2 * MINUTE_MS))).toBe(200);
      });
    });

    test.for(['', '/a', 'a/', 'a//b'])('a key that a directory tree would change is refused: "%s"', (key) => {
      const STORE_REFUSED = { name: 'KelpError', kind: 'invalid', code: 'store-refused' };
      expect(() => under.presigner.put(key, contentOf('x'), MINUTE_MS)).toThrow(expect.objectContaining(STORE_REFUSED));
      expect(() => under.presigner.get(key, MINUTE_MS)).toThrow(expect.objectContaining(STORE_REFUSED));
    });
  });
}
