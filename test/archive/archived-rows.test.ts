import { describe, expect, test } from 'vitest';
import { archivedRows, type CommitMark } from '../../src/archive/archived-rows.ts';
import type { StoredMessage } from '../../src/model/message.ts';
import { message } from '../consume/fixture.ts';

const at = (offset: number): StoredMessage => ({ ...message('x'), offset, partition: 0 });
const mark = (offset: number, committedMs: number, uploaded = false): CommitMark => ({ offset, committedMs, uploaded });

async function timesOf(offsets: readonly (readonly number[])[], marks: readonly CommitMark[], first = 0, last = 5): Promise<number[][]> {
  async function* pieces(): AsyncGenerator<readonly StoredMessage[]> {
    for (const piece of offsets) yield piece.map(at);
  }
  const rows: number[][] = [];
  for await (const piece of archivedRows(pieces(), { first, last }, marks)) rows.push(...piece.map((row) => [row.offset, row.committedMs]));
  return rows;
}

describe('rows', () => {
  test('have the time of the entry that holds them, whatever pieces they come in', async () => {
    const marks = [mark(0, 10), mark(2, 10), mark(3, 30)];
    const expected = [10, 10, 10, 30, 30, 30].map((committedMs, offset) => [offset, committedMs]);
    expect(await timesOf([[0, 1, 2, 3, 4, 5]], marks)).toEqual(expected);
    expect(await timesOf([[0], [1, 2, 3], [], [4, 5]], marks)).toEqual(expected);
  });

  test('begin in the middle of an entry', async () => {
    expect(await timesOf([[4, 5]], [mark(1, 10), mark(5, 20)], 4)).toEqual([
      [4, 10],
      [5, 20],
    ]);
  });

  test('may be missing where a client has uploaded them, and there alone', async () => {
    const marks = [mark(0, 10), mark(1, 20, true), mark(3, 30), mark(4, 40, true)];
    expect(await timesOf([[0, 3]], marks)).toEqual([
      [0, 10],
      [3, 30],
    ]);
    expect(await timesOf([[0, 2, 3, 5]], marks)).toHaveLength(4);
    await expect(timesOf([], [mark(0, 10, true)])).resolves.toEqual([]);
    for (const offsets of [[], [3], [0], [1, 2, 3], [0, 1, 2], [0, 4]]) {
      await expect(timesOf([offsets], marks), String(offsets)).rejects.toMatchObject({ code: 'ERR_ASSERTION' });
    }
  });

  test('are refused out of order, twice, or outside of the file', async () => {
    const marks = [mark(0, 10, true)];
    for (const offsets of [[1, 0], [1, 1], [6]]) {
      await expect(timesOf([offsets], marks), String(offsets)).rejects.toMatchObject({ code: 'ERR_ASSERTION' });
    }
    await expect(timesOf([[1]], [mark(2, 10, true)])).rejects.toMatchObject({ code: 'ERR_ASSERTION' });
    await expect(timesOf([[1]], [mark(0, 10, true)], 2)).rejects.toMatchObject({ code: 'ERR_ASSERTION' });
  });
});
