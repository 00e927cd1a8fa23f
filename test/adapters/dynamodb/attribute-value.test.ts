import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonAttributes, sdkAttributes } from '../../../src/adapters/dynamodb/attribute-value.ts';
import { KelpError } from '../../../src/model/errors.ts';
import type { Item, Value } from '../../../src/ports/metadata-table.ts';

const values: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'grapheme' }),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => new Uint8Array(bytes)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'M')), tie('value'), { noNullPrototype: true }),
  ),
})).value;
const items = fc.dictionary(fc.string(), values, { noNullPrototype: true }) as fc.Arbitrary<Item>;

describe('attribute values', () => {
  test('come back as they were, through the wire\u2019s JSON', () => {
    fc.assert(
      fc.property(items, (item) => {
        const wire: unknown = JSON.parse(JSON.stringify(jsonAttributes.encodeMap(item)));
        expect(jsonAttributes.decodeMap(wire as ReturnType<typeof jsonAttributes.encodeMap>)).toEqual(item);
      }),
    );
  });

  test('come back as they were, in the SDK\u2019s form', () => {
    fc.assert(
      fc.property(items, (item) => {
        expect(sdkAttributes.decodeMap(sdkAttributes.encodeMap(item))).toEqual(item);
      }),
    );
  });

  test('have the form that the API asks for', () => {
    const item = { s: '', n: -7, t: true, f: false, z: null, b: new Uint8Array([1, 2]), l: ['a', 1], m: { x: {} } };
    expect(jsonAttributes.encodeMap(item)).toEqual({
      s: { S: '' },
      n: { N: '-7' },
      t: { BOOL: true },
      f: { BOOL: false },
      z: { NULL: true },
      b: { B: 'AQI=' },
      l: { L: [{ S: 'a' }, { N: '1' }] },
      m: { M: { x: { M: {} } } },
    });
    expect(sdkAttributes.encodeMap({ b: item.b })).toEqual({ b: { B: item.b } });
  });

  test('bytes within a larger buffer are their own bytes only', () => {
    const bytes = new Uint8Array([0, 1, 2, 3]).subarray(1, 3);
    expect(jsonAttributes.encodeMap({ bytes })).toEqual({ bytes: { B: 'AQI=' } });
  });

  test.for([0.5, 2 ** 53, Number.NaN, undefined, 1n, (): void => undefined])('%s cannot be stored', (value) => {
    expect(() => jsonAttributes.encodeMap({ value: value as Value })).toThrow(expect.objectContaining({ code: 'table-refused' }));
  });

  test.for([{ N: '9007199254740993' }, { N: '1.5' }, { N: '' }, { SS: ['a'] }, { S: 1 }, { L: 'x' }, { M: null }, { B: 7 }, {}])(
    '%o is not ours',
    (value) => {
      expect(() => jsonAttributes.decodeMap({ value })).toThrow(KelpError);
      expect(() => jsonAttributes.decodeMap({ value })).toThrow(expect.objectContaining({ kind: 'corrupt', code: 'table-corrupt' }));
    },
  );

  test('a number in another notation is the same number', () => {
    expect(jsonAttributes.decodeMap({ value: { N: '1E+2' } })).toEqual({ value: 100 });
  });
});
