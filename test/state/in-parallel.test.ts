import { expect, test } from 'vitest';
import { inParallel } from '../../src/state/in-parallel.ts';

test('keeps the order, and has at most so many calls under way', async () => {
  let running = 0;
  let most = 0;
  const results = await inParallel([5, 1, 4, 2, 3], 2, async (value) => {
    running += 1;
    most = Math.max(most, running);
    for (let turn = 0; turn < value; turn += 1) await Promise.resolve();
    running -= 1;
    return value * 10;
  });
  expect(results).toEqual([50, 10, 40, 20, 30]);
  expect(most).toBe(2);
  expect(await inParallel([], 2, async (value) => value)).toEqual([]);
});

test('rejects with the first failure, and begins nothing after it', async () => {
  const begun: number[] = [];
  const failure = new Error('second');
  const work = inParallel([1, 2, 3, 4, 5], 2, async (value) => {
    begun.push(value);
    await Promise.resolve();
    if (value === 2) throw failure;
    await Promise.resolve();
  });
  await expect(work).rejects.toBe(failure);
  await new Promise((resolve) => void setImmediate(resolve));
  expect(begun).toEqual([1, 2]);
});
