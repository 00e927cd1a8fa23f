import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { boundedStore, boundedTable } from '../../../src/adapters/wrap/bounded.ts';
import { KelpError } from '../../../src/model/errors.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../../src/ports/object-store.ts';
import { createVirtualClock } from '../../simulation/virtual-clock.ts';

const KEY = { pk: 'p', sk: 's' };

/** Rejects with the signal's reason, and not before it aborts. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}

const HANGING_TABLE: MetadataTable = {
  get: (_key, signal) => untilAborted(signal),
  put: (_key, _item, _condition, signal) => untilAborted(signal),
  update: (_key, _update, signal) => untilAborted(signal),
  delete: (_key, _condition, signal) => untilAborted(signal),
  query: (_query, signal) => untilAborted(signal),
};
const HANGING_STORE: ObjectStore = {
  put: (_key, _body, signal) => untilAborted(signal),
  getRange: (_key, _start, _length, signal) => untilAborted(signal),
  head: (_key, signal) => untilAborted(signal),
  list: (_prefix, _page, signal) => untilAborted(signal),
  delete: (_key, signal) => untilAborted(signal),
};

describe('bounded attempts', () => {
  test('an attempt that hangs ends after its time: a read unavailable, a write indefinite', async () => {
    const clock = createVirtualClock();
    const { signal } = new AbortController();
    const table = boundedTable(HANGING_TABLE, { clock, attemptMsMax: 5_000 });
    const store = boundedStore(HANGING_STORE, { clock, attemptMsMax: 5_000 });
    const calls = {
      get: table.get(KEY, signal),
      query: table.query({ pk: 'p', limit: 1 }, signal),
      put: table.put(KEY, {}, [], signal),
      update: table.update(KEY, { condition: [], changes: [] }, signal),
      delete: table.delete(KEY, [], signal),
      storePut: store.put('k', [], signal),
      storeGet: store.getRange('k', 0, 1, signal),
      storeHead: store.head('k', signal),
      storeList: store.list('k', { limit: 1 }, signal),
    };
    const codes = Object.entries(calls).map(async ([name, call]) => [
      name,
      await call.then(
        () => 'done',
        (error: KelpError) => error.code,
      ),
    ]);
    await clock.advance(4_999);
    expect(clock.sleeping()).toBe(9);
    await clock.advance(1);
    expect(Object.fromEntries((await Promise.all(codes)) as [string, string][])).toEqual({
      get: 'table-unavailable',
      query: 'table-unavailable',
      put: 'table-indefinite',
      update: 'table-indefinite',
      delete: 'table-indefinite',
      storePut: 'store-indefinite',
      storeGet: 'store-unavailable',
      storeHead: 'store-unavailable',
      storeList: 'store-unavailable',
    });
  });

  test('the caller\u2019s own abort is passed on as it is', async () => {
    const clock = createVirtualClock();
    const controller = new AbortController();
    const table = boundedTable(HANGING_TABLE, { clock, attemptMsMax: 5_000 });
    const reason = new Error('cancelled');
    const call = table.get(KEY, controller.signal);
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    await expect(table.get(KEY, controller.signal)).rejects.toBe(reason);
  });

  test('what the adapter knows better is passed on as it is', async () => {
    const clock = createVirtualClock();
    const known = new KelpError('indefinite', 'table-indefinite', 'given up before its answer');
    const table = boundedTable(
      { ...HANGING_TABLE, update: (_key, _update, signal) => untilAborted(signal).catch(() => Promise.reject(known)) },
      {
        clock,
        attemptMsMax: 5_000,
      },
    );
    const call = table.update(KEY, { condition: [], changes: [] }, new AbortController().signal);
    const settled = Promise.allSettled([call]);
    await clock.advance(5_000);
    expect(await settled).toEqual([{ status: 'rejected', reason: known }]);
  });

  test('an attempt that ends in time leaves no timer and no listener', async () => {
    const clock = createVirtualClock();
    const { signal } = new AbortController();
    const table = boundedTable(createMemoryTable(), { clock, attemptMsMax: 5_000 });
    const store = boundedStore(createMemoryStore(), { clock, attemptMsMax: 5_000 });
    for (let call = 0; call < 1_000; call++) {
      await table.put(KEY, { call }, [], signal);
      await store.put('k', [], signal);
    }
    expect(await table.get(KEY, signal)).toEqual({ ...KEY, call: 999 });
    expect(clock.sleeping()).toBe(0);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});
