import { beforeAll, describe, expect, test } from 'vitest';
import type { Condition, Item, Key, MetadataTable, Path } from '../../src/ports/metadata-table.ts';
import { freshKey, signal, TABLE_REFUSED, whole } from './table-keys.ts';

const ITEM: Item = {
  state: 'open',
  owner: 'me',
  base: 5,
  negative: -5,
  count: Number.MAX_SAFE_INTEGER,
  empty: '',
  yes: true,
  nothing: null,
  bytes: new Uint8Array([1, 2, 200]),
  map: { size: { list: [10, { name: 'x' }] }, 'a.b[0]': 1 },
  emptyMap: {},
  list: ['a', 'b'],
  emptyList: [],
  astral: '\u{1F695}',
};

const compare = (op: '=' | '<' | '<=' | '>' | '>=', path: Path, value: Item[string]): Condition => [{ op, path, value: value ?? null }];
const exists = (...path: Path): Condition => [{ op: 'exists', path }];
const missing = (...path: Path): Condition => [{ op: 'missing', path }];
const fewer = (value: number, ...path: Path): Condition => [{ op: 'size<', path, value }];
const either = (...any: Condition[]): Condition => [{ op: 'or', any }];

const TRUE = compare('=', ['state'], 'open');
const FALSE = compare('=', ['state'], 'sealed');

const HOLD: Record<string, Condition> = {
  'no clause': [],
  'exists: attribute': exists('owner'),
  'exists: an attribute that is null': exists('nothing'),
  'exists: an attribute that is empty': exists('empty'),
  'exists: nested in map, map, list, map': exists('map', 'size', 'list', 1, 'name'),
  'exists: a name with dots and brackets': exists('map', 'a.b[0]'),
  'exists: member of a list': exists('list', 1),
  'missing: attribute': missing('absent'),
  'missing: below a missing attribute': missing('absent', 'deeper', 0),
  'missing: below text': missing('state', 'deeper'),
  'missing: beyond a list': missing('list', 2),
  'missing: an index of a map': missing('map', 0),
  'missing: a name of a list': missing('list', 'a'),
  '= text': TRUE,
  '= empty text': compare('=', ['empty'], ''),
  '= number': compare('=', ['base'], 5),
  '= the largest integer': compare('=', ['count'], Number.MAX_SAFE_INTEGER),
  '= flag': compare('=', ['yes'], true),
  '= null': compare('=', ['nothing'], null),
  '= bytes': compare('=', ['bytes'], new Uint8Array([1, 2, 200])),
  '= map': compare('=', ['map'], { 'a.b[0]': 1, size: { list: [10, { name: 'x' }] } }),
  '= empty map': compare('=', ['emptyMap'], {}),
  '= list': compare('=', ['list'], ['a', 'b']),
  '= empty list': compare('=', ['emptyList'], []),
  '= nested': compare('=', ['map', 'size', 'list', 1, 'name'], 'x'),
  '< number': compare('<', ['base'], 6),
  '< negative number': compare('<', ['negative'], -4),
  '<= number': compare('<=', ['base'], 5),
  '> number': compare('>', ['base'], -6),
  '>= number': compare('>=', ['base'], 5),
  '> neighbour of the largest integer': compare('>', ['count'], Number.MAX_SAFE_INTEGER - 1),
  '< text': compare('<', ['state'], 'opener'),
  '> text': compare('>', ['state'], 'opeM'),
  '>= empty text': compare('>=', ['empty'], ''),
  '< text after empty': compare('<', ['empty'], 'a'),
  '> text beyond U+FFFF, by its bytes': compare('>', ['astral'], '\uFFFD'),
  '< bytes': compare('<', ['bytes'], new Uint8Array([1, 3])),
  '> bytes: longer': compare('>', ['bytes'], new Uint8Array([1, 2])),
  'size< map': fewer(3, 'map'),
  'size< empty map': fewer(1, 'emptyMap'),
  'size< list': fewer(3, 'list'),
  'size< empty list': fewer(1, 'emptyList'),
  'size< nested list': fewer(3, 'map', 'size', 'list'),
  'or: first': either(TRUE, FALSE),
  'or: last': either(FALSE, FALSE, TRUE),
  'or: of conjunctions': either([...TRUE, ...FALSE], [...TRUE, ...exists('owner')]),
  'or: within a conjunction': [...TRUE, ...either(FALSE, TRUE), ...either(TRUE, FALSE)],
  'or: nested': either(FALSE, [...either(FALSE, TRUE), ...TRUE]),
  'or: with an alternative without clauses': either(FALSE, []),
  'several clauses': [...TRUE, ...exists('owner'), ...compare('>', ['base'], 4), ...fewer(64, 'map')],
};

const FAIL: Record<string, Condition> = {
  'exists: attribute': exists('absent'),
  'exists: below text': exists('state', 'deeper'),
  'exists: beyond a list': exists('list', 2),
  'missing: attribute': missing('owner'),
  'missing: an attribute that is null': missing('nothing'),
  '= text': FALSE,
  '= text of another case': compare('=', ['state'], 'Open'),
  '= number and its text': compare('=', ['base'], '5'),
  '= neighbour of the largest integer': compare('=', ['count'], Number.MAX_SAFE_INTEGER - 1),
  '= flag': compare('=', ['yes'], false),
  '= null and text': compare('=', ['nothing'], 'null'),
  '= null and a missing attribute': compare('=', ['absent'], null),
  '= empty text and a missing attribute': compare('=', ['absent'], ''),
  '= bytes': compare('=', ['bytes'], new Uint8Array([1, 2])),
  '= map with more': compare('=', ['map'], { 'a.b[0]': 1, size: { list: [10, { name: 'x', more: 1 }] } }),
  '= map with less': compare('=', ['map'], { 'a.b[0]': 1 }),
  '= list in another order': compare('=', ['list'], ['b', 'a']),
  '= empty list and empty map': compare('=', ['emptyList'], {}),
  '< equal': compare('<', ['base'], 5),
  '<= smaller': compare('<=', ['base'], 4),
  '> equal': compare('>', ['base'], 5),
  '>= greater': compare('>=', ['base'], 6),
  '< number and text': compare('<', ['base'], '6'),
  '> text and number': compare('>', ['state'], 0),
  '< missing attribute': compare('<', ['absent'], 6),
  '> missing attribute': compare('>', ['absent'], 0),
  '<= missing text': compare('<=', ['absent'], 'z'),
  '>= missing text': compare('>=', ['absent'], ''),
  'size< map': fewer(2, 'map'),
  'size< list': fewer(2, 'list'),
  'size< missing': fewer(64, 'absent'),
  'or: neither': either(FALSE, FALSE),
  'or: no alternative': either(),
  'or: of conjunctions': either([...TRUE, ...FALSE], [...FALSE, ...TRUE]),
  'or: true, but the rest is not': [...either(TRUE, FALSE), ...FALSE],
  'several clauses, the last false': [...TRUE, ...exists('owner'), ...compare('>', ['base'], 5)],
};

/** A missing item has no attributes. */
const HOLD_ON_NONE: Record<string, Condition> = {
  'missing key': missing('pk'),
  'missing attribute': missing('state'),
  'or with missing': either(FALSE, missing('pk')),
};
const FAIL_ON_NONE: Record<string, Condition> = {
  'exists key': exists('pk'),
  '=': TRUE,
  '>=': compare('>=', ['base'], 0),
  'size<': fewer(64, 'map'),
};

export function describeConditions(table: () => MetadataTable): void {
  describe('condition', () => {
    let key: Key;
    beforeAll(async () => {
      key = freshKey();
      await table().put(key, ITEM, [], signal);
    });

    test.for(Object.entries(HOLD))('holds: %s', async ([, condition]) => {
      expect(await table().update(key, { condition, changes: [] }, signal)).toEqual({ applied: true, item: whole(key, ITEM) });
    });

    test.for(Object.entries(FAIL))('does not hold, and the item is given: %s', async ([, condition]) => {
      const changes = [{ op: 'set' as const, path: ['state'], value: 'changed' }];
      expect(await table().update(key, { condition, changes }, signal)).toEqual({ applied: false, item: whole(key, ITEM) });
      expect(await table().put(key, { state: 'changed' }, condition, signal)).toEqual({ applied: false, item: whole(key, ITEM) });
      expect(await table().delete(key, condition, signal)).toEqual({ applied: false, item: whole(key, ITEM) });
    });

    test.for(Object.entries(HOLD_ON_NONE))('holds on a missing item: %s', async ([, condition]) => {
      const none = freshKey();
      const changes = [{ op: 'set' as const, path: ['state'], value: 'new' }];
      expect(await table().update(none, { condition, changes }, signal)).toEqual({ applied: true, item: whole(none, { state: 'new' }) });
    });

    test.for(Object.entries(FAIL_ON_NONE))('does not hold on a missing item, and none is made: %s', async ([, condition]) => {
      const none = freshKey();
      expect(await table().update(none, { condition, changes: [] }, signal)).toEqual({ applied: false, item: undefined });
      expect(await table().get(none, signal)).toBeUndefined();
    });

    test.for([true, null, {}, []])('an order of %s is refused', async (value) => {
      const condition = compare('<', ['base'], value);
      await expect(table().update(key, { condition, changes: [] }, signal)).rejects.toMatchObject(TABLE_REFUSED);
    });
  });
}
