import { describe, expect, test } from 'vitest';
import { HEARTBEAT_MS, LEADER_HEARTBEAT_MS } from '../../../src/model/limits.ts';
import { segmentId, type TopicId } from '../../../src/model/ids.ts';
import { faultyTable } from '../../simulation/world-faults.ts';
import { putBroker, someBroker } from '../some-broker.ts';
import { KEY, site } from './registration-site.ts';

const { signal } = new AbortController();

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
