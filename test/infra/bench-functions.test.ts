import { expect, test } from 'vitest';
import { judgeFlood } from '../../infra/bench/flood-aims.ts';
import { wallMs, writeFlood } from '../../infra/bench/flood-writers.ts';
import { runFunctionLoad } from '../../infra/bench/function-load.ts';
import { costOf } from '../../infra/bench/function-prices.ts';
import { meterStores } from '../../infra/bench/metered-stores.ts';
import type { Row } from '../../infra/bench/row.ts';
import { createTolerantAudit } from '../../infra/bench/tolerant-audit.ts';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';

const { signal } = new AbortController();
const KEY = { pk: 'h#a', sk: 'head' };

test('a write costs by what was there or is there afterwards, also where it is refused, and a read by four times as much', async () => {
  const { table, take } = meterStores(createMemoryTable(), createMemoryStore());
  await table.put(KEY, { text: 'x'.repeat(5_000) }, [], signal);
  expect(take()).toMatchObject({ writes: 1, writeUnits: 5, reads: 0 });
  await table.put(KEY, { text: 'x' }, [{ op: 'missing', path: ['text'] }], signal);
  expect(take()).toMatchObject({ writes: 1, writeUnits: 5 });
  await table.get(KEY, signal);
  expect(take()).toMatchObject({ writes: 0, reads: 1, readUnits: 2 });
  await table.put(KEY, { text: 'x' }, [], signal);
  await table.put(KEY, { text: 'x' }, [], signal);
  expect(take()).toMatchObject({ writes: 2, writeUnits: 6 });
});

test('a request costs its function, its units and each half of a mebibyte', () => {
  const cost = costOf({ asked: { writeUnits: 2, readUnits: 8 }, ms: 100, gigabytes: 1, bytes: 524_289 });
  expect(cost.functions * 1_000_000).toBeCloseTo(0.2 + 1.33334, 5);
  expect(cost.table * 1_000_000).toBeCloseTo(2.25, 5);
  expect(cost.gateway * 1_000_000).toBeCloseTo(2, 5);
});

test.each([
  { told: 'that it is not stored', indefinite: false, expected: [{ fault: 'refused', count: 1, example: 'row 0' }] },
  { told: 'that nobody knows', indefinite: true, expected: [] },
])('of a publish that was told $told, a message may be missing; where it is there: $expected', async ({ indefinite, expected }) => {
  const sent: unknown[] = [];
  const publish = (body: string) => {
    const { messages } = JSON.parse(body) as { readonly messages: readonly unknown[] };
    sent.push(...messages);
    return Promise.resolve([{ code: 'throttled', detail: '', retryable: true, indefinite, retryAfterMs: 60_000 }]);
  };
  const audit = createTolerantAudit(2);
  const phases = [{ name: 'before', seconds: 2, perSecond: 1 }] as const;
  await writeFlood({ clients: [{ publish }], phases, beginMs: wallMs() - 1_000, audit, signal, writers: 1 });
  expect([sent.length, audit.findings()]).toEqual([2, []]);
  audit.read({ segment: 's0000000', offset: 0, ...(sent[0] as { readonly key: string; readonly value: unknown }) });
  expect(audit.findings()).toEqual(expected);
});

test('a load without a platform ends with that', async () => {
  const fleet = { broker: () => 'http://127.0.0.1:1', read: 'http://127.0.0.1:1', rebalance: () => Promise.resolve() };
  const load = { instances: 1, seconds: 1, perSecond: 1 };
  const run = runFunctionLoad({ fleet, token: 't', topic: 'x', signal }, { calm: load, flood: load, rebalanceMs: 1 });
  await expect(run).rejects.toMatchObject({ code: 'no-answer' });
});

test('aims of functions: what may be sent again has not failed', () => {
  const row = { case: 'n', requests: 90, errors: 10, faults: 0, unretryable: 0, firstError: 'throttled' } as Row;
  const met = (rows: readonly Row[]): boolean[] => judgeFlood(rows).map((aim) => aim.met);
  expect(met([row])).toEqual([true, true, false]);
  expect(met([{ ...row, reliefSeconds: 20 }])).toEqual([true, true, true]);
  expect(met([{ ...row, unretryable: 1, faults: 1 }])).toEqual([false, false, false]);
});
