import { describe, expect, test } from 'vitest';
import { createBroker } from '../../src/broker/create-broker.ts';
import { leaseKey } from '../../src/format/item-key.ts';
import { encodeLease } from '../../src/format/lease-item.ts';
import { IDLE } from '../../src/model/broker.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { BrokerId } from '../../src/model/ids.ts';
import { LEASE_MS } from '../../src/model/limits.ts';
import { SCALING_DEFAULT } from '../../src/model/scaling.ts';
import { NUDGE_MS } from '../../src/model/scaling-limits.ts';
import type { Peers } from '../../src/ports/peers.ts';
import { brief, firstSegment, publishOf } from '../publish/requests.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { faultyTable } from '../simulation/world-faults.ts';

const encoder = new TextEncoder();
const INSTANCES = 12;
const LEADER = { broker: 'b' as BrokerId, url: 'http://b:80' };

/** A broker whose commits the table throttles now and then, beside a leader that writes down what it is told. */
async function site(answer: () => { readonly status: number; readonly body: Uint8Array }) {
  const world = createTestWorld();
  const topic = await world.topic();
  const lease = { ...LEADER, holder: 'n', epoch: 1, version: 1, leaseMs: LEASE_MS };
  await world.table.put(leaseKey(), encodeLease(lease), [], world.signal);
  const nudges: unknown[] = [];
  const peers: Peers = {
    async send({ broker, operation, body }) {
      if (operation !== 'nudge') throw new KelpError('unavailable', 'peer-refused', 'nobody listens');
      nudges.push([broker.id, JSON.parse(Buffer.concat(body).toString())]);
      return answer();
    },
  };
  const self = { id: 'a' as BrokerId, url: 'http://a:80', kind: 'process', zone: '' } as const;
  const table = faultyTable(world.table, { 'update head': ['throttled', 'conflict', 'ok', 'throttled', 'ok', 'throttled'] });
  const broker = world.broker({ table, member: { self, peers } });
  const publish = async (): Promise<void> => {
    const result = await world.run(broker.publisher.publish(topic, publishOf(['1']), world.signal));
    expect(brief(result)[0]).toMatch(/^s0000000:/);
    await world.clock.advance(1);
  };
  const pressures = (throttledWrites: number) => [
    { topic: topic.id, segment: firstSegment(topic), throttledWrites, queuedMs: expect.any(Number) as number },
  ];
  return { world, broker, publish, nudges, nudge: (writes: number) => ['b', { topic: topic.id, pressures: pressures(writes) }] };
}

describe('a segment that is throttled', () => {
  test('is told of to the leader, in the background, and again after a while', async () => {
    const { world, broker, publish, nudges, nudge } = await site(() => ({ status: 200, body: encoder.encode('{}') }));
    await publish();
    expect(nudges).toEqual([nudge(2)]);
    await publish();
    expect(nudges).toHaveLength(1);
    await world.clock.advance(NUDGE_MS);
    await publish();
    expect(nudges).toEqual([nudge(2), nudge(4)]);
    expect(broker.notes.counts.get('kelp.nudges.failed')).toBeUndefined();
  });

  test('is published to all the same where the leader cannot be told, which is counted and not logged', async () => {
    const { broker, publish, nudges } = await site(() => {
      throw new KelpError('unavailable', 'peer-refused', 'nobody listens');
    });
    await publish();
    expect(nudges).toHaveLength(1);
    expect(broker.notes.counts.get('kelp.nudges.failed')).toBe(1);
    expect(broker.notes.logs.filter(({ message }) => message.includes('nudge'))).toEqual([]);
  });

  test('is split by one of the instances of a fleet, where each of them is refused one write only', async () => {
    const world = createTestWorld();
    // Half of its target: nothing but what the table refuses is a reason.
    await world.topic(1, 't', { ...SCALING_DEFAULT, targetMessagesPerSecond: 16 });
    const self = { id: 'fleet' as BrokerId, url: 'http://fleet:80', kind: 'fleet', zone: '' } as const;
    const peers: Peers = { send: () => Promise.reject(new KelpError('unavailable', 'peer-refused', 'nobody listens')) };
    const places: string[] = [];
    for (let n = 0; n < INSTANCES; n += 1) {
      const table = faultyTable(world.table, { 'update head': ['throttled'] });
      const cold = world.broker({ table, member: { self, peers } });
      const topic = await world.run(cold.topics.resolve('t', { fresh: true }, world.signal));
      const keyed = publishOf(['a', 'b', 'c', 'd'].map((key) => [key, key] as const));
      places.push(...brief(await world.run(cold.publisher.publish(topic, keyed, world.signal))));
      await world.run(cold.notes.idle());
      await world.clock.advance(500);
    }
    const segments = places.map((place) => place.split(':')[0]);
    expect([segments[0], segments.slice(-4).includes('s0000000')]).toEqual(['s0000000', false]);
  });

  test('is told of to nobody by an instance that has no way to', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { deps, notes } = world.broker({ table: faultyTable(world.table, { 'update head': ['throttled', 'conflict'] }) });
    const authenticator = { tag: () => Promise.resolve(new Uint8Array(32)), verify: () => Promise.resolve(true) };
    const alone = createBroker({ ...deps, authenticator, meter: { sample: () => IDLE } });
    const result = await world.run(alone.publisher.publish(topic, publishOf(['1']), world.signal));
    expect(brief(result)).toEqual(['s0000000:0']);
    await world.run(notes.idle());
    expect(notes.counts.get('kelp.nudges.failed')).toBeUndefined();
  });
});
