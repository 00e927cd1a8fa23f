import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileExpressions } from '../../src/adapters/dynamodb/expressions.ts';
import { decodeHead } from '../../src/format/head-item.ts';
import type { Line } from '../../src/model/head.ts';
import type { Minute } from '../../src/model/ids.ts';
import { HEAD_ENTRIES_MAX, HEAD_LINES_MAX, LINE_BATCHES_MAX, LOAD_BUCKETS } from '../../src/model/limits.ts';
import type { Item, Update } from '../../src/ports/metadata-table.ts';
import { commitUpdate, killUpdate } from '../../src/protocol/commit.ts';
import { sealUpdate } from '../../src/protocol/segment-life.ts';
import { arbitraryHead, headItem } from '../format/arbitrary-head.ts';
import { applied, cid, commitOf, isApplied, MINUTE, newHead, openHead } from './segment-state.ts';

const line = (next: number, epoch = 0): Line => ({ epoch, next, batches: [] });
const withCommits = (count: number): Item =>
  Array.from({ length: count }, (_, n) => commitOf(cid(`${n + 1}a`))).reduce(
    (item, commit) => applied(item, commitUpdate(commit)),
    openHead(),
  );

test('a commit takes the tail as its offset, raises it, and counts', () => {
  fc.assert(
    fc.property(
      arbitraryHead.filter((head) => head.entries.length < HEAD_ENTRIES_MAX),
      fc.integer({ min: 1, max: 10_000 }),
      (head, count) => {
        const id = cid('99999999z');
        fc.pre(head.entries.every((entry) => entry.cid !== id));
        const before = { ...headItem(head), state: 'open', f: MINUTE, g: '' };
        const after = decodeHead(applied(before, commitUpdate(commitOf(id, count))));
        expect(after.tail).toBe(head.tail + count);
        expect(after.entries.at(-1)).toMatchObject({ cid: id, offset: head.tail });
        expect(after.entries.slice(0, -1)).toEqual(head.entries);
        expect(after.load).toEqual({
          messages: head.load.messages + count,
          bytes: head.load.bytes + 10 * count,
          commits: head.load.commits + 1,
          buckets: head.load.buckets.with(0, (head.load.buckets[0] ?? 0) + count),
        });
      },
    ),
  );
});

/** A commit that moves the line `old` out, as read at `next`. */
const evicting = (next: number): Update =>
  commitUpdate(
    commitOf(cid('9a'), 1, {
      lines: [{ producer: 'p1', before: undefined, after: line(1) }],
      victims: [{ producer: 'old', line: line(next) }],
    }),
  );

describe('a commit is refused', () => {
  const commit = commitOf(cid('5a'), 2);

  test('on a segment that is pending or sealed', () => {
    expect(isApplied(newHead(), commitUpdate(commit))).toBe(false);
    const sealed = applied(openHead(), sealUpdate({ change: 'c1', successors: [], deleted: false }, 9));
    expect(isApplied(sealed, commitUpdate(commit))).toBe(false);
  });

  test('A2: at or below the guard', () => {
    expect(isApplied({ ...openHead(), g: cid('5a') }, commitUpdate(commit))).toBe(false);
    expect(isApplied({ ...openHead(), g: cid('6a') }, commitUpdate(commit))).toBe(false);
    expect(isApplied({ ...openHead(), g: cid('4z') }, commitUpdate(commit))).toBe(true);
  });

  test('G1: with an object of a minute below the floor', () => {
    expect(isApplied(openHead('00000101' as Minute), commitUpdate(commit))).toBe(false);
    expect(isApplied(openHead(MINUTE), commitUpdate(commit))).toBe(true);
  });

  test('where its id stands already', () => {
    expect(isApplied(applied(openHead(), commitUpdate(commit)), commitUpdate(commit))).toBe(false);
  });

  test('W1: on a head whose spills lag', () => {
    expect(isApplied(withCommits(HEAD_ENTRIES_MAX - 1), commitUpdate(commitOf(cid('99a'))))).toBe(true);
    expect(isApplied(withCommits(HEAD_ENTRIES_MAX), commitUpdate(commitOf(cid('99a'))))).toBe(false);
  });

  test('at another tail than the expected one', () => {
    const commits = [2, 3, 4].map((matchTail) => commitOf(cid('99a'), 1, { matchTail }));
    expect(commits.map((one) => isApplied(withCommits(3), commitUpdate(one)))).toEqual([false, true, false]);
  });

  test('where a line of its is not as it was read', () => {
    const item = { ...openHead(), p: { p1: { e: 1, n: 5, b: [] } } };
    const from = (before: Line | undefined): boolean =>
      isApplied(item, commitUpdate(commitOf(cid('9a'), 1, { lines: [{ producer: 'p1', before, after: line(6, 1) }] })));
    expect(from(line(5, 1))).toBe(true);
    expect(from(line(4, 1))).toBe(false);
    expect(from(line(5, 0))).toBe(false);
    expect(from(undefined)).toBe(false);
  });

  test('P2: where a line came and went since the read', () => {
    const change = { lines: [{ producer: 'p1', before: undefined, after: line(1) }], evictions: 3 };
    expect(isApplied({ ...openHead(), ev: 3 }, commitUpdate(commitOf(cid('9a'), 1, change)))).toBe(true);
    expect(isApplied({ ...openHead(), ev: 4 }, commitUpdate(commitOf(cid('9a'), 1, change)))).toBe(false);
  });

  test('P3: where a victim has moved on since the read', () => {
    const item = { ...openHead(), p: { old: { e: 0, n: 5, b: [] } } };
    expect(isApplied(item, evicting(4))).toBe(false);
    const after = decodeHead(applied(item, evicting(5)));
    expect([...after.lines.keys()]).toEqual(['p1']);
    expect(after.evictions).toBe(1);
  });
});

test('A7: of two variants under one id, one lands', () => {
  const first = commitOf(cid('5a'), 3);
  const second = commitOf(cid('5a'), 2);
  fc.assert(
    fc.property(fc.shuffledSubarray([first, second, first, second], { minLength: 2 }), (attempts) => {
      const item = attempts.reduce(
        (state, commit) => (isApplied(state, commitUpdate(commit)) ? applied(state, commitUpdate(commit)) : state),
        openHead(),
      );
      expect(decodeHead(item).tail).toBe(attempts[0]?.count);
    }),
  );
});

test('K1: a killed id never lands, and one that has landed is not killed', () => {
  const commit = commitUpdate(commitOf(cid('5a')));
  expect(isApplied(applied(openHead(), killUpdate(cid('5a'))), commit)).toBe(false);
  expect(isApplied(applied(openHead(), commit), killUpdate(cid('5a')))).toBe(false);
  expect(isApplied({ ...openHead(), g: cid('6a') }, killUpdate(cid('5a')))).toBe(false);
});

const names = (prefix: string): string[] => Array.from({ length: HEAD_LINES_MAX }, (_, n) => `${prefix}${n}`.padEnd(64, 'x'));

test("the largest commit fits into the table's expressions", () => {
  const batches = Array.from({ length: LINE_BATCHES_MAX }, (_, n) => ({
    sequence: 2 ** 50 + n,
    count: 10_000,
    cid: cid(`${n}a`),
    delta: 9_999,
  }));
  const full: Line = { epoch: 2 ** 50, next: 2 ** 51, batches };
  const update = commitUpdate(
    commitOf(cid('9a'), 10_000, {
      buckets: Array.from({ length: LOAD_BUCKETS }, () => 1),
      matchTail: 2 ** 52,
      lines: names('new').map((producer) => ({ producer, before: undefined, after: full })),
      victims: names('old').map((producer) => ({ producer, line: full })),
    }),
  );
  expect(() => compileExpressions(update.condition, update.changes)).not.toThrow();
});
