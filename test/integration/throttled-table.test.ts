import { afterEach, beforeEach, expect, test } from 'vitest';
import { startThrottledTable, type ThrottledTable } from '../../infra/bench/throttled-table.ts';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { Key, MetadataTable } from '../../src/ports/metadata-table.ts';
import { freshTable } from '../stack.ts';

const UNITS_PER_SECOND = 50;
const KIBIBYTE = 1_024;
const HOT = { pk: 'h#hot', sk: 'head' };
const COLD = { pk: 'h#cold', sk: 'head' };
const BESIDE = { pk: HOT.pk, sk: 'beside' };
const { signal } = new AbortController();
const clock = createSystemClock();

let nowMs = 0;
let throttled: ThrottledTable;
let table: MetadataTable;

/** A table in which all three items are there, behind the proxy's back. */
beforeEach(async () => {
  const address = await freshTable('dynoxide', AbortSignal.timeout(30_000));
  const direct = createLeanTable({ ...address, clock });
  for (const key of [HOT, COLD, BESIDE]) await direct.put(key, { n: 0 }, [], signal);
  nowMs = 0;
  const rate = { unitsPerSecond: UNITS_PER_SECOND, burstSeconds: 1, nowMs: () => nowMs };
  throttled = await startThrottledTable({ target: address.endpoint, ...rate });
  table = createLeanTable({ ...address, endpoint: throttled.url, clock });
});
afterEach(() => throttled.close());

/** Adds one to the item; whether that was let through. */
async function add(key: Key = HOT): Promise<boolean> {
  try {
    return (await table.update(key, { condition: [], changes: [{ op: 'add', path: ['n'], value: 1 }] }, signal)).applied;
  } catch (error) {
    expect(error).toMatchObject({ kind: 'throttled', code: 'table-throttled' });
    return false;
  }
}

async function addMany(count: number): Promise<number> {
  const added = await Promise.all(Array.from({ length: count }, () => add()));
  return added.filter(Boolean).length;
}

test('a key over its rate is refused, with nothing of it applied; others are not, and reads pass', async () => {
  expect(await addMany(80)).toBe(UNITS_PER_SECOND);
  expect(await table.get(HOT, signal)).toMatchObject({ n: UNITS_PER_SECOND });
  expect((await table.query({ pk: HOT.pk, limit: 10 }, signal)).items).toHaveLength(2);
  expect(await add(COLD)).toBe(true);
  expect(await add(BESIDE)).toBe(false);
  expect(throttled.counts()).toEqual({ writes: 51, units: 51, refused: 31 });

  nowMs += 500;
  expect(await addMany(80)).toBe(UNITS_PER_SECOND / 2);
  nowMs += 10_000;
  expect(await addMany(80)).toBe(UNITS_PER_SECOND);
  expect(await table.get(HOT, signal)).toMatchObject({ n: UNITS_PER_SECOND * 2.5 });
});

test('a write costs a unit for each KiB of the item, put, updated, refused by its condition or deleted', async () => {
  const costOf = async (write: () => Promise<unknown>): Promise<number> => {
    const before = throttled.counts().units;
    await write();
    return throttled.counts().units - before;
  };
  const absent = [{ op: 'missing', path: ['n'] }] as const;
  expect(await costOf(() => table.put(HOT, { n: 0, text: 'x'.repeat(4 * KIBIBYTE) }, [], signal))).toBe(5);
  expect(await costOf(() => add())).toBe(5);
  expect(await costOf(() => table.put(HOT, { n: 1 }, absent, signal))).toBe(5);
  expect(await costOf(() => table.update(HOT, { condition: [], changes: [{ op: 'remove', path: ['text'] }] }, signal))).toBe(5);
  expect(await costOf(() => add())).toBe(1);
  expect(await costOf(() => table.delete(HOT, [], signal))).toBe(1);
});

test('what a write costs beyond what was left is owed by the next ones', async () => {
  await table.put(HOT, { n: 0, text: 'x'.repeat(73 * KIBIBYTE) }, [], signal);
  nowMs += 400;
  expect(await add()).toBe(false);
  nowMs += 200;
  expect(await add()).toBe(true);
});
