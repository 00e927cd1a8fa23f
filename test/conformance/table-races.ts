import { describe, expect, test } from 'vitest';
import type { Change, Item, MetadataTable, WriteResult } from '../../src/ports/metadata-table.ts';
import { freshKey, signal, whole } from './table-keys.ts';

const WRITERS = 32;

/** All at once, each with its own number. */
function race<T>(write: (writer: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
}

const nextVersion = (by: number): Change[] => [
  { op: 'add', path: ['version'], value: 1 },
  { op: 'set', path: ['by'], value: by },
];

const applied = (results: readonly WriteResult[]): Item[] => results.flatMap((result) => (result.applied ? [result.item] : []));

export function describeRaces(table: () => MetadataTable): void {
  describe('races', () => {
    test('one of many puts if absent wins, and the others are given its item', async () => {
      const key = freshKey();
      const results = await race((writer) => table().put(key, { writer }, [{ op: 'missing', path: ['pk'] }], signal));
      const [winner] = applied(results);
      expect(applied(results)).toHaveLength(1);
      expect(results.filter(({ applied: won }) => !won).map(({ item }) => item)).toEqual(Array.from({ length: WRITERS - 1 }, () => winner));
    });

    test('one of many updates on the same version wins', async () => {
      const key = freshKey();
      await table().put(key, { version: 1 }, [], signal);
      const condition = [{ op: '=' as const, path: ['version'], value: 1 }];
      const results = await race((writer) => table().update(key, { condition, changes: nextVersion(writer) }, signal));
      const winners = applied(results);
      expect(winners).toHaveLength(1);
      expect(await table().get(key, signal)).toEqual(winners[0]);
    });

    test('counters are exact, and each writer sees its own sum', async () => {
      const key = freshKey();
      await table().put(key, { n: 0 }, [], signal);
      const results = await race(() => table().update(key, { condition: [], changes: [{ op: 'add', path: ['n'], value: 1 }] }, signal));
      const sums = applied(results).map((item) => Number(item['n']));
      expect(sums.toSorted((a, b) => a - b)).toEqual(Array.from({ length: WRITERS }, (_, index) => index + 1));
    });

    test('commits side by side get offsets without a gap', async () => {
      const key = freshKey();
      await table().put(key, { state: 'open', tail: 0, c: {} }, [], signal);
      const results = await race((writer) =>
        table().update(
          key,
          {
            condition: [
              { op: '=', path: ['state'], value: 'open' },
              { op: 'missing', path: ['c', `w${writer}`] },
              { op: 'size<', path: ['c'], value: 64 },
            ],
            changes: [
              { op: 'copy', path: ['c', `w${writer}`], from: ['tail'] },
              { op: 'add', path: ['tail'], value: writer + 1 },
            ],
          },
          signal,
        ),
      );
      expect(applied(results)).toHaveLength(WRITERS);
      const head = await table().get(key, signal);
      const offsets = Object.entries(head?.['c'] ?? {}).map(([id, offset]) => ({ offset: Number(offset), count: Number(id.slice(1)) + 1 }));
      let tail = 0;
      for (const { offset, count } of offsets.toSorted((a, b) => a.offset - b.offset)) {
        expect(offset).toBe(tail);
        tail += count;
      }
      expect(head?.['tail']).toBe(tail);
    });

    test('a bound on members holds', async () => {
      const key = freshKey();
      await table().put(key, { c: {} }, [], signal);
      const results = await race((writer) =>
        table().update(
          key,
          { condition: [{ op: 'size<', path: ['c'], value: 5 }], changes: [{ op: 'set', path: ['c', `w${writer}`], value: writer }] },
          signal,
        ),
      );
      expect(applied(results)).toHaveLength(5);
      expect(Object.keys((await table().get(key, signal))?.['c'] ?? {})).toHaveLength(5);
    });

    test('one of many deletes gets the item', async () => {
      const key = freshKey();
      await table().put(key, { a: 1 }, [], signal);
      const results = await race(() => table().delete(key, [{ op: 'exists', path: ['pk'] }], signal));
      expect(applied(results)).toEqual([whole(key, { a: 1 })]);
      expect(results.filter((result) => !result.applied && result.item === undefined)).toHaveLength(WRITERS - 1);
    });
  });
}
