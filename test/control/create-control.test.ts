import { describe, expect, test } from 'vitest';
import { decodeBroker } from '../../src/format/broker-item.ts';
import { brokerKey, leaseKey } from '../../src/format/item-key.ts';
import { decodeLease } from '../../src/format/lease-item.ts';
import type { BrokerRecord } from '../../src/model/broker.ts';
import { segmentId } from '../../src/model/ids.ts';
import { DRAIN_PER_SECOND_MAX, HEARTBEAT_MS, LEASE_MS, LEAVE_MS_MAX } from '../../src/model/limits.ts';
import { TENANT_DEFAULT, type Topic } from '../../src/model/topic.ts';
import { faultyTable } from '../simulation/world-faults.ts';
import { type ControlWorld, createControlWorld, type Site } from './control-world.ts';
import { brokerId, putBroker, someBroker } from './some-broker.ts';

const assign = (world: ControlWorld, site: Pick<Site, 'control'>, topic: Topic, n = 0) =>
  world.run(site.control.assignment(topic, segmentId(n), {}, world.signal));
const ids = (brokers: readonly { readonly id: string }[]): string[] => brokers.map(({ id }) => id);
const leads = (site: Site): boolean => site.gauges.get('kelp.leader') === 1;

async function holderIn(world: ControlWorld): Promise<string | undefined> {
  const item = await world.table.get(leaseKey(), world.signal);
  return item === undefined ? undefined : decodeLease(item).holder;
}
async function itemOf(world: ControlWorld, id: string): Promise<BrokerRecord | undefined> {
  const item = await world.table.get(brokerKey(TENANT_DEFAULT, brokerId(id)), world.signal);
  return item === undefined ? undefined : decodeBroker(item);
}

/** Brokers that run, of which one leads and has seen all. */
async function running(names: readonly string[], segments = 1, seed: number | string = 1) {
  const world = createControlWorld(seed);
  const topic = await world.topic(segments);
  const sites = names.map((name) => world.site(name));
  for (const site of sites) site.start();
  await world.until(() => sites.some(leads));
  await world.clock.advance(LEASE_MS);
  const leader = sites.find(leads) as Site;
  const others = sites.filter((site) => site !== leader);
  return { world, topic, sites, leader, others };
}

describe('brokers together', () => {
  test('one leads, whoever is asked has a segment assigned by it, and all answer the same', async () => {
    const { world, topic, sites, leader, others } = await running(['a', 'b', 'c'], 4);
    expect(sites.filter(leads)).toHaveLength(1);
    for (const site of sites) expect(await world.run(site.control.leader(world.signal))).toMatchObject({ id: leader.id });
    for (let n = 0; n < 4; n += 1) {
      const [first, second] = [sites[n % 3] as Site, sites[(n + 1) % 3] as Site];
      const answer = await assign(world, first, topic, n);
      expect(new Set(ids(answer.brokers)).size).toBe(2);
      expect(await assign(world, second, topic, n)).toEqual(answer);
    }
    expect(world.asked).toContain(`${leader.id} assign`);
    expect(others.some((site) => world.asked.includes(`${site.id} assign`))).toBe(false);
    const brokers = await world.run(leader.control.brokers(world.signal));
    expect(ids(brokers)).toEqual(['a', 'b', 'c']);
    expect(brokers.reduce((sum, { segments }) => sum + segments, 0)).toBe(8);
  });

  test('what the leader refuses comes from it unchanged, at once', async () => {
    const { world, topic, others } = await running(['a', 'b']);
    const [site] = others as [Site];
    const beganMs = world.clock.monotonicMs();
    const drain = (id: string) => world.run(site.control.drain(brokerId(id), { perSecond: 1 }, world.signal));
    await expect(drain('nobody')).rejects.toMatchObject({ kind: 'not-found', code: 'broker-not-found' });
    for (const id of ['a', 'b']) await putBroker(world.table, { ...((await itemOf(world, id)) as BrokerRecord), drainPerSecond: 1 });
    await expect(drain('a')).rejects.toMatchObject({ kind: 'conflict', code: 'last-broker' });
    await world.clock.advance(4_000);
    await expect(assign(world, site, topic)).rejects.toMatchObject({ kind: 'unavailable', code: 'no-brokers' });
    expect(world.clock.monotonicMs() - beganMs).toBeLessThan(6_000);
  });

  test('the leader is killed: another one assigns within a lease and half a second; what was assigned stays', async () => {
    const { world, topic, leader, others } = await running(['a', 'b', 'c'], 2);
    const before = await assign(world, leader, topic, 0);
    leader.kill();
    const beganMs = world.clock.monotonicMs();
    expect(await assign(world, others[0] as Site, topic, 0)).toEqual(before);
    expect(world.clock.monotonicMs()).toBe(beganMs);
    const { brokers } = await assign(world, others[0] as Site, topic, 1);
    expect(brokers.length).toBeGreaterThan(0);
    expect(world.clock.monotonicMs() - beganMs).toBeLessThanOrEqual(LEASE_MS + 500);
  });

  test('a report of a broker that lives changes nothing; of one that was killed brings the successor', async () => {
    const { world, topic, leader, others } = await running(['a', 'b', 'c', 'd'], 8);
    const [victim] = others as [Site];
    const served: number[] = [];
    for (let n = 0; n < 8; n += 1) if (ids((await assign(world, leader, topic, n)).brokers).includes(victim.id)) served.push(n);
    const segment = segmentId(served[0] ?? -1);
    const report = () => world.run((others[1] as Site).control.assignment(topic, segment, { suspect: victim.id }, world.signal));
    const alive = await report();
    expect(ids(alive.brokers)).toContain(victim.id);
    expect(alive.successors).toEqual([]);
    victim.kill();
    await world.clock.advance(1_000);
    const beganMs = world.clock.monotonicMs();
    const dead = await report();
    expect(world.clock.monotonicMs() - beganMs).toBeLessThanOrEqual(1_000);
    expect(dead.brokers).toEqual([]);
    expect(dead.successors).toHaveLength(1);
    expect(ids(dead.successors[0]?.addresses ?? [])).not.toContain(victim.id);
    expect(dead.successors[0]?.addresses).toHaveLength(2);
  });

  test('an idle broker makes at most 60 operations of the table a minute, with two topics, alone or as one of several', async () => {
    for (const names of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
      const { world, sites } = await running(names);
      await world.topic(1, 'another');
      // The topics are new still, and looked at more often than later.
      await world.clock.advance(60_000);
      const before = sites.map((site) => site.tableCalls());
      await world.clock.advance(600_000);
      const each = sites.map((site, n) => (site.tableCalls() - (before[n] ?? 0)) / 10);
      expect(Math.max(...each)).toBeLessThanOrEqual(60);
      expect(Math.min(...each)).toBeGreaterThan(20);
    }
  });

  test('the leader alone tells how many brokers are desired', async () => {
    const { world, sites, leader, others } = await running(['a', 'b', 'c']);
    for (const site of sites) site.load.busyPercent = 100;
    await world.clock.advance(15_000);
    expect(leader.gauges.get('kelp.brokers.desired')).toBe(5);
    for (const site of others) expect(site.gauges.get('kelp.brokers.desired') ?? 0).toBe(0);
    await leader.stop();
    expect(leader.gauges.get('kelp.brokers.desired')).toBe(0);
  });
});

describe('a fleet', () => {
  test('takes the lease for a call that needs a leader, and releases it', async () => {
    const world = createControlWorld();
    const topic = await world.topic(2);
    const fleet = world.site('f', { kind: 'fleet', alone: true });
    await world.run(fleet.control.run(world.signal));
    expect(await holderIn(world)).toBeUndefined();
    expect(ids((await assign(world, fleet, topic)).brokers)).toEqual(['f']);
    expect(await holderIn(world)).toBe('');
    // Saved: no lease again.
    await assign(world, world.site('g', { kind: 'fleet', alone: true }), topic);
    const item = await world.table.get(leaseKey(), world.signal);
    expect(item === undefined ? undefined : decodeLease(item).epoch).toBe(1);
    await world.run(fleet.control.leave(world.signal));
    expect(await itemOf(world, 'f')).toMatchObject({ kind: 'fleet' });
  });

  test('asks the process that leads; and leads itself when that one is gone', async () => {
    const { world, topic, leader } = await running(['a'], 2);
    const fleet = world.site('f', { kind: 'fleet' });
    await world.run(fleet.control.run(world.signal));
    await assign(world, fleet, topic, 0);
    expect(world.asked).toContain('a assign');
    leader.kill();
    const beganMs = world.clock.monotonicMs();
    expect((await assign(world, fleet, topic, 1)).brokers.length).toBeGreaterThan(0);
    expect(world.clock.monotonicMs() - beganMs).toBeLessThan(2 * LEASE_MS);
    expect(await holderIn(world)).toBe('');
  });
});

describe('one that is reached by nobody', () => {
  test('leads for a call that changes segments, and for no other one; it registers nowhere', async () => {
    const world = createControlWorld();
    const topic = await world.topic(1);
    const { control } = world.site('x', { alone: true, nameless: true });
    const [lower, upper] = await world.run(control.split(topic, segmentId(0), 9, world.signal));
    expect([lower, upper]).toMatchObject([
      { segment: 's0000001', lo: 0, hi: 8, addresses: [] },
      { segment: 's0000002', lo: 9, hi: 65_535, addresses: [] },
    ]);
    expect(await holderIn(world)).toBe('');
    const merged = await world.run(control.merge(topic, [segmentId(1), segmentId(2)], world.signal));
    expect(merged).toMatchObject([{ segment: 's0000003', lo: 0, hi: 65_535 }]);
    const [plan] = await world.run(control.rebalance({ topic, dryRun: false }, world.signal));
    expect(plan).toMatchObject({ topic: topic.id, segments: 1, changes: [] });
    await expect(assign(world, { control }, topic, 3)).rejects.toMatchObject({ code: 'no-leader' });
    expect(await world.run(control.brokers(world.signal))).toEqual([]);
    expect(await holderIn(world)).toBe('');
  });

  test('beside a process that leads it says at once that it has no way to ask; with one, it asks', async () => {
    const { world, topic } = await running(['a']);
    const stranger = (alone: boolean) => world.site('x', { alone, nameless: true }).control;
    const beganMs = world.clock.monotonicMs();
    const split = (control: Site['control']) => world.run(control.split(topic, segmentId(0), 9, world.signal));
    await expect(split(stranger(true))).rejects.toMatchObject({ kind: 'unavailable', code: 'no-leader' });
    expect(world.clock.monotonicMs() - beganMs).toBeLessThan(LEASE_MS);
    expect(await split(stranger(false))).toHaveLength(2);
    expect(world.asked).toContain('a change');
  });
});

describe('a broker that leaves', () => {
  test('has its segments moved, is registered no more, and none of it fails', async () => {
    for (const which of ['leader', 'other'] as const) {
      const { world, topic, leader, others } = await running(['a', 'b', 'c'], 8, which);
      const leaving = which === 'leader' ? leader : (others[0] as Site);
      for (let n = 0; n < 8; n += 1) await assign(world, leader, topic, n);
      const beganMs = world.clock.monotonicMs();
      expect(await world.run(leaving.control.leave(world.signal))).toBe(true);
      expect(world.clock.monotonicMs() - beganMs).toBeLessThan(LEAVE_MS_MAX);
      expect(await itemOf(world, leaving.id)).toBeUndefined();
      expect(leads(leaving)).toBe(false);
      expect(leaving.counts.has('kelp.leaves.unfinished')).toBe(false);
      const stays = (which === 'leader' ? others[0] : leader) as Site;
      const [{ successors }, rest] = [await assign(world, stays, topic, 0), await world.run(stays.control.brokers(world.signal))];
      expect(ids(rest)).not.toContain(leaving.id);
      expect(rest.reduce((sum, { segments }) => sum + segments, 0)).toBe(16);
      for (const { addresses } of successors) expect(addresses).toHaveLength(2);
      // It does not come back by itself.
      await world.clock.advance(5 * HEARTBEAT_MS);
      expect(await itemOf(world, leaving.id)).toBeUndefined();
    }
  });

  test('alone goes at once, gives the lease back, and keeps what it serves for its return', async () => {
    const { world, topic, leader } = await running(['a'], 1);
    await assign(world, leader, topic);
    const beganMs = world.clock.monotonicMs();
    expect(await world.run(leader.control.leave(world.signal))).toBe(false);
    expect(world.clock.monotonicMs() - beganMs).toBeLessThan(500);
    expect(await holderIn(world)).toBe('');
    const left = await itemOf(world, 'a');
    expect(left?.drainPerSecond).toBeUndefined();
    const back = world.site('a');
    back.start();
    await world.clock.advance(1_000);
    expect(leads(back)).toBe(true);
    expect(await itemOf(world, 'a')).toMatchObject({ version: (left?.version ?? 0) + 1 });
    expect(ids((await assign(world, back, topic)).brokers)).toEqual(['a']);
  });

  test('that serves nothing leaves nothing behind', async () => {
    const { world, others } = await running(['a', 'b']);
    await world.run((others[0] as Site).control.leave(world.signal));
    expect(await itemOf(world, (others[0] as Site).id)).toBeUndefined();
  });

  test('together with all others does not wait for them', async () => {
    const { world, topic, sites, leader } = await running(['a', 'b', 'c'], 6);
    for (let n = 0; n < 6; n += 1) await assign(world, leader, topic, n);
    const beganMs = world.clock.monotonicMs();
    await world.run(Promise.all(sites.map((site) => site.control.leave(world.signal))));
    expect(world.clock.monotonicMs() - beganMs).toBeLessThan(3_000);
    expect(await holderIn(world)).toBe('');
  });

  test('beside one that is registered but gone does not wait for it', async () => {
    const { world, topic, leader } = await running(['a']);
    await assign(world, leader, topic);
    await putBroker(world.table, someBroker('gone'));
    const beganMs = world.clock.monotonicMs();
    await world.run(leader.control.leave(world.signal));
    expect(world.clock.monotonicMs() - beganMs).toBeLessThan(1_000);
  });

  test('gives up what can’t be moved in time, and leaves its item to be found', async () => {
    const { world, topic, leader } = await running(['a'], 2);
    for (let n = 0; n < 2; n += 1) await assign(world, leader, topic, n);
    // Who could take its segments is there, and nobody can write the topic.
    await leader.stop();
    const table = faultyTable(world.table, { 'put topic': 'unavailable' });
    const [leaving, stays] = [world.site('a', { table }), world.site('b', { table })];
    for (const site of [leaving, stays]) site.start();
    await world.clock.advance(LEASE_MS);
    const beganMs = world.clock.monotonicMs();
    await world.run(leaving.control.leave(world.signal));
    expect(world.clock.monotonicMs() - beganMs).toBeGreaterThanOrEqual(LEAVE_MS_MAX);
    expect(world.clock.monotonicMs() - beganMs).toBeLessThan(LEAVE_MS_MAX + 1_000);
    expect(leaving.counts.get('kelp.leaves.unfinished')).toBe(1);
    expect(await itemOf(world, 'a')).toMatchObject({ drainPerSecond: DRAIN_PER_SECOND_MAX });
    expect(leads(leaving)).toBe(false);
  });

  test('ends earlier with its caller, and gives the lease back all the same', async () => {
    const { world, topic, leader } = await running(['a', 'b'], 2);
    for (let n = 0; n < 2; n += 1) await assign(world, leader, topic, n);
    const ends = new AbortController();
    ends.abort(new Error('enough'));
    await expect(world.run(leader.control.leave(ends.signal))).rejects.toThrow('enough');
    expect(leads(leader)).toBe(false);
    expect(await itemOf(world, leader.id)).toBeDefined();
  });
});
