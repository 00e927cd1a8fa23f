import { describe, expect, test } from 'vitest';
import { createMemoryTable } from '../../../src/adapters/memory/memory-table.ts';
import { createRegistration, type Registration, type RegistrationDeps } from '../../../src/control/brokers/registration.ts';
import { decodeBroker } from '../../../src/format/broker-item.ts';
import { brokerKey } from '../../../src/format/item-key.ts';
import { type BrokerRecord, IDLE } from '../../../src/model/broker.ts';
import { HEARTBEAT_MS, LEADER_HEARTBEAT_MS } from '../../../src/model/limits.ts';
import type { SegmentPressure } from '../../../src/model/segment-pressure.ts';
import { segmentId, type TopicId } from '../../../src/model/ids.ts';
import { TENANT_DEFAULT } from '../../../src/model/topic.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';
import { createVirtualClock, settle } from '../../simulation/virtual-clock.ts';
import { faultyTable } from '../../simulation/world-faults.ts';
import { brokerId, putBroker, someBroker } from '../some-broker.ts';

const { signal } = new AbortController();
const A = brokerId('a');
const KEY = brokerKey(TENANT_DEFAULT, A);

type Process = {
  readonly registration: Registration;
  readonly counts: Map<string, number>;
  readonly logs: string[];
  readonly written: BrokerRecord[];
  readonly state: { isLeader: boolean; busyPercent: number; pressure: readonly SegmentPressure[]; ended: boolean };
  start(): void;
  stop(): Promise<void>;
};

function site() {
  const memory = createMemoryTable();
  const clock = createVirtualClock();
  const item = async (): Promise<BrokerRecord | undefined> => {
    const found = await memory.get(KEY, signal);
    return found === undefined ? undefined : decodeBroker(found);
  };
  let lives = 0;
  function process(options: Partial<RegistrationDeps> = {}, table: MetadataTable = memory): Process {
    lives += 1;
    const [counts, logs, written] = [new Map<string, number>(), [] as string[], [] as BrokerRecord[]];
    const state: Process['state'] = { isLeader: false, busyPercent: 0, pressure: [], ended: false };
    const ends = new AbortController();
    const registration = createRegistration({
      table,
      clock,
      random: createSeededRandom(`life ${lives}`),
      telemetry: {
        count: (name, value) => void counts.set(name, (counts.get(name) ?? 0) + value),
        adjust: () => undefined,
        record: () => undefined,
        log: (_, message) => void logs.push(message),
      },
      self: { id: A, url: 'http://a:80' },
      kind: 'process',
      zone: 'z1',
      meter: { sample: () => ({ ...IDLE, busyPercent: state.busyPercent }) },
      pressure: { sample: () => state.pressure },
      isLeader: () => state.isLeader,
      onWritten: (broker) => written.push(broker),
      ...options,
    });
    let running = Promise.resolve();
    return {
      registration,
      counts,
      logs,
      written,
      state,
      start: () => void (running = registration.run(ends.signal).then(() => void (state.ended = true))),
      async stop() {
        ends.abort();
        await clock.run(running);
      },
    };
  }
  return { memory, clock, item, process };
}

describe('a broker', () => {
  test('registers with what it is, heartbeats with its load, and stops with its signal', async () => {
    const { clock, item, process } = site();
    const broker = process();
    broker.start();
    await clock.advance(0);
    const { instance } = broker.registration;
    expect(await item()).toMatchObject({ id: 'a', url: 'http://a:80', kind: 'process', zone: 'z1', instance, version: 1 });
    broker.state.busyPercent = 37;
    await clock.advance(3 * HEARTBEAT_MS);
    expect(await item()).toMatchObject({ version: 4, load: { busyPercent: 37 }, heartbeatMs: clock.nowMs() });
    expect(broker.written.map(({ version }) => version)).toEqual([1, 2, 3, 4]);
    await broker.stop();
    expect(clock.sleeping()).toBe(0);
    expect(broker.logs).toEqual(['registered']);
    await broker.registration.deregister(signal);
    expect(await item()).toBeUndefined();
  });

  test('says with each heartbeat which segments have too much to do, and no more once they have not', async () => {
    const { clock, item, process } = site();
    const broker = process();
    const pressed = { topic: 't' as TopicId, segment: segmentId(3), throttledWrites: 2, queuedMs: 1_500 };
    broker.state.pressure = [pressed];
    broker.start();
    await clock.advance(0);
    expect((await item())?.pressure).toEqual([pressed]);
    broker.state.pressure = [];
    await clock.advance(HEARTBEAT_MS);
    expect((await item())?.pressure).toEqual([]);
    broker.state.pressure = [pressed, { ...pressed, segment: segmentId(4) }];
    await clock.advance(HEARTBEAT_MS);
    expect((await item())?.pressure).toEqual(broker.state.pressure);
    expect(broker.written.map(({ pressure }) => pressure.length)).toEqual([1, 0, 2]);
    await broker.stop();
  });

  test('that leads writes less often, and as often as any other once it leads no more', async () => {
    const { clock, item, process } = site();
    const broker = process();
    broker.state.isLeader = true;
    broker.start();
    await clock.advance(3 * LEADER_HEARTBEAT_MS);
    expect((await item())?.version).toBe(4);
    await clock.advance(HEARTBEAT_MS - 1);
    broker.state.isLeader = false;
    await clock.advance(1);
    expect((await item())?.version).toBe(5);
    await broker.stop();
  });

  test('survives a table that fails for a while', async () => {
    const { clock, item, memory, process } = site();
    const table = faultyTable(memory, {
      'get broker': ['unavailable'],
      'put broker': ['lost', 'dropped'],
      'update broker': ['throttled', ...Array.from({ length: 20 }, () => 'unavailable' as const), 'lost'],
    });
    const broker = process({}, table);
    broker.start();
    await clock.advance(120_000);
    expect(broker.counts.get('kelp.heartbeats.failed')).toBeGreaterThan(0);
    expect((await item())?.version).toBeGreaterThan(10);
    expect(broker.state.ended).toBe(false);
    await broker.stop();
    expect(broker.logs).not.toContain('another process has registered under the same id');
  });
});

describe('a broker that comes back under its id', () => {
  test('registers over its former life; the version goes on, and a drain is forgotten', async () => {
    const { clock, item, memory, process } = site();
    await putBroker(memory, someBroker('a', { version: 41, drainPerSecond: 5, zone: 'old' }));
    const broker = process();
    broker.start();
    await clock.advance(0);
    const now = await item();
    expect(now).toMatchObject({ version: 42, instance: broker.registration.instance, zone: 'z1' });
    expect(now?.drainPerSecond).toBeUndefined();
    await broker.stop();
  });

  test('of two processes under one id the older one notices, says so, and stops heartbeating', async () => {
    const { clock, item, process } = site();
    const [older, newer] = [process(), process()];
    older.start();
    await clock.advance(HEARTBEAT_MS / 2);
    newer.start();
    await clock.advance(5 * HEARTBEAT_MS);
    expect(older.state.ended).toBe(true);
    expect(older.counts.get('kelp.registrations.lost')).toBe(1);
    expect(older.logs).toContain('another process has registered under the same id');
    expect(newer.state.ended).toBe(false);
    expect(newer.counts.has('kelp.registrations.lost')).toBe(false);
    expect((await item())?.instance).toBe(newer.registration.instance);
    // The older one's end leaves the newer one's item alone.
    await older.registration.drain(3, signal);
    await older.registration.deregister(signal);
    expect(await item()).toMatchObject({ instance: newer.registration.instance });
    expect((await item())?.drainPerSecond).toBeUndefined();
    await newer.stop();
  });
});

describe('a broker whose item was deleted', () => {
  test('as that of a dead one registers anew, with a version that goes on', async () => {
    const { clock, item, memory, process } = site();
    const broker = process();
    broker.start();
    await clock.advance(HEARTBEAT_MS);
    await memory.delete(KEY, [], signal);
    await clock.advance(HEARTBEAT_MS);
    expect(await item()).toMatchObject({ instance: broker.registration.instance, version: 3 });
    expect(broker.counts.get('kelp.registrations.deleted')).toBe(1);
    await clock.advance(HEARTBEAT_MS);
    expect((await item())?.version).toBe(4);
    await broker.stop();
  });

  test('does not register over another process that took its id meanwhile', async () => {
    const { clock, item, memory, process } = site();
    const broker = process({}, faultyTable(memory, { 'get broker': ['ok', 'unavailable'] }));
    broker.start();
    await clock.advance(HEARTBEAT_MS);
    await memory.delete(KEY, [], signal);
    await clock.advance(HEARTBEAT_MS);
    await putBroker(memory, someBroker('a', { instance: 'other' }));
    await clock.advance(5 * HEARTBEAT_MS);
    expect(broker.state.ended).toBe(true);
    expect((await item())?.instance).toBe('other');
  });

  test('once it was drained does not come back', async () => {
    const { clock, item, memory, process } = site();
    const broker = process();
    broker.start();
    await clock.advance(0);
    await broker.registration.drain(7, signal);
    expect((await item())?.drainPerSecond).toBe(7);
    await clock.advance(HEARTBEAT_MS);
    // Heartbeats leave the drain as it is.
    expect(await item()).toMatchObject({ version: 3, drainPerSecond: 7 });
    await memory.delete(KEY, [], signal);
    await clock.advance(3 * HEARTBEAT_MS);
    expect(await item()).toBeUndefined();
    expect(broker.state.ended).toBe(true);
    expect(broker.logs).toContain('drained');
  });
});

describe('a fleet', () => {
  test('registers once for all of its instances, and never heartbeats', async () => {
    const { clock, item, memory, process } = site();
    const table = faultyTable(memory, {});
    const fleet = [1, 2, 3].map(() => process({ kind: 'fleet' }, table));
    for (const instance of fleet) {
      instance.start();
      await settle();
    }
    await clock.advance(60_000);
    expect(await item()).toMatchObject({ kind: 'fleet', instance: 'fleet', version: 1, load: IDLE });
    expect(table.calls.get('put broker')).toBe(1);
    expect(table.calls.get('get broker')).toBe(3);
    expect(table.calls.has('update broker')).toBe(false);
    expect(fleet.every(({ state }) => state.ended)).toBe(true);
  });

  test('that moved to another address says so', async () => {
    const { clock, item, process } = site();
    process({ kind: 'fleet' }).start();
    await clock.advance(0);
    process({ kind: 'fleet', self: { id: A, url: 'https://new' } }).start();
    await clock.advance(0);
    expect(await item()).toMatchObject({ url: 'https://new', version: 2 });
  });
});
