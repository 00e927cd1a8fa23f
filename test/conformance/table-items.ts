import { describe, expect, test } from 'vitest';
import type { MetadataTable, Value } from '../../src/ports/metadata-table.ts';
import { freshKey, signal, TABLE_REFUSED, whole } from './table-keys.ts';

const VALUES: Record<string, Value> = {
  'empty text': '',
  'text with every kind of character': 'a\u0000\n"\\\u00e9\u{1F695}\uFFFD',
  'the largest integer': Number.MAX_SAFE_INTEGER,
  'the smallest integer': Number.MIN_SAFE_INTEGER,
  zero: 0,
  'two flags': [true, false],
  null: null,
  'no bytes': new Uint8Array(0),
  'all bytes': Uint8Array.from({ length: 256 }, (_, index) => index),
  'an empty list and an empty map': [[], {}],
  'nested values': { a: [{ b: { c: ['x', 1, null, { d: new Uint8Array([7]) }] } }], '': 1, 'a.b[0]': 2, '#x': 3, ':y': 4 },
  'a list of 1,000': Array.from({ length: 1_000 }, (_, index) => index),
  'a map of 1,000': Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`member${index}`, index])),
  'text of 300 KB': 'x'.repeat(300_000),
};

export function describeWholeItems(table: () => MetadataTable): void {
  describe('whole items', () => {
    test.for(Object.entries(VALUES))('what is put comes back: %s', async ([, value]) => {
      const key = freshKey();
      const item = whole(key, { value, state: 'reserved word', owner: 1, base: 2 });
      expect(await table().put(key, { value, state: 'reserved word', owner: 1, base: 2 }, [], signal)).toEqual({ applied: true, item });
      expect(await table().get(key, signal)).toEqual(item);
    });

    test('a missing item is undefined', async () => {
      expect(await table().get(freshKey(), signal)).toBeUndefined();
    });

    test('a put replaces the whole item', async () => {
      const key = freshKey();
      await table().put(key, { a: 1, b: 2 }, [], signal);
      await table().put(key, { b: 3 }, [], signal);
      expect(await table().get(key, signal)).toEqual(whole(key, { b: 3 }));
    });

    test('a put if absent happens once, and the second one is given the first one\u2019s item', async () => {
      const key = freshKey();
      const absent = [{ op: 'missing' as const, path: ['pk'] }];
      expect(await table().put(key, { by: 'first' }, absent, signal)).toMatchObject({ applied: true });
      expect(await table().put(key, { by: 'second' }, absent, signal)).toEqual({ applied: false, item: whole(key, { by: 'first' }) });
    });

    test('a put refused on a missing item gives none', async () => {
      const key = freshKey();
      const result = await table().put(key, { a: 1 }, [{ op: 'exists', path: ['pk'] }], signal);
      expect(result).toEqual({ applied: false, item: undefined });
      expect(await table().get(key, signal)).toBeUndefined();
    });

    test('the key of an item is the key that it was put under', async () => {
      const key = freshKey();
      await table().put(key, { pk: 'another', sk: 'another' }, [], signal);
      expect(await table().get(key, signal)).toEqual(whole(key, {}));
    });

    test('a delete gives the item that it deleted', async () => {
      const key = freshKey();
      await table().put(key, { a: 1 }, [], signal);
      expect(await table().delete(key, [{ op: '=', path: ['a'], value: 1 }], signal)).toEqual({
        applied: true,
        item: whole(key, { a: 1 }),
      });
      expect(await table().get(key, signal)).toBeUndefined();
    });

    test('a delete that is refused gives the item, and leaves it', async () => {
      const key = freshKey();
      await table().put(key, { a: 1 }, [], signal);
      expect(await table().delete(key, [{ op: '=', path: ['a'], value: 2 }], signal)).toEqual({
        applied: false,
        item: whole(key, { a: 1 }),
      });
      expect(await table().get(key, signal)).toEqual(whole(key, { a: 1 }));
    });

    test('a delete of a missing item applies, or is refused without an item', async () => {
      expect(await table().delete(freshKey(), [], signal)).toEqual({ applied: true, item: {} });
      expect(await table().delete(freshKey(), [{ op: 'exists', path: ['pk'] }], signal)).toEqual({ applied: false, item: undefined });
    });

    test('an item over 400 KB is refused', async () => {
      const key = freshKey();
      await expect(table().put(key, { a: 'x'.repeat(410_000) }, [], signal)).rejects.toMatchObject(TABLE_REFUSED);
      expect(await table().get(key, signal)).toBeUndefined();
    });

    test.for([0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, undefined as unknown as Value])('%s is refused', async (value) => {
      const key = freshKey();
      await expect(table().put(key, { value }, [], signal)).rejects.toMatchObject(TABLE_REFUSED);
    });

    test('an empty key is refused', async () => {
      await expect(table().put({ pk: 'p', sk: '' }, {}, [], signal)).rejects.toMatchObject(TABLE_REFUSED);
      await expect(table().update({ pk: '', sk: 's' }, { condition: [], changes: [] }, signal)).rejects.toMatchObject(TABLE_REFUSED);
    });
  });
}
