import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeHead } from '../../src/format/head-item.ts';
import type { Head, Page } from '../../src/model/head.ts';
import { HEAD_ENTRIES_CROWDED } from '../../src/model/crowd-limits.ts';
import { HEAD_ENTRIES_MAX, HEAD_ENTRIES_SPILL, HEAD_ENTRIES_SPILL_AGAIN } from '../../src/model/limits.ts';
import type { Item } from '../../src/ports/metadata-table.ts';
import { commitUpdate } from '../../src/protocol/commit.ts';
import { sealUpdate } from '../../src/protocol/segment-life.ts';
import { isToSpill, pageOf, spillUpdate } from '../../src/protocol/spill.ts';
import { applied, cid, commitOf, indexOf, isApplied, openHead } from './segment-state.ts';

const withCommits = (names: readonly string[], head = openHead()) =>
  names.reduce((item, name) => applied(item, commitUpdate(commitOf(cid(name), 2))), head);

const pageOfHead = (item: ReturnType<typeof openHead>): Page => {
  const page = pageOf(decodeHead(item));
  if (page === undefined) throw new Error('nothing to spill');
  return page;
};

test('a head is spilled by whoever makes it 16 entries long, by one in eight who make it longer, and by all near its end', () => {
  let item = openHead();
  const lengths: number[] = [];
  for (let length = 1; length <= HEAD_ENTRIES_MAX; length += 1) {
    item = withCommits([`${length}a`], item);
    if (isToSpill(decodeHead(item))) lengths.push(length);
  }
  const near = Array.from({ length: HEAD_ENTRIES_MAX - HEAD_ENTRIES_CROWDED }, (_, n) => HEAD_ENTRIES_CROWDED + 1 + n);
  expect(lengths).toEqual([HEAD_ENTRIES_SPILL, 24, 32, 40, 48, HEAD_ENTRIES_CROWDED, ...near]);
  expect(24 - HEAD_ENTRIES_SPILL).toBe(HEAD_ENTRIES_SPILL_AGAIN);
});

test('an empty head has nothing to spill', () => {
  expect(pageOf(decodeHead(openHead()))).toBeUndefined();
});

test('a page is a prefix by offset, whatever the order of the ids', () => {
  const item = withCommits(['6a', '4a', '5a']);
  const page = pageOfHead(item);
  expect(page.entries.map((entry) => entry.cid)).toEqual([cid('6a'), cid('4a'), cid('5a')]);
  expect(page).toMatchObject({ first: 0, next: 6, guard: cid('6a') });
  const after = decodeHead(applied(item, spillUpdate(decodeHead(item), page)));
  expect(after).toMatchObject({ spilled: 6, tail: 6, guard: cid('6a'), entries: [], spilledTimestampMs: 1_000 });
});

describe('races', () => {
  test('A1: a spiller that was overtaken changes nothing', () => {
    const one = withCommits(['6a']);
    const stale = decodeHead(one);
    const stalePage = pageOfHead(one);
    const three = withCommits(['4a', '5a'], one);
    const spilled = applied(three, spillUpdate(decodeHead(three), pageOfHead(three)));
    expect(isApplied(spilled, spillUpdate(stale, stalePage))).toBe(false);
  });

  test('a page that somebody put before is adopted, with fewer entries or more than the own read has', () => {
    const two = withCommits(['6a', '4a']);
    const smaller = pageOfHead(withCommits(['6a']));
    const after = decodeHead(applied(two, spillUpdate(decodeHead(two), smaller)));
    expect(after).toMatchObject({ spilled: 2, tail: 4, guard: cid('6a') });
    expect(after.entries.map((entry) => entry.cid)).toEqual([cid('4a')]);
    const larger = pageOfHead(two);
    expect(decodeHead(applied(two, spillUpdate(decodeHead(withCommits(['6a'])), larger))).entries).toEqual([]);
  });

  test('A2: the guard never goes back', () => {
    const spilledFive = withCommits(['5a', '4a']);
    const first = { ...pageOfHead(withCommits(['5a'])) };
    const afterFirst = applied(spilledFive, spillUpdate(decodeHead(spilledFive), first));
    const afterSecond = applied(afterFirst, spillUpdate(decodeHead(afterFirst), pageOfHead(afterFirst)));
    expect(decodeHead(afterSecond).guard).toBe(cid('5a'));
    expect(isApplied(afterSecond, commitUpdate(commitOf(cid('5a'), 2)))).toBe(false);
  });

  test('a sealed head is spilled, too', () => {
    const sealed = applied(withCommits(['1a', '2a']), sealUpdate({ change: 'c', successors: [], deleted: false }, 9));
    const after = decodeHead(applied(sealed, spillUpdate(decodeHead(sealed), pageOfHead(sealed))));
    expect(after).toMatchObject({ state: 'sealed', entries: [], spilled: 4 });
  });
});

type Step = { readonly commit: number } | { readonly spiller: number; readonly does: 'read' | 'put' | 'write' };
type Spiller = { read?: Head; page?: Page };

const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ commit: fc.integer({ min: 1, max: 60 }) }) },
  { weight: 2, arbitrary: fc.record({ spiller: fc.nat({ max: 2 }), does: fc.constantFrom('read', 'put', 'write') }) },
);

/** What one step of a spiller does to the head: only its last one can change it. */
function spillStep(item: Item, pages: Map<number, Page>, spiller: Spiller, does: 'read' | 'put' | 'write'): Item {
  if (does === 'read') spiller.read = decodeHead(item);
  const own = spiller.read === undefined ? undefined : pageOf(spiller.read);
  if (does === 'put' && own !== undefined) {
    if (!pages.has(own.first)) pages.set(own.first, own);
    spiller.page = pages.get(own.first) ?? own;
  }
  if (does !== 'write' || spiller.read === undefined || spiller.page === undefined) return item;
  const update = spillUpdate(spiller.read, spiller.page);
  return isApplied(item, update) ? applied(item, update) : item;
}

test('whatever spillers read and when they write, the index stays whole and nothing of it goes back', () => {
  fc.assert(
    fc.property(fc.array(arbitraryStep, { maxLength: 100 }), (steps) => {
      let item = openHead();
      const pages = new Map<number, Page>();
      const spillers: [Spiller, Spiller, Spiller] = [{}, {}, {}];
      for (const step of steps) {
        const before = decodeHead(item);
        if ('commit' in step) {
          const commit = commitUpdate(commitOf(cid(`${step.commit}a`)));
          if (isApplied(item, commit)) item = applied(item, commit);
        } else item = spillStep(item, pages, spillers[step.spiller] ?? {}, step.does);
        const after = decodeHead(item);
        expect([after.guard >= before.guard, after.spilled >= before.spilled, after.tail >= before.tail]).toEqual([true, true, true]);
        const settled = [...pages.values()].toSorted((a, b) => a.first - b.first);
        expect(indexOf(after, settled)).toHaveLength(after.load.commits);
      }
    }),
    { numRuns: 300 },
  );
});
