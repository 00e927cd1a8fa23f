import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ObjectPage, ObjectStore } from '../../src/ports/object-store.ts';

const { signal } = new AbortController();
const NOT_FOUND = { name: 'KelpError', kind: 'not-found', code: 'object-not-found' };
const STORE_REFUSED = { name: 'KelpError', kind: 'invalid', code: 'store-refused' };
const MIB = 1_048_576;

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const plain = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);
/** Without vitest's comparison, which looks at each byte of 16 MiB by itself. */
const same = (left: Uint8Array, right: Uint8Array): boolean => Buffer.compare(left, right) === 0;

export type StoreUnderTest = {
  readonly store: ObjectStore;
  /** Under which the suite is alone; without a slash at its end. */
  readonly prefix: string;
};

/** What every implementation of the port must do, sentence by sentence of src/ports/object-store.ts. */
export function describeObjectStore(name: string, make: () => Promise<StoreUnderTest>): void {
  describe(`store: ${name}`, () => {
    let store: ObjectStore;
    let prefix: string;
    let count = 0;
    beforeAll(async () => {
      ({ store, prefix } = await make());
    });
    const freshKey = (): string => `${prefix}/o${String(count++).padStart(8, '0')}`;

    test.for<[string, Uint8Array[]]>([
      ['one part', [text('0123456789')]],
      ['several parts, some of them empty', [text('0123'), text(''), text('456'), text('789'), text('')]],
      ['parts that lie in one buffer', [text('xx0123yy').subarray(2, 6), text('z456789').subarray(1)]],
    ])('what is put is read at once: %s', async ([, parts]) => {
      const key = freshKey();
      await store.put(key, parts, signal);
      expect(await store.getRange(key, 0, 10, signal)).toEqual(text('0123456789'));
    });

    test.for<[string, number, number, string]>([
      ['the beginning', 0, 3, '012'],
      ['one byte', 4, 1, '4'],
      ['up to the end', 7, 3, '789'],
      ['beyond the end', 7, 100, '789'],
      ['all and more', 0, 100, '0123456789'],
      ['from the end', 10, 5, ''],
      ['from behind the end', 1_000, 5, ''],
    ])('a range: %s', async ([, start, length, expected]) => {
      const key = freshKey();
      await store.put(key, [text('0123456789')], signal);
      expect(await store.getRange(key, start, length, signal)).toEqual(text(expected));
    });

    test.for<[string, Uint8Array[]]>([
      ['no part', []],
      ['an empty part', [new Uint8Array(0)]],
      ['empty parts', [new Uint8Array(0), new Uint8Array(0)]],
    ])('an empty object is an object: %s', async ([, parts]) => {
      const key = freshKey();
      await store.put(key, parts, signal);
      expect(await store.getRange(key, 0, 10, signal)).toEqual(new Uint8Array(0));
      expect((await store.list(key, { limit: 10 }, signal)).objects).toEqual([{ key, bytes: 0 }]);
    });

    test('all bytes come back as they were', async () => {
      const key = freshKey();
      const bytes = plain(Uint8Array.from({ length: 1_024 }, (_, index) => index % 256));
      await store.put(key, [bytes], signal);
      expect(await store.getRange(key, 0, 1_024, signal)).toEqual(bytes);
    });

    test('an object of 16 MiB in parts of many sizes', async () => {
      const key = freshKey();
      const bytes = randomBytes(16 * MIB);
      const cuts = [0, 1, 2, 65_536, 65_537, 5 * MIB, 16 * MIB - 1, 16 * MIB];
      await store.put(
        key,
        cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end)),
        signal,
      );
      expect(same(await store.getRange(key, 0, 16 * MIB, signal), bytes)).toBe(true);
      expect(same(await store.getRange(key, 8 * MIB - 1, MIB, signal), bytes.subarray(8 * MIB - 1, 9 * MIB - 1))).toBe(true);
      expect(same(await store.getRange(key, 16 * MIB - 3, MIB, signal), bytes.subarray(16 * MIB - 3))).toBe(true);
    });

    test('the caller may change its buffers once the put is done', async () => {
      const key = freshKey();
      const bytes = text('before');
      await store.put(key, [bytes], signal);
      bytes.fill(0);
      expect(await store.getRange(key, 0, 6, signal)).toEqual(text('before'));
    });

    test('many puts and reads at once don\u2019t mix', async () => {
      const keys = Array.from({ length: 100 }, freshKey);
      await Promise.all(keys.map((key) => store.put(key, [text(key), text('!')], signal)));
      const found = await Promise.all(keys.map((key) => store.getRange(key, 0, 1_000, signal)));
      expect(found).toEqual(keys.map((key) => text(`${key}!`)));
    });

    test('a missing object is not found', async () => {
      await expect(store.getRange(freshKey(), 0, 10, signal)).rejects.toMatchObject(NOT_FOUND);
    });

    test.for<[string, Uint8Array[], number]>([
      ['an object', [text('0123'), text('456')], 7],
      ['a large one', [new Uint8Array(9 * MIB)], 9 * MIB],
      ['an empty one', [], 0],
    ])('the length is told without the bytes: %s', async ([, parts, bytes]) => {
      const key = freshKey();
      await store.put(key, parts, signal);
      expect(await store.head(key, signal)).toEqual({ bytes, sha256: undefined });
    });

    test('of what is not there nothing is told: a missing object, a part of a key, a deleted object', async () => {
      const key = `${freshKey()}/inner`;
      await store.put(key, [text('x')], signal);
      expect(await store.head(key.slice(0, key.lastIndexOf('/')), signal)).toBeUndefined();
      await store.delete(key, signal);
      expect(await store.head(key, signal)).toBeUndefined();
      expect(await store.head(freshKey(), signal)).toBeUndefined();
    });

    test('a part of a key is no object', async () => {
      const key = `${freshKey()}/inner`;
      await store.put(key, [text('x')], signal);
      await expect(store.getRange(key.slice(0, key.lastIndexOf('/')), 0, 10, signal)).rejects.toMatchObject(NOT_FOUND);
    });

    test('a deleted object is gone from reads and lists; deleting it again is fine', async () => {
      const key = freshKey();
      await store.put(key, [text('x')], signal);
      await store.delete(key, signal);
      await expect(store.getRange(key, 0, 10, signal)).rejects.toMatchObject(NOT_FOUND);
      expect(await store.list(key, { limit: 10 }, signal)).toEqual({ objects: [] });
      await store.delete(key, signal);
      await store.delete(freshKey(), signal);
    });

    test.for(['', '/a', 'a/', 'a//b'])('a key that a directory tree would change is refused: "%s"', async (key) => {
      await expect(store.put(key, [text('x')], signal)).rejects.toMatchObject(STORE_REFUSED);
      await expect(store.head(key, signal)).rejects.toMatchObject(STORE_REFUSED);
    });

    test('a key with every character that names of files need', async () => {
      const key = `${freshKey()}/t.x_1/kelp_date=2026-01-31/a+b c(1)~\u00e9&.parquet`;
      await store.put(key, [text('x')], signal);
      expect(await store.getRange(key, 0, 1, signal)).toEqual(text('x'));
      expect(await store.list(key.slice(0, -4), { limit: 2 }, signal)).toEqual({ objects: [{ key, bytes: 1 }] });
    });

    describe('list', () => {
      // Fixed-width parts, as all our keys have: only they have the same order in every store.
      const keys = Array.from(
        { length: 23 },
        (_, index) => `list/${String(28_000_000 + Math.floor(index / 4))}/o${String(index).padStart(3, '0')}`,
      );
      let root: string;
      beforeAll(async () => {
        root = `${prefix}/l`;
        await Promise.all(keys.map((key, index) => store.put(`${root}/${key}`, [new Uint8Array(index)], signal)));
        await store.put(`${prefix}/m/other`, [text('x')], signal);
      });
      const listed = (from: number, to: number): ObjectPage['objects'] =>
        keys.slice(from, to).map((key, index) => ({ key: `${root}/${key}`, bytes: from + index }));

      test.for([1, 2, 4, 5, 22, 23, 24, 1_000])('pages of %s show every object once, in order, and end', async (limit) => {
        const found: ObjectPage['objects'][number][] = [];
        let after: string | undefined;
        for (let pages = 0; pages <= keys.length; pages++) {
          const page = await store.list(`${root}/list/`, { limit, ...(after === undefined ? {} : { after }) }, signal);
          expect(page.objects.length).toBeLessThanOrEqual(limit);
          found.push(...page.objects);
          after = page.next;
          if (after === undefined) break;
        }
        expect(after).toBeUndefined();
        expect(found).toEqual(listed(0, 23));
      });

      test('after a key that is there, or not', async () => {
        const page = await store.list(`${root}/list/`, { after: `${root}/${keys[7]}`, limit: 3 }, signal);
        expect(page.objects).toEqual(listed(8, 11));
        expect(page.next).toBeDefined();
        const behind = await store.list(`${root}/list/`, { after: `${root}/${keys[7]}x`, limit: 100 }, signal);
        expect(behind).toEqual({ objects: listed(8, 23) });
        expect(await store.list(`${root}/list/`, { after: `${root}/${keys.at(-1)}`, limit: 100 }, signal)).toEqual({ objects: [] });
      });

      test('a prefix that ends within a part of the key', async () => {
        expect(await store.list(`${root}/list/28000001/o00`, { limit: 100 }, signal)).toEqual({ objects: listed(4, 8) });
        expect(await store.list(`${root}/list/2800000`, { limit: 100 }, signal)).toEqual({ objects: listed(0, 23) });
      });

      test('a prefix without objects', async () => {
        expect(await store.list(`${root}/none/`, { limit: 100 }, signal)).toEqual({ objects: [] });
      });

      test('what was put is listed at once, what was deleted is not', async () => {
        const own = `${root}/own`;
        for (const id of ['a1', 'a2', 'a3']) {
          await store.put(`${own}/${id}`, [text(id)], signal);
          expect((await store.list(`${own}/`, { limit: 100 }, signal)).objects.at(-1)).toEqual({ key: `${own}/${id}`, bytes: 2 });
        }
        await store.delete(`${own}/a2`, signal);
        expect((await store.list(`${own}/`, { limit: 100 }, signal)).objects.map(({ key }) => key)).toEqual([`${own}/a1`, `${own}/a3`]);
      });
    });

    test('a call whose signal is aborted already does nothing and rejects with the reason', async () => {
      const key = freshKey();
      const reason = new Error('given up');
      const aborted = AbortSignal.abort(reason);
      await expect(store.put(key, [text('x')], aborted)).rejects.toBe(reason);
      await expect(store.getRange(key, 0, 1, aborted)).rejects.toBe(reason);
      await expect(store.head(key, aborted)).rejects.toBe(reason);
      await expect(store.list(key, { limit: 1 }, aborted)).rejects.toBe(reason);
      await expect(store.delete(key, aborted)).rejects.toBe(reason);
      await expect(store.getRange(key, 0, 1, signal)).rejects.toMatchObject(NOT_FOUND);
    });
  });
}
