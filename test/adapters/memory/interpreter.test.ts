import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareText } from '../../../src/adapters/memory/compare.ts';
import { applyUpdate, holds, valueAt } from '../../../src/adapters/memory/interpreter.ts';
import { KelpError } from '../../../src/model/errors.ts';
import type { Change, Item, Path, Value } from '../../../src/ports/metadata-table.ts';

const names = fc.constantFrom('a', 'b', 'constructor', '__proto__');
const values: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(names, tie('value')),
  ),
})).value;
const items = fc.dictionary(names, values) as fc.Arbitrary<Item>;

/** Every path of an item that ends in something. */
function pathsOf(value: Value, path: Path = []): Path[] {
  if (Array.isArray(value)) return [path, ...value.flatMap((inner: Value, index) => pathsOf(inner, [...path, index]))];
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [path];
  return [path, ...Object.entries(value).flatMap(([name, inner]) => pathsOf(inner, [...path, name]))];
}

function memberCount(item: Item | undefined, path: Path): number {
  return Object.keys(valueAt(item ?? {}, path.slice(0, -1)) as object).length;
}

const itemAndPath = items
  .map((item) => ({ item, paths: pathsOf(item).filter((path) => path.length > 0) }))
  .filter(({ paths }) => paths.length > 0)
  .chain(({ item, paths }) => fc.record({ item: fc.constant(item), path: fc.constantFrom(...paths) }));

describe('update', () => {
  test('changes what it names and mutates nothing', () => {
    fc.assert(
      fc.property(itemAndPath, values, ({ item, path }, value) => {
        const before = structuredClone(item);
        const set = applyUpdate(item, { condition: [{ op: 'exists', path }], changes: [{ op: 'set', path, value }] });
        expect(set.applied && valueAt(set.item, path)).toEqual(value);
        expect(item).toEqual(before);
      }),
    );
  });

  test('removes the member that it names, and no other', () => {
    fc.assert(
      fc.property(
        itemAndPath.filter(({ path }) => typeof path.at(-1) === 'string'),
        ({ item, path }) => {
          const removed = applyUpdate(item, { condition: [], changes: [{ op: 'remove', path }] });
          expect(memberCount(removed.item, path)).toBe(memberCount(item, path) - 1);
          expect(holds(removed.item, [{ op: 'missing', path }])).toBe(true);
        },
      ),
    );
  });

  test('shares what it does not touch', () => {
    const item: Item = { touched: { x: 1 }, far: { deep: [1] } };
    const { item: next } = applyUpdate(item, { condition: [], changes: [{ op: 'add', path: ['touched', 'x'], value: 1 }] });
    expect(next?.['far']).toBe(item['far']);
    expect(next?.['touched']).not.toBe(item['touched']);
  });

  test('refused: gives the very item back', () => {
    const item: Item = { a: 1 };
    const result = applyUpdate(item, { condition: [{ op: '=', path: ['a'], value: 2 }], changes: [{ op: 'remove', path: ['a'] }] });
    expect(result).toEqual({ applied: false, item });
    expect(result.item).toBe(item);
  });

  test('a value of another type is no place for a change', () => {
    const item: Item = { n: '1', m: {}, l: [] };
    const changes: Change[] = [
      { op: 'add', path: ['n'], value: 1 },
      { op: 'set', path: ['m', 0], value: 1 },
      { op: 'set', path: ['l', 1], value: 1 },
      { op: 'remove', path: ['absent', 'x'] },
    ];
    for (const change of changes) expect(() => applyUpdate(item, { condition: [], changes: [change] })).toThrow(KelpError);
  });

  test('names of inherited members are names like any other', () => {
    expect(holds({}, [{ op: 'missing', path: ['constructor', 'name'] }])).toBe(true);
    const { item } = applyUpdate({}, { condition: [], changes: [{ op: 'set', path: ['__proto__'], value: { x: 1 } }] });
    expect(Object.keys(item ?? {})).toEqual(['__proto__']);
    expect(({} as { x?: number }).x).toBeUndefined();
  });
});

describe('condition', () => {
  test('text is compared by its UTF-8 bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (left, right) => {
        expect(Math.sign(compareText(left, right))).toBe(Buffer.compare(Buffer.from(left), Buffer.from(right)));
      }),
    );
    expect(compareText('\u{1F695}', '\uFFFD')).toBeGreaterThan(0);
  });

  test('a value equals a copy of itself, and no copy with something more', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(holds({ a: value }, [{ op: '=', path: ['a'], value: structuredClone(value) }])).toBe(true);
        expect(holds({ a: value }, [{ op: '=', path: ['a'], value: [structuredClone(value)] }])).toBe(false);
        expect(holds({ a: { x: value } }, [{ op: '=', path: ['a'], value: { x: value, y: 1 } }])).toBe(false);
      }),
    );
  });
});
