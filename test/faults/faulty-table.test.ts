import { describe, expect, test } from 'vitest';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import type { Key, Update } from '../../src/ports/metadata-table.ts';
import { describeMetadataTable } from '../conformance/metadata-table.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';
import { createScript, firstOf } from './choose.ts';
import { createFaultyTable, onTable, type TableCall, type TableFault } from './faulty-table.ts';
import { randomTableFaults } from './random-faults.ts';
import { createThrottledTable } from './throttled-table.ts';

const { signal } = new AbortController();
const KEY: Key = { pk: 'p', sk: 's' };
const INCREMENT: Update = { condition: [], changes: [{ op: 'add', path: ['n'], value: 1 }] };

const INDEFINITE = { kind: 'indefinite', code: 'table-indefinite' };

async function make(...faults: Parameters<typeof onTable>[]) {
  const clock = createVirtualClock();
  const inner = createMemoryTable();
  await inner.put(KEY, { n: 0 }, [], signal);
  const script = createScript<TableCall, TableFault>(...faults.map(([match, fault]) => onTable(match, fault)));
  const table = createFaultyTable(inner, { choose: script.choose, clock });
  const n = async (): Promise<unknown> => (await inner.get(KEY, signal))?.['n'];
  return { clock, table, n, script };
}

/** 1,000 writes under faults by chance. */
async function runBySeed(seed: number) {
  const clock = createVirtualClock();
  const choose = randomTableFaults(createSeededRandom(seed), { share: 0.3, msMax: 50 });
  const table = createFaultyTable(createMemoryTable(), { choose, clock });
  const outcomes: unknown[] = [];
  for (let call = 0; call < 1_000; call++) {
    const write = table.update(KEY, { condition: [], changes: [] }, signal);
    outcomes.push(await clock.run(write).catch((error: { code: string }) => error.code));
  }
  return { outcomes: JSON.stringify(outcomes), kinds: new Set(table.calls.map(({ fault }) => fault?.kind)), faults: table.faults() };
}

// Without faults it is a table like any other.
describeMetadataTable('memory, with a script of no faults', async () => (await make()).table);

describe('faulty table', () => {
  test('the third update of a key fails, and no other call', async () => {
    const { table, n, script } = await make([{ op: 'update', key: KEY, nth: 3 }, { kind: 'throttled' }]);
    const outcomes: string[] = [];
    for (let call = 0; call < 5; call++) {
      await table.get(KEY, signal);
      await table.update({ pk: 'p', sk: 'other' }, { condition: [], changes: [] }, signal);
      outcomes.push(
        await table.update(KEY, INCREMENT, signal).then(
          () => 'ok',
          (error: { kind: string }) => error.kind,
        ),
      );
    }
    expect(outcomes).toEqual(['ok', 'ok', 'throttled', 'ok', 'ok']);
    expect(await n()).toBe(4);
    expect(table.faults()).toBe(1);
    expect(script.unmet()).toBe(0);
  });

  test.for<[TableFault['kind'], string, number]>([
    ['throttled', 'table-throttled', 0],
    ['conflict', 'table-conflict', 0],
    ['unreachable', 'table-unavailable', 0],
    ['failed', 'table-indefinite', 0],
    ['answer-lost', 'table-indefinite', 1],
    ['late', 'table-indefinite', 0],
  ])('%s: told as %s', async ([kind, code, applied]) => {
    const { table, n } = await make([{ op: 'update' }, { kind } as TableFault]);
    await expect(table.update(KEY, INCREMENT, signal)).rejects.toMatchObject({ code });
    expect(await n()).toBe(applied);
  });

  test('a late write lands when the test says so, or after its time', async () => {
    const { clock, table, n } = await make([{ nth: 1 }, { kind: 'late' }], [{ nth: 2 }, { kind: 'late', ms: 500 }]);
    await expect(table.update(KEY, INCREMENT, signal)).rejects.toMatchObject(INDEFINITE);
    await expect(table.update(KEY, INCREMENT, signal)).rejects.toMatchObject(INDEFINITE);
    await clock.advance(499);
    expect([await n(), table.late.waiting()]).toEqual([0, 2]);
    await clock.advance(1);
    expect([await n(), table.late.waiting()]).toEqual([1, 1]);
    await table.late.land();
    expect([await n(), table.late.waiting()]).toEqual([2, 0]);
    expect(table.late.landed.map(({ what }) => what)).toEqual(['update p s', 'update p s']);
  });

  test('a late write is judged by the item of then', async () => {
    const { table, n } = await make([{ nth: 1 }, { kind: 'late' }]);
    const ifZero: Update = { ...INCREMENT, condition: [{ op: '=', path: ['n'], value: 0 }] };
    await expect(table.update(KEY, ifZero, signal)).rejects.toMatchObject(INDEFINITE);
    await table.update(KEY, INCREMENT, signal);
    await table.late.land();
    expect(await n()).toBe(1);
    expect(table.late.landed[0]?.result).toMatchObject({ applied: false });
  });

  test('a doubled write is answered once and applied twice', async () => {
    const { table, n } = await make([{ op: 'update', nth: 1 }, { kind: 'doubled' }]);
    expect(await table.update(KEY, INCREMENT, signal)).toMatchObject({ applied: true, item: { n: 1 } });
    await table.late.land();
    expect(await n()).toBe(2);
  });

  test('delays pass before the write, or after it', async () => {
    const { clock, table, n } = await make([{ nth: 1 }, { kind: 'delayed', ms: 100 }], [{ nth: 2 }, { kind: 'answer-delayed', ms: 100 }]);
    const first = table.update(KEY, INCREMENT, signal);
    await clock.advance(99);
    expect(await n()).toBe(0);
    await clock.advance(1);
    await first;
    const second = table.update(KEY, INCREMENT, signal);
    await clock.advance(0);
    expect(await n()).toBe(2);
    await clock.run(second);
    expect(clock.monotonicMs()).toBe(200);
  });

  test.for([true, false])('a write that hangs until its caller gives up; applied: %s', async (applied) => {
    const { table, n } = await make([{ op: 'update' }, { kind: 'hangs', applied }]);
    const controller = new AbortController();
    const reason = new Error('deadline');
    const write = Promise.allSettled([table.update(KEY, INCREMENT, controller.signal)]);
    controller.abort(reason);
    expect(await write).toMatchObject([{ status: 'rejected', reason: { ...INDEFINITE, cause: reason } }]);
    expect(await n()).toBe(applied ? 1 : 0);
  });

  test('reads fail as reads do', async () => {
    const { table } = await make([{ op: 'get', nth: 1 }, { kind: 'failed' }], [{ op: 'query' }, { kind: 'throttled' }]);
    await expect(table.get(KEY, signal)).rejects.toMatchObject({ code: 'table-unavailable' });
    await expect(table.query({ pk: 'p', limit: 1 }, signal)).rejects.toMatchObject({ code: 'table-throttled' });
    expect(await table.get(KEY, signal)).toMatchObject({ n: 0 });
  });

  test('chance: about the share that was asked for, every kind, and the same for the same seed', async () => {
    const first = await runBySeed(1);
    expect(first.faults).toBeGreaterThan(230);
    expect(first.faults).toBeLessThan(370);
    expect(first.kinds.size).toBe(10);
    expect(await runBySeed(1)).toEqual(first);
    expect((await runBySeed(2)).outcomes).not.toBe(first.outcomes);
  });

  test('a script comes before chance, and both count every call', async () => {
    const script = createScript<TableCall, TableFault>(onTable({ nth: 2 }, { kind: 'conflict' }));
    const other = createScript<TableCall, TableFault>(onTable({ nth: 3 }, { kind: 'throttled' }));
    const table = createFaultyTable(createMemoryTable(), { choose: firstOf(script.choose, other.choose), clock: createVirtualClock() });
    const calls = [1, 2, 3, 4].map(() =>
      table.get(KEY, signal).then(
        () => 'ok',
        (error: { kind: string }) => error.kind,
      ),
    );
    expect(await Promise.all(calls)).toEqual(['ok', 'conflict', 'throttled', 'ok']);
  });
});

describe('throttled table', () => {
  test('a key takes its units a second, the whole item counts, and other keys are not touched', async () => {
    const clock = createVirtualClock();
    const table = createThrottledTable(createMemoryTable(), { clock, unitsPerSecond: 10 });
    const write = (sk: string): Promise<string> =>
      table.put({ pk: 'p', sk }, { filler: 'x'.repeat(1_500) }, [], signal).then(
        () => 'ok',
        (error: { code: string }) => error.code,
      );
    const burst: string[] = [];
    for (let call = 0; call < 7; call++) burst.push(await write('a'));
    expect(burst).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'table-throttled', 'table-throttled']);
    expect(await write('b')).toBe('ok');
    await clock.advance(200);
    expect([await write('a'), await write('a')]).toEqual(['ok', 'table-throttled']);
    expect(table.units()).toBe(14);
    expect(table.throttled()).toBe(3);
  });

  test('a refused condition costs as much as the item', async () => {
    const clock = createVirtualClock();
    const table = createThrottledTable(createMemoryTable(), { clock, unitsPerSecond: 4 });
    await table.put(KEY, { filler: 'x'.repeat(3_000) }, [], signal);
    expect(await table.update(KEY, { condition: [{ op: 'missing', path: ['pk'] }], changes: [] }, signal)).toMatchObject({
      applied: false,
    });
    await expect(table.update(KEY, { condition: [], changes: [] }, signal)).rejects.toMatchObject({ kind: 'throttled' });
    expect(table.units()).toBe(6);
  });
});
