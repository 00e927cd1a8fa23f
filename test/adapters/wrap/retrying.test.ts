import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { retryingStore, retryingTable } from '../../../src/adapters/wrap/retrying.ts';
import { type ErrorKind, KelpError } from '../../../src/model/errors.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';
import { createVirtualClock } from '../../simulation/virtual-clock.ts';

const KEY = { pk: 'p', sk: 's' };
const UNAVAILABLE = new KelpError('unavailable', 'table-unavailable', 'm');

/** A table whose calls fail with these errors, one after the other, and then work. */
function failing(errors: readonly Error[]) {
  const calls: string[] = [];
  const left = [...errors];
  const inner = createMemoryTable();
  const fail = (name: string): void => {
    calls.push(name);
    const error = left.shift();
    if (error !== undefined) throw error;
  };
  const table: MetadataTable = {
    get: async (...args) => (fail('get'), inner.get(...args)),
    query: async (...args) => (fail('query'), inner.query(...args)),
    put: async (...args) => (fail('put'), inner.put(...args)),
    update: async (...args) => (fail('update'), inner.update(...args)),
    delete: async (...args) => (fail('delete'), inner.delete(...args)),
  };
  return { table, calls };
}

function make(errors: readonly Error[], limits = { attemptsMax: 8, budgetMs: 30_000 }) {
  const clock = createVirtualClock();
  const { table, calls } = failing(errors);
  return { clock, calls, table: retryingTable(table, { clock, random: createSeededRandom(1), ...limits }) };
}

describe('retrying reads', () => {
  test('three transient failures, then success: four calls', async () => {
    const errors = (['unavailable', 'throttled', 'conflict'] as const).map((kind) => new KelpError(kind, 'code', 'm'));
    const { clock, calls, table } = make(errors);
    const { signal } = new AbortController();
    expect(await clock.run(table.get(KEY, signal))).toBeUndefined();
    expect(calls).toEqual(['get', 'get', 'get', 'get']);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('a query is asked again as well', async () => {
    const { clock, calls, table } = make([UNAVAILABLE]);
    expect(await clock.run(table.query({ pk: 'p', limit: 1 }, new AbortController().signal))).toEqual({ items: [], more: false });
    expect(calls).toHaveLength(2);
  });

  test('a write is asked once, whatever comes', async () => {
    const { signal } = new AbortController();
    const { calls, table } = make(Array.from({ length: 3 }, () => UNAVAILABLE));
    await expect(table.update(KEY, { condition: [], changes: [] }, signal)).rejects.toBe(UNAVAILABLE);
    await expect(table.put(KEY, {}, [], signal)).rejects.toBe(UNAVAILABLE);
    await expect(table.delete(KEY, [], signal)).rejects.toBe(UNAVAILABLE);
    expect(calls).toEqual(['update', 'put', 'delete']);
  });

  test.for<Error>([
    ...(['invalid', 'denied', 'not-found', 'fenced', 'indefinite', 'corrupt'] satisfies ErrorKind[]).map(
      (kind) => new KelpError(kind, 'c', 'm'),
    ),
    new Error('unavailable, throttled: text does not count'),
  ])('what another attempt can\u2019t mend is passed on at once: %s', async (error) => {
    const { calls, table } = make([error]);
    await expect(table.get(KEY, new AbortController().signal)).rejects.toBe(error);
    expect(calls).toHaveLength(1);
  });

  test('a permanent failure ends with its error, within the budget and after more than one call', async () => {
    const { clock, calls, table } = make(
      Array.from({ length: 1_000 }, () => UNAVAILABLE),
      { attemptsMax: 1_000, budgetMs: 2_000 },
    );
    const start = clock.monotonicMs();
    await expect(clock.run(table.get(KEY, new AbortController().signal))).rejects.toBe(UNAVAILABLE);
    expect(clock.monotonicMs() - start).toBeLessThan(2_000);
    expect(calls.length).toBeGreaterThan(1);
  });

  test('attempts are bounded', async () => {
    const { clock, calls, table } = make(
      Array.from({ length: 100 }, () => UNAVAILABLE),
      { attemptsMax: 5, budgetMs: 1e9 },
    );
    await expect(clock.run(table.get(KEY, new AbortController().signal))).rejects.toBe(UNAVAILABLE);
    expect(calls).toHaveLength(5);
  });

  test('waits double up to their cap, by the random source, and never fall below what is asked for', async () => {
    const waits: number[] = [];
    const errors = [...Array.from({ length: 9 }, () => UNAVAILABLE), new KelpError('throttled', 'c', 'm', { retryAfterMs: 9_000 })];
    const clock = createVirtualClock();
    const noted = { ...clock, sleep: (ms: number, signal: AbortSignal) => (waits.push(ms), clock.sleep(ms, signal)) };
    const random = { ...createSeededRandom(1), fraction: () => 0.5 };
    const table = retryingTable(failing(errors).table, { clock: noted, random, attemptsMax: 100, budgetMs: 1e9 });
    await clock.run(table.get(KEY, new AbortController().signal));
    expect(waits).toEqual([25, 50, 100, 200, 400, 800, 1_600, 3_000, 3_000, 9_000]);
  });

  test('an abort beforehand: nothing is asked', async () => {
    const { calls, table } = make([]);
    const reason = new Error('cancelled');
    await expect(table.get(KEY, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(calls).toHaveLength(0);
  });

  test('an abort while it waits ends it with the reason, and nothing more is asked', async () => {
    const { clock, calls, table } = make([UNAVAILABLE, UNAVAILABLE]);
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const read = Promise.allSettled([table.get(KEY, controller.signal)]);
    await clock.advance(0);
    expect(clock.sleeping()).toBe(1);
    controller.abort(reason);
    expect(await read).toEqual([{ status: 'rejected', reason }]);
    expect(calls).toHaveLength(1);
    expect(clock.sleeping()).toBe(0);
  });

  test.for([1, 5])(
    'an abort during an attempt ends it with the reason, whatever error it came out as; of %s attempts',
    async (attemptsMax) => {
      const controller = new AbortController();
      const reason = new Error('deadline');
      const clock = createVirtualClock();
      const { table } = failing([]);
      let calls = 0;
      const wrapped = { ...table, get: () => (calls++, controller.abort(reason), Promise.reject(UNAVAILABLE)) };
      const retrying = retryingTable(wrapped, { clock, random: createSeededRandom(1), attemptsMax, budgetMs: 1e9 });
      await expect(retrying.get(KEY, controller.signal)).rejects.toBe(reason);
      expect(calls).toBe(1);
    },
  );

  test('of the store, reads, heads, lists and deletes are asked again, and puts are not', async () => {
    const { signal } = new AbortController();
    const clock = createVirtualClock();
    const inner = createMemoryStore();
    await inner.put('k', [new Uint8Array([1])], signal);
    const calls: string[] = [];
    const failOnce = (name: string): void => {
      calls.push(name);
      if (calls.filter((call) => call === name).length === 1) throw new KelpError('throttled', 'store-throttled', 'm');
    };
    const store = retryingStore(
      {
        put: async (...args) => (failOnce('put'), inner.put(...args)),
        getRange: async (...args) => (failOnce('getRange'), inner.getRange(...args)),
        head: async (...args) => (failOnce('head'), inner.head(...args)),
        list: async (...args) => (failOnce('list'), inner.list(...args)),
        delete: async (...args) => (failOnce('delete'), inner.delete(...args)),
      },
      { clock, random: createSeededRandom(1), attemptsMax: 5, budgetMs: 1e9 },
    );
    expect(await clock.run(store.getRange('k', 0, 1, signal))).toEqual(new Uint8Array([1]));
    expect(await clock.run(store.head('k', signal))).toEqual({ bytes: 1, sha256: undefined });
    expect((await clock.run(store.list('k', { limit: 1 }, signal))).objects).toHaveLength(1);
    await clock.run(store.delete('k', signal));
    await expect(store.put('k', [], signal)).rejects.toMatchObject({ kind: 'throttled' });
    expect(calls).toEqual(['getRange', 'getRange', 'head', 'head', 'list', 'list', 'delete', 'delete', 'put']);
  });
});
