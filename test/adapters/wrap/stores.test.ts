import { describe, expect, test } from 'vitest';
import { createMemoryStore } from '../../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { createRecordingTelemetry } from '../../../src/adapters/memory/recording-telemetry.ts';
import { wrapStore, wrapTable } from '../../../src/adapters/wrap/stores.ts';
import { describeMetadataTable } from '../../conformance/metadata-table.ts';
import { describeObjectStore } from '../../conformance/object-store.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';
import { createVirtualClock } from '../../simulation/virtual-clock.ts';

function hanging(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}

function make() {
  return { clock: createVirtualClock(), random: createSeededRandom(1), telemetry: createRecordingTelemetry() };
}

// A wrapper is an implementation of its port like any other.
describeMetadataTable('memory, wrapped', async () => wrapTable(createMemoryTable(), make()));
describeObjectStore('memory, wrapped', async () => ({ store: wrapStore(createMemoryStore(), make()), prefix: 'p' }));

describe('wrapped stores', () => {
  test('a read that hangs is ended, told as unavailable, and asked again', async () => {
    const deps = make();
    const inner = createMemoryTable();
    let calls = 0;
    const table = wrapTable({ ...inner, get: (key, signal) => (++calls < 3 ? hanging(signal) : inner.get(key, signal)) }, deps);
    expect(await deps.clock.run(table.get({ pk: 'p', sk: 's' }, new AbortController().signal))).toBeUndefined();
    expect(deps.telemetry.records.map(({ attributes }) => attributes['outcome'])).toEqual(['table-unavailable', 'table-unavailable', 'ok']);
    expect(deps.clock.monotonicMs()).toBeGreaterThanOrEqual(10_000);
    expect(deps.clock.sleeping()).toBe(0);
  });
});
