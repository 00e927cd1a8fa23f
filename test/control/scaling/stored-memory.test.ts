import { describe, expect, test } from 'vitest';
import { itemBytes } from '../../../src/adapters/memory/item-bytes.ts';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { createRecordingTelemetry, type RecordingTelemetry } from '../../../src/adapters/memory/recording-telemetry.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createProcessMemory, type ScalingMemory } from '../../../src/control/scaling/scaling-memory.ts';
import { createStoredMemory } from '../../../src/control/scaling/stored-memory.ts';
import { loadMemoryKey } from '../../../src/format/item-key.ts';
import { segmentId, type TopicId } from '../../../src/model/ids.ts';
import { SEGMENTS_OPEN_MAX } from '../../../src/model/limits.ts';
import type { Item, MetadataTable, Value } from '../../../src/ports/metadata-table.ts';
import { describeScalingMemory } from '../../conformance/scaling-memory.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { faultyTable } from '../../simulation/world-faults.ts';
import { someMemory } from './some-memory.ts';

describeScalingMemory('in a process', async () => createProcessMemory(createSystemClock()));
describeScalingMemory('in a table in memory', async () => {
  return createStoredMemory({ table: createMemoryTable(), clock: createSystemClock(), telemetry: createRecordingTelemetry() });
});

const topic = 't123456789012345' as TopicId;
const { signal } = new AbortController();
const NOW_MS = 1_800_000_000_000;
const WRITE_UNIT_BYTES = 1_024;

type Instance = ScalingMemory & { readonly telemetry: RecordingTelemetry };

/** A function's instance, on a clock of its own. */
function instance(table: MetadataTable, nowMs = NOW_MS): Instance {
  const telemetry = createRecordingTelemetry();
  return { ...createStoredMemory({ table, clock: { nowMs: () => nowMs }, telemetry }), telemetry };
}

const told = ({ telemetry }: Instance): [number, number, string[]] => [
  telemetry.total('kelp.rebalance.memory.unread'),
  telemetry.total('kelp.rebalance.memory.unwritten'),
  telemetry.logs.map(({ level }) => level),
];

async function itemsOf(table: MetadataTable): Promise<readonly Item[]> {
  return (await table.query({ pk: `t#${topic}`, limit: 100 }, signal)).items;
}

describe('who was overtaken', () => {
  test('writes nothing, and says so; what the other one knows stays', async () => {
    const table = createMemoryTable();
    const [slow, quick] = [instance(table), instance(table)];
    await slow.read(topic, signal);
    await quick.read(topic, signal);
    const next = someMemory(NOW_MS, { count: 300 });
    await quick.write(topic, next, signal);
    await slow.write(topic, someMemory(NOW_MS, { first: 100, count: 400 }), signal);
    expect([told(slow), told(quick)]).toEqual([
      [0, 1, ['warn']],
      [0, 0, []],
    ]);
    expect(await slow.read(topic, signal)).toEqual(next);
  });

  test('after the next read it is heard again', async () => {
    const table = createMemoryTable();
    const [one, other] = [instance(table), instance(table)];
    await one.write(topic, someMemory(NOW_MS, { count: 1 }), signal);
    await other.read(topic, signal);
    await one.write(topic, someMemory(NOW_MS, { count: 2 }), signal);
    await other.write(topic, someMemory(NOW_MS, { count: 3 }), signal);
    await other.read(topic, signal);
    await other.write(topic, someMemory(NOW_MS, { count: 4 }), signal);
    expect(told(other)).toEqual([0, 1, ['warn']]);
    expect((await one.read(topic, signal))?.windows.size).toBe(4);
  });
});

test('stopped between two items: of a segment that stands in both, the later sample counts', async () => {
  const table = createMemoryTable();
  await instance(table).write(topic, someMemory(NOW_MS - 60_000, { count: 200 }), signal);
  const stopping = interceptTable(table, async (call, make) => {
    if (call.op === 'put' && call.key.sk === 'load#1') throw new Error('stopped');
    return make();
  });
  const stopped = instance(stopping);
  await stopped.read(topic, signal);
  await stopped.write(topic, someMemory(NOW_MS, { first: 100, count: 200 }), signal);
  expect(told(stopped)).toEqual([0, 1, ['warn']]);
  const known = await instance(table).read(topic, signal);
  // 100 to 227 are in the new item 0, 128 to 199 also in the old item 1.
  expect([known?.windows.size, known?.windows.get(segmentId(127))?.sample.atMs, known?.windows.get(segmentId(150))?.sample.atMs]).toEqual([
    128,
    NOW_MS,
    NOW_MS,
  ]);
});

describe('what can not be read', () => {
  test.each<readonly [string, string, Value]>([
    ['a newer form', 'v', 2],
    ['damage', 'segments', 'x'],
    ['a damaged version', 'version', 'x'],
  ])('%s is not known, counted and logged, and written over by the next look', async (_, name, value) => {
    const table = createMemoryTable();
    await instance(table).write(topic, someMemory(NOW_MS, { count: 200 }), signal);
    await table.update(loadMemoryKey(topic, 0), { condition: [], changes: [{ op: 'set', path: [name], value }] }, signal);
    const memory = instance(table);
    const known = await memory.read(topic, signal);
    expect([known?.windows.size, known?.state, known?.hotKeys, told(memory)]).toEqual([72, {}, [], [1, 0, ['warn']]]);
    const next = someMemory(NOW_MS, { count: 200 });
    await memory.write(topic, next, signal);
    expect(await memory.read(topic, signal)).toEqual(next);
    expect(told(memory)).toEqual([1, 0, ['warn']]);
  });

  test('nothing else being there, nothing is known', async () => {
    const table = createMemoryTable();
    await table.put(loadMemoryKey(topic, 0), { v: 1 }, [], signal);
    const memory = instance(table);
    expect(await memory.read(topic, signal)).toBeUndefined();
    await memory.write(topic, someMemory(NOW_MS, { count: 1 }), signal);
    expect([(await memory.read(topic, signal))?.windows.size, told(memory)]).toEqual([1, [1, 0, ['warn']]]);
  });

  test('a table that does not answer is an error, as everywhere', async () => {
    const memory = instance(faultyTable(createMemoryTable(), { 'query topic': 'unavailable' }));
    await expect(memory.read(topic, signal)).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

test('what lies ahead of the own clock is not known: nothing newer would be believed until it has come', async () => {
  const table = createMemoryTable();
  await instance(table).write(topic, someMemory(NOW_MS, { count: 2 }), signal);
  const before = await instance(table, NOW_MS - 9_000).read(topic, signal);
  expect(before).toEqual(someMemory(NOW_MS, { count: 2 }));
  const longBefore = await instance(table, NOW_MS - 11_000).read(topic, signal);
  expect([longBefore?.windows.size, longBefore?.state, longBefore?.origins.size]).toEqual([0, {}, 2]);
});

describe('what can not be written', () => {
  test.each(['throttled', 'dropped', 'unavailable', 'conflict', 'lost'] as const)('%s: counted, logged, and no error', async (fault) => {
    const table = faultyTable(createMemoryTable(), { 'put topic': [fault] });
    const memory = instance(table);
    await memory.read(topic, signal);
    await memory.write(topic, someMemory(NOW_MS, { count: 1 }), signal);
    expect(told(memory)).toEqual([0, 1, ['warn']]);
    await memory.read(topic, signal);
    await memory.write(topic, someMemory(NOW_MS, { count: 2 }), signal);
    expect([told(memory), (await memory.read(topic, signal))?.windows.size]).toEqual([[0, 1, ['warn']], 2]);
  });

  test('it ends with its caller, by the reason of that one', async () => {
    const memory = instance(createMemoryTable());
    const reason = new Error('given up');
    await expect(memory.write(topic, someMemory(NOW_MS, { count: 1 }), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(told(memory)).toEqual([0, 0, []]);
  });
});

test('items are bounded: 1,024 segments are 8 of them and no more than 470 write units; one segment is one', async () => {
  const table = createMemoryTable();
  const memory = instance(table);
  const units = async (): Promise<number[]> => (await itemsOf(table)).map((item) => Math.ceil(itemBytes(item) / WRITE_UNIT_BYTES));
  await memory.write(topic, someMemory(NOW_MS, { count: SEGMENTS_OPEN_MAX }), signal);
  const all = await units();
  expect(all).toHaveLength(8);
  expect(all.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(470);
  await memory.write(topic, someMemory(NOW_MS, { count: 1 }), signal);
  expect(await units()).toEqual([1]);
});

test('a page of the server that ends early is gone on from', async () => {
  const table = createMemoryTable();
  const next = someMemory(NOW_MS, { count: 400 });
  await instance(table).write(topic, next, signal);
  const pages: MetadataTable = {
    ...table,
    async query(query, own) {
      const page = await table.query({ ...query, limit: 1 }, own);
      return page;
    },
  };
  expect(await instance(pages).read(topic, signal)).toEqual(next);
});

test('other items of the topic are left alone, and each may be tidied away a day after its last write', async () => {
  const table = createMemoryTable();
  for (const sk of ['topic', 'scaling']) await table.put({ pk: `t#${topic}`, sk }, { x: 1 }, [], signal);
  const memory = instance(table);
  await memory.write(topic, someMemory(NOW_MS, { count: 200 }), signal);
  expect((await memory.read(topic, signal))?.windows.size).toBe(200);
  const items = await itemsOf(table);
  expect(items.map(({ sk }) => sk)).toEqual(['load#0', 'load#1', 'scaling', 'topic']);
  expect(items.map(({ ttl }) => ttl)).toEqual([NOW_MS / 1_000 + 86_400, NOW_MS / 1_000 + 86_400, undefined, undefined]);
});
