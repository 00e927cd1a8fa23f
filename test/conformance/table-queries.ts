import { beforeAll, describe, expect, test } from 'vitest';
import type { Item, MetadataTable, Query, QueryPage } from '../../src/ports/metadata-table.ts';
import { freshKey, signal, whole } from './table-keys.ts';

/** In the order of their UTF-8 bytes, which differs from JavaScript's own in the last two. */
const SORT_KEYS = [
  'B',
  'a',
  'a-1',
  'a/1',
  'a1',
  'p0000000000000000',
  'p0000000000000016',
  'p0000000000000100',
  '\u00e9',
  '\uFFFD',
  '\u{1F695}',
];

type Case = { readonly query: Omit<Query, 'pk'>; readonly found: readonly string[]; readonly more?: boolean };

const CASES: Record<string, Case> = {
  all: { query: { limit: 100 }, found: SORT_KEYS },
  'all, descending': { query: { limit: 100, descending: true }, found: SORT_KEYS.toReversed() },
  'from, which is there': { query: { from: 'a1', limit: 100 }, found: SORT_KEYS.slice(4) },
  'from, which is not': { query: { from: 'p0000000000000001', limit: 100 }, found: SORT_KEYS.slice(6) },
  'from nothing': { query: { from: '', limit: 100 }, found: SORT_KEYS },
  'to, which is there': { query: { to: 'a-1', limit: 100 }, found: ['B', 'a', 'a-1'] },
  'to, which is not': { query: { to: 'a.', limit: 100 }, found: ['B', 'a', 'a-1'] },
  'from and to': { query: { from: 'p', to: 'p9999999999999999', limit: 100 }, found: SORT_KEYS.slice(5, 8) },
  'one key': { query: { from: 'a', to: 'a', limit: 100 }, found: ['a'] },
  'a range without items': { query: { from: 'b', to: 'c', limit: 100 }, found: [] },
  'a range that ends before it begins': { query: { from: 'c', to: 'b', limit: 100 }, found: [] },
  'to nothing': { query: { to: '', limit: 100 }, found: [] },
  'limit below': { query: { limit: 2 }, found: ['B', 'a'], more: true },
  'limit below, descending': { query: { limit: 1, descending: true }, found: ['\u{1F695}'], more: true },
  'limit within a range, descending': {
    query: { from: 'p', to: 'q', limit: 2, descending: true },
    found: ['p0000000000000100', 'p0000000000000016'],
    more: true,
  },
  'limit that is met exactly': { query: { limit: SORT_KEYS.length }, found: SORT_KEYS },
  'limit that is met exactly by a range': { query: { from: 'p', to: 'q', limit: 3 }, found: SORT_KEYS.slice(5, 8) },
};

export function describeQueries(table: () => MetadataTable): void {
  describe('query', () => {
    const { pk } = freshKey();
    beforeAll(async () => {
      const keys = SORT_KEYS.map((sk) => ({ pk, sk }));
      await Promise.all(keys.map((key, index) => table().put(key, { index }, [], signal)));
      // A neighbour, of which nothing may show.
      await table().put({ pk: `${pk}x`, sk: 'a' }, {}, [], signal);
    });

    test.for(Object.entries(CASES))('%s', async ([, { query, found, more = false }]) => {
      const page = await table().query({ pk, ...query }, signal);
      expect(page.items).toEqual(found.map((sk) => whole({ pk, sk }, { index: SORT_KEYS.indexOf(sk) })));
      expect(page.more).toBe(more);
    });

    test('a pk without items', async () => {
      expect(await table().query({ pk: `${pk}-none`, limit: 10 }, signal)).toEqual({ items: [], more: false });
    });

    test('what was deleted is gone, what was written is there', async () => {
      const key = { ...freshKey(), sk: 'a' };
      await table().put(key, { n: 1 }, [], signal);
      expect((await table().query({ pk: key.pk, limit: 1 }, signal)).items).toEqual([whole(key, { n: 1 })]);
      await table().delete(key, [], signal);
      expect(await table().query({ pk: key.pk, limit: 1 }, signal)).toEqual({ items: [], more: false });
    });

    test.for([false, true])('pages of items that no answer could hold together; descending: %s', async (descending) => {
      const keys = Array.from({ length: 8 }, (_, index) => ({ pk: `${pk}-large-${descending}`, sk: `p${index}` }));
      await Promise.all(keys.map((key) => table().put(key, { filler: 'x'.repeat(200_000) }, [], signal)));
      const found = await walk(table(), { pk: `${pk}-large-${descending}`, descending, limit: 100 });
      const inOrder = keys.map(({ sk }) => sk);
      expect(found.map(({ sk }) => sk)).toEqual(descending ? inOrder.toReversed() : inOrder);
    });
  });
}

/** Every page, each begun behind the last sort key of the one before. */
async function walk(table: MetadataTable, query: Query): Promise<Item[]> {
  const found = new Map<string, Item>();
  let page: QueryPage = { items: [], more: true };
  while (page.more) {
    const last = sortKeyOf(page.items.at(-1));
    const behind = query.descending === true ? { to: last } : { from: last };
    page = await table.query({ ...query, ...(last === '' ? {} : behind) }, signal);
    const before = found.size;
    for (const item of page.items) found.set(sortKeyOf(item), item);
    expect(found.size).toBeGreaterThan(before);
  }
  return [...found.values()];
}

function sortKeyOf(item: Item | undefined): string {
  const sk = item?.['sk'];
  return typeof sk === 'string' ? sk : '';
}
