import { expect, test } from 'vitest';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { pageKey } from '../../src/format/item-key.ts';
import { encodePage } from '../../src/format/page-item.ts';
import type { Page } from '../../src/model/head.ts';
import { readPageAt } from '../../src/state/pages.ts';
import { SEGMENT, TOPIC } from '../protocol/segment-state.ts';

test('an offset is found in the page that covers it, and in no other', async () => {
  const table = createMemoryTable();
  const { signal } = new AbortController();
  const page = (first: number, next: number): Page => ({ first, next, guard: '', highestTimestampMs: -1, entries: [] });
  for (const one of [page(0, 10), page(10, 1_000), page(1_000, 1_001)]) {
    await table.put(pageKey(TOPIC, SEGMENT, one.first), encodePage(one), [], signal);
  }
  const firsts = await Promise.all(
    [0, 9, 10, 999, 1_000, 1_001].map((offset) => readPageAt(table, { topic: TOPIC, segment: SEGMENT }, offset, signal)),
  );
  expect(firsts.map((found) => found?.first)).toEqual([0, 0, 10, 10, 1_000, undefined]);
});
