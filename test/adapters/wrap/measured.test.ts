import { describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { createRecordingTelemetry } from '../../../src/adapters/memory/recording-telemetry.ts';
import { measuredStore, measuredTable } from '../../../src/adapters/wrap/measured.ts';
import { createVirtualClock } from '../../simulation/virtual-clock.ts';

const KEY = { pk: 'p', sk: 's' };

describe('measured calls', () => {
  test('each call of the table is recorded once, by operation and outcome, in seconds', async () => {
    const clock = createVirtualClock();
    const telemetry = createRecordingTelemetry();
    const inner = createMemoryTable();
    const slow = { ...inner, get: async (...args: Parameters<typeof inner.get>) => (await clock.sleep(250, args[1]), inner.get(...args)) };
    const table = measuredTable(slow, { clock, telemetry });
    const { signal } = new AbortController();
    await table.put(KEY, { a: 1 }, [], signal);
    await table.put(KEY, {}, [{ op: 'missing', path: ['pk'] }], signal);
    await table.update(KEY, { condition: [{ op: 'missing', path: ['pk'] }], changes: [] }, signal);
    await expect(table.update(KEY, { condition: [], changes: [{ op: 'add', path: ['b'], value: 1 }] }, signal)).rejects.toMatchObject({
      code: 'table-refused',
    });
    await table.query({ pk: 'p', limit: 1 }, signal);
    await table.delete(KEY, [], signal);
    await clock.run(table.get(KEY, signal));
    await expect(table.get(KEY, AbortSignal.abort(new Error('cancelled')))).rejects.toThrow('cancelled');
    expect(telemetry.records.map(({ name, value, attributes }) => [name, attributes['operation'], attributes['outcome'], value])).toEqual(
      [
        ['put', 'ok', 0],
        ['put', 'refused', 0],
        ['update', 'refused', 0],
        ['update', 'table-refused', 0],
        ['query', 'ok', 0],
        ['delete', 'ok', 0],
        ['get', 'ok', 0.25],
        ['get', 'aborted', 0],
      ].map((record) => ['kelp.table.operation.duration', ...record]),
    );
  });

  test('the store\u2019s bytes are counted by direction, once they have moved', async () => {
    const telemetry = createRecordingTelemetry();
    const store = measuredStore(createMemoryStore(), { clock: createVirtualClock(), telemetry });
    const { signal } = new AbortController();
    await store.put('k', [new Uint8Array(3), new Uint8Array(4)], signal);
    await store.getRange('k', 5, 100, signal);
    await expect(store.getRange('none', 5, 100, signal)).rejects.toMatchObject({ code: 'object-not-found' });
    await store.head('k', signal);
    await store.list('k', { limit: 1 }, signal);
    await store.delete('k', signal);
    expect(telemetry.counts).toEqual([
      { name: 'kelp.store.io', value: 7, attributes: { direction: 'write' } },
      { name: 'kelp.store.io', value: 2, attributes: { direction: 'read' } },
    ]);
    expect(telemetry.records.map(({ attributes }) => `${attributes['operation']} ${attributes['outcome']}`)).toEqual([
      'put ok',
      'get ok',
      'get object-not-found',
      'head ok',
      'list ok',
      'delete ok',
    ]);
  });
});
