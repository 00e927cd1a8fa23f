import { expect, test } from 'vitest';
import { createLoadMeter } from '../../../src/adapters/system/load-meter.ts';
import { measuredStore, measuredTable } from '../../../src/adapters/wrap/measured.ts';
import { createMemoryStore } from '../../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import type { Telemetry } from '../../../src/ports/telemetry.ts';
import { createVirtualClock } from '../../simulation/virtual-clock.ts';

const { signal } = new AbortController();

function metered() {
  const clock = createVirtualClock();
  const seen: unknown[] = [];
  const note: Telemetry = {
    count: (...call) => void seen.push(['count', ...call]),
    adjust: (...call) => void seen.push(['adjust', ...call]),
    record: (...call) => void seen.push(['record', ...call]),
    log: (...call) => void seen.push(['log', ...call]),
  };
  return { clock, seen, ...createLoadMeter({ clock, telemetry: note }) };
}

test('rates are of the time since the last sample', async () => {
  const { clock, telemetry, meter } = metered();
  telemetry.count('kelp.publish.messages', 30);
  telemetry.count('kelp.publish.messages', 10);
  telemetry.count('kelp.store.io', 5_000, { direction: 'write' });
  telemetry.count('kelp.store.io', 7_000, { direction: 'read' });
  await clock.advance(2_000);
  expect(meter.sample()).toMatchObject({ messagesPerSecond: 20, bytesPerSecond: 2_500 });
  await clock.advance(2_000);
  expect(meter.sample()).toMatchObject({ messagesPerSecond: 0, bytesPerSecond: 0 });
});

test('requests are those under way', () => {
  const { telemetry, meter } = metered();
  telemetry.adjust('http.server.active_requests', 1);
  telemetry.adjust('http.server.active_requests', 1);
  telemetry.adjust('kelp.http.waiters', 1);
  telemetry.adjust('http.server.active_requests', -1);
  expect(meter.sample().requests).toBe(1);
  expect(meter.sample().requests).toBe(1);
});

test('a commit takes what updates took on average', () => {
  const { telemetry, meter } = metered();
  const record = (seconds: number, operation: string, outcome: string): void =>
    telemetry.record('kelp.table.operation.duration', seconds, { operation, outcome });
  record(0.004, 'update', 'ok');
  record(0.008, 'update', 'ok');
  record(3, 'update', 'table-indefinite');
  record(1, 'get', 'ok');
  expect(meter.sample().commitMs).toBe(6);
  expect(meter.sample().commitMs).toBe(0);
});

test('the names are those that the stores are measured under', async () => {
  const { clock, telemetry, meter } = metered();
  const memory = createMemoryTable();
  const slow: MetadataTable = {
    ...memory,
    async update(key, update, ends) {
      await clock.advance(8);
      return memory.update(key, update, ends);
    },
  };
  const table = measuredTable(slow, { clock, telemetry });
  await table.update({ pk: 'a', sk: 'b' }, { condition: [], changes: [{ op: 'set', path: ['n'], value: 1 }] }, signal);
  await measuredStore(createMemoryStore(), { clock, telemetry }).put('k', [new Uint8Array(500)], signal);
  await clock.advance(992);
  expect(meter.sample()).toMatchObject({ bytesPerSecond: 500, commitMs: 8 });
});

test('what the runtime says is whole numbers in their ranges', async () => {
  const { clock, meter } = metered();
  const busyUntilMs = performance.now() + 60;
  while (performance.now() < busyUntilMs) Math.sqrt(2);
  await clock.advance(1_000);
  const load = meter.sample();
  expect(Object.values(load).every((value) => Number.isSafeInteger(value) && value >= 0)).toBe(true);
  expect(load.busyPercent).toBeLessThanOrEqual(100);
  expect(load.busyPercent).toBeGreaterThan(0);
  expect(load.memoryBytes).toBeGreaterThan(10_000_000);
});

test('all of it reaches the telemetry behind', () => {
  const { seen, telemetry } = metered();
  telemetry.count('a', 1);
  telemetry.adjust('b', -1, { x: 'y' });
  telemetry.record('c', 0.5, { x: 'z' });
  telemetry.log('warn', 'd', { e: 1 });
  expect(seen).toEqual([
    ['count', 'a', 1, undefined],
    ['adjust', 'b', -1, { x: 'y' }],
    ['record', 'c', 0.5, { x: 'z' }],
    ['log', 'warn', 'd', { e: 1 }],
  ]);
});
