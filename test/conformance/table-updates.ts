import { describe, expect, test } from 'vitest';
import type { Change, Item, MetadataTable, Value } from '../../src/ports/metadata-table.ts';
import { freshKey, signal, TABLE_REFUSED, whole } from './table-keys.ts';

type Case = { readonly before: Item; readonly changes: readonly Change[]; readonly after: Item };

const ODD_NAMES = ['owner', 'base', 'state', 'name', 'size', 'value', 'a.b', '#n', ':v', 'x y', 'constructor'];

const APPLIED: Record<string, Case> = {
  'no change': { before: { a: 1 }, changes: [], after: { a: 1 } },
  'set: replaces': { before: { a: 1 }, changes: [{ op: 'set', path: ['a'], value: 'x' }], after: { a: 'x' } },
  'set: a missing attribute': { before: {}, changes: [{ op: 'set', path: ['state'], value: 'open' }], after: { state: 'open' } },
  'set: empty values': {
    before: {},
    changes: [
      { op: 'set', path: ['text'], value: '' },
      { op: 'set', path: ['bytes'], value: new Uint8Array(0) },
      { op: 'set', path: ['map'], value: {} },
      { op: 'set', path: ['list'], value: [] },
    ],
    after: { text: '', bytes: new Uint8Array(0), map: {}, list: [] },
  },
  'set: a missing member of an empty map': {
    before: { c: {} },
    changes: [{ op: 'set', path: ['c', '0abc'], value: { at: [1, 2] } }],
    after: { c: { '0abc': { at: [1, 2] } } },
  },
  'set: deep': {
    before: { a: { b: [{ c: 1, d: 2 }, 3] } },
    changes: [{ op: 'set', path: ['a', 'b', 0, 'c'], value: 9 }],
    after: { a: { b: [{ c: 9, d: 2 }, 3] } },
  },
  'set: members of a list': {
    before: { l: ['a', 'b', 'c'] },
    changes: [
      { op: 'set', path: ['l', 2], value: 'z' },
      { op: 'set', path: ['l', 0], value: 'x' },
    ],
    after: { l: ['x', 'b', 'z'] },
  },
  'set: the end of a list appends': {
    before: { l: ['a'] },
    changes: [{ op: 'set', path: ['l', 1], value: 'b' }],
    after: { l: ['a', 'b'] },
  },
  'set: reserved and odd names': {
    before: { map: {} },
    changes: ODD_NAMES.flatMap((name) => [
      { op: 'set' as const, path: [name], value: 1 },
      { op: 'set' as const, path: ['map', name], value: 2 },
    ]),
    after: { ...Object.fromEntries(ODD_NAMES.map((name) => [name, 1])), map: Object.fromEntries(ODD_NAMES.map((name) => [name, 2])) },
  },
  'set: a name that JavaScript takes for the prototype': {
    before: { map: { a: 1 } },
    changes: [{ op: 'set', path: ['map', '__proto__'], value: { x: 1 } }],
    after: { map: JSON.parse('{"a":1,"__proto__":{"x":1}}') as Value },
  },
  'copy: the old value, though it changes in the same update': {
    before: { c: {}, tail: 7 },
    changes: [
      { op: 'add', path: ['tail'], value: 3 },
      { op: 'copy', path: ['c', 'id'], from: ['tail'] },
    ],
    after: { c: { id: 7 }, tail: 10 },
  },
  'copy: a swap': {
    before: { a: 1, b: { x: ['y'] } },
    changes: [
      { op: 'copy', path: ['a'], from: ['b', 'x'] },
      { op: 'copy', path: ['b', 'x'], from: ['a'] },
    ],
    after: { a: ['y'], b: { x: 1 } },
  },
  'copy: a value that is removed': {
    before: { a: 'v' },
    changes: [
      { op: 'copy', path: ['b'], from: ['a'] },
      { op: 'remove', path: ['a'] },
    ],
    after: { b: 'v' },
  },
  'add: below zero': { before: { n: 1 }, changes: [{ op: 'add', path: ['n'], value: -3 }], after: { n: -2 } },
  'add: up to the largest integer': {
    before: { n: Number.MAX_SAFE_INTEGER - 1 },
    changes: [{ op: 'add', path: ['n'], value: 1 }],
    after: { n: Number.MAX_SAFE_INTEGER },
  },
  'add: in a list of a map': {
    before: { m: { l: [0, 5] } },
    changes: [{ op: 'add', path: ['m', 'l', 1], value: 2 }],
    after: { m: { l: [0, 7] } },
  },
  'add: every member of a list at once': {
    before: { histogram: Array.from({ length: 16 }, () => 1) },
    changes: Array.from({ length: 16 }, (_, index) => ({ op: 'add' as const, path: ['histogram', index], value: index })),
    after: { histogram: Array.from({ length: 16 }, (_, index) => index + 1) },
  },
  'remove: attribute and member': {
    before: { a: 1, b: 2, m: { x: 1, y: 2 } },
    changes: [
      { op: 'remove', path: ['a'] },
      { op: 'remove', path: ['m', 'x'] },
    ],
    after: { b: 2, m: { y: 2 } },
  },
  'remove: the last member leaves an empty map': {
    before: { m: { x: 1 } },
    changes: [{ op: 'remove', path: ['m', 'x'] }],
    after: { m: {} },
  },
  'remove: what is missing': {
    before: { a: 1, m: {} },
    changes: [
      { op: 'remove', path: ['b'] },
      { op: 'remove', path: ['m', 'x'] },
    ],
    after: { a: 1, m: {} },
  },
  'all at once': {
    before: { tail: 5, g: '', c: { old: 1, older: 0 }, n: [0, 0] },
    changes: [
      { op: 'remove', path: ['c', 'older'] },
      { op: 'copy', path: ['c', 'new'], from: ['tail'] },
      { op: 'add', path: ['tail'], value: 2 },
      { op: 'add', path: ['n', 1], value: 2 },
      { op: 'set', path: ['g'], value: 'older' },
    ],
    after: { tail: 7, g: 'older', c: { old: 1, new: 5 }, n: [0, 2] },
  },
};

const REFUSED: Record<string, Omit<Case, 'after'>> = {
  'set: below a missing map': { before: {}, changes: [{ op: 'set', path: ['m', 'x'], value: 1 }] },
  'set: below a missing member': { before: { m: {} }, changes: [{ op: 'set', path: ['m', 'x', 'y'], value: 1 }] },
  'set: a member of text': { before: { m: 'text' }, changes: [{ op: 'set', path: ['m', 'x'], value: 1 }] },
  'set: a member of a list': { before: { l: [] }, changes: [{ op: 'set', path: ['l', 'x'], value: 1 }] },
  'copy: from a missing attribute': { before: {}, changes: [{ op: 'copy', path: ['a'], from: ['b'] }] },
  'add: to a missing attribute': { before: {}, changes: [{ op: 'add', path: ['n'], value: 1 }] },
  'add: to a missing member': { before: { m: {} }, changes: [{ op: 'add', path: ['m', 'n'], value: 1 }] },
  'two changes of one path': {
    before: { a: 1 },
    changes: [
      { op: 'set', path: ['a'], value: 1 },
      { op: 'remove', path: ['a'] },
    ],
  },
  'a map and a part of it': {
    before: { m: { x: 1 } },
    changes: [
      { op: 'set', path: ['m'], value: {} },
      { op: 'set', path: ['m', 'x'], value: 1 },
    ],
  },
  'remove: a member of a list': { before: { l: ['a', 'b'] }, changes: [{ op: 'remove', path: ['l', 0] }] },
  'the key': { before: {}, changes: [{ op: 'set', path: ['sk'], value: 'other' }] },
};

export function describeUpdates(table: () => MetadataTable): void {
  describe('update', () => {
    test.for(Object.entries(APPLIED))('%s', async ([, { before, changes, after }]) => {
      const key = freshKey();
      await table().put(key, before, [], signal);
      expect(await table().update(key, { condition: [], changes }, signal)).toEqual({ applied: true, item: whole(key, after) });
      expect(await table().get(key, signal)).toEqual(whole(key, after));
    });

    test.for(Object.entries(REFUSED))('refused, and nothing changed: %s', async ([, { before, changes }]) => {
      const key = freshKey();
      await table().put(key, before, [], signal);
      await expect(table().update(key, { condition: [], changes }, signal)).rejects.toMatchObject(TABLE_REFUSED);
      expect(await table().get(key, signal)).toEqual(whole(key, before));
    });

    test('makes a missing item', async () => {
      const key = freshKey();
      const changes: Change[] = [{ op: 'set', path: ['m'], value: { x: 1 } }];
      expect(await table().update(key, { condition: [], changes }, signal)).toEqual({ applied: true, item: whole(key, { m: { x: 1 } }) });
    });

    test('a condition that does not hold is told before a path that does not exist', async () => {
      const key = freshKey();
      await table().put(key, { state: 'sealed' }, [], signal);
      const changes: Change[] = [{ op: 'set', path: ['absent', 'x'], value: 1 }];
      const result = await table().update(key, { condition: [{ op: '=', path: ['state'], value: 'open' }], changes }, signal);
      expect(result).toEqual({ applied: false, item: whole(key, { state: 'sealed' }) });
    });

    test('an item that an update would grow over 400 KB is refused, and stays', async () => {
      const key = freshKey();
      await table().put(key, { a: 'x'.repeat(250_000) }, [], signal);
      const changes: Change[] = [{ op: 'copy', path: ['b'], from: ['a'] }];
      await expect(table().update(key, { condition: [], changes }, signal)).rejects.toMatchObject(TABLE_REFUSED);
      expect(Object.keys((await table().get(key, signal)) ?? {}).toSorted()).toEqual(['a', 'pk', 'sk']);
    });
  });
}
