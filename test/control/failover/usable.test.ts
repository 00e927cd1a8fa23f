import { describe, expect, test } from 'vitest';
import type { BrokerId, SegmentId } from '../../../src/model/ids.ts';
import { someBroker } from '../some-broker.ts';
import { createFailoverWorld } from './world.ts';

describe('a broker that nobody can reach', () => {
  test('is given nothing, however often it registers; what has answered once may be slow', async () => {
    const world = createFailoverWorld();
    const topic = await world.topic(3);
    const [a, b, lost] = [await world.live('a'), await world.live('b'), await world.live('lost')];
    world.peers.set(lost, 'refuses');
    const leader = world.leader(a);
    const leading = leader.lead();
    const assign = (index: number): Promise<readonly BrokerId[]> => {
      const segment = topic.open[index]?.segment as SegmentId;
      return world.run(leader.deps.assigner.assign(topic, segment, world.signal));
    };
    // Before the leader has looked at anybody, and after it has given up on that one.
    expect((await assign(0)).toSorted()).toEqual([a, b]);
    await world.clock.advance(10_000);
    expect((await assign(1)).toSorted()).toEqual([a, b]);
    world.freeze(b);
    await world.clock.advance(500);
    expect((await assign(2)).toSorted()).toEqual([a, b]);
    await leading.stop();
  });

  test('is named in the log, once, while it lives; one that answers or is dead is not', async () => {
    const world = createFailoverWorld();
    const [a, b, lost, dead] = [await world.live('a'), await world.live('b'), await world.live('lost'), await world.live('dead')];
    world.peers.set(lost, 'refuses');
    const leader = world.leader(a);
    const leading = leader.lead();
    const told = () => leader.telemetry.logs.filter(({ message }) => message.startsWith('a broker has never answered'));
    world.kill(dead);
    await world.clock.advance(3_500);
    expect(told()).toEqual([]);
    await world.clock.advance(3_500);
    world.peers.set(b, 'refuses');
    await world.clock.advance(30_000);
    expect(told()).toMatchObject([{ level: 'warn', fields: { broker: lost, url: expect.stringContaining('lost') as string } }]);
    await leading.stop();
  });

  test('is named in the log though it is dead by then, if it is a fleet: nobody else would say that its address is wrong', async () => {
    const world = createFailoverWorld();
    const [a, fleet, left] = [await world.live('a'), await world.live('f', { kind: 'fleet' }), await world.live('g', { kind: 'fleet' })];
    world.peers.set(fleet, 'refuses');
    const leader = world.leader(a);
    const leading = leader.lead();
    const told = () => leader.telemetry.logs.filter(({ message }) => message.startsWith('a broker has never answered'));
    await world.until(async () => (await world.record(fleet)) === undefined);
    expect(told()).toMatchObject([{ fields: { broker: fleet, url: expect.stringContaining('f') as string } }]);
    // One that has answered is only dead.
    world.kill(left);
    await world.until(async () => (await world.record(left)) === undefined);
    expect(told()).toHaveLength(1);
    await leading.stop();
  });

  test('but lives again is asked again where there are too few others', async () => {
    const world = createFailoverWorld();
    const topic = await world.topic(2);
    const [a, b] = [await world.live('a'), await world.live('b')];
    const leader = world.leader(a);
    const leading = leader.lead();
    await world.clock.advance(5_500);
    world.peers.set(b, 'refuses');
    await world.clock.advance(1_000);
    world.peers.set(b, 'answers');
    const assigned = leader.deps.assigner.assign(topic, topic.open[0]?.segment as SegmentId, world.signal);
    expect((await world.run(assigned)).toSorted()).toEqual([a, b]);
    await leading.stop();
  });

  test('is dead for no longer than it is, also where nobody looks: as in a function', async () => {
    const world = createFailoverWorld();
    const topic = await world.topic(1);
    const [a, f] = [await world.live('a', { kind: 'fleet' }), await world.live('f', { kind: 'fleet' })];
    const { duties } = world.leader(a);
    const segment = topic.open[0]?.segment as SegmentId;
    await world.assign(topic, segment, [f, a]);
    world.peers.set(f, 'refuses');
    for (let n = 0; n < 5; n += 1) {
      await world.run(duties.suspect({ topic: topic.id, segment }, f, world.signal));
      await world.clock.advance(1_000);
    }
    expect(await world.run(duties.isUsable(someBroker(f, { kind: 'fleet' }), { again: false }, world.signal))).toBe(false);
    world.peers.set(f, 'answers');
    expect(await world.run(duties.isUsable(someBroker(f, { kind: 'fleet' }), { again: false }, world.signal))).toBe(true);
  });
});
