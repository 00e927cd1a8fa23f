import { expect, test } from 'vitest';
import { queryPages } from '../../src/state/query-pages.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { createTestWorld } from '../simulation/test-broker.ts';

/** A table with `a` and with keys that begin with it, one of them its next-nearest. */
async function someItems() {
  const world = createTestWorld();
  const keys = ['a', 'a#1', 'a1', 'b', 'c'];
  for (const sk of keys) await world.table.put({ pk: 'p', sk }, {}, [], world.signal);
  let asked = 0;
  const table = interceptTable(world.table, (_, make) => ((asked += 1), make()));
  return { ...world, keys, table, asked: () => asked };
}

const keysOf = (items: readonly object[]) => items.map((item) => (item as { readonly sk: string }).sk);

test.each([1, 2, 3, 4, 5, 6])('pages of %d have every item of a range once, in order', async (limit) => {
  const { table, keys, signal } = await someItems();
  const whole: string[] = [];
  for await (const items of queryPages(table, { pk: 'p', limit }, signal)) {
    expect(items.length).toBeLessThanOrEqual(limit);
    whole.push(...keysOf(items));
  }
  expect(whole).toEqual(keys);
  const part: string[] = [];
  for await (const items of queryPages(table, { pk: 'p', from: 'a#', to: 'b', limit }, signal)) part.push(...keysOf(items));
  expect(part).toEqual(['a#1', 'a1', 'b']);
});

test('whoever has enough asks for no more pages', async () => {
  const { table, asked, signal } = await someItems();
  for await (const items of queryPages(table, { pk: 'p', limit: 2 }, signal)) if (items.length > 0) break;
  expect(asked()).toBe(1);
});
