import { describe, expect, test } from 'vitest';
import { topicKey } from '../../src/format/item-key.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { type ControlWorld, createControlWorld, type Site } from './control-world.ts';

// Brokers that leave, or are replaced, while somebody decides about them.

const firstOf = ({ open }: Topic): SegmentId => open[0]?.segment as SegmentId;

/** Each segment on one broker: where that one is gone, nobody is there. */
async function loneTopic(world: ControlWorld): Promise<Topic> {
  const topic = await world.topic(1);
  await world.table.update(topicKey(topic.id), { condition: [], changes: [{ op: 'set', path: ['replicas'], value: 1 }] }, world.signal);
  return topic;
}

async function registered(world: ControlWorld, site: Site): Promise<string[]> {
  const brokers = await world.run(site.control.brokers(world.signal));
  return brokers.map(({ id, segments, drainPerSecond }) => `${id} ${segments}${drainPerSecond === undefined ? '' : ' drains'}`);
}

describe('a broker that leaves', () => {
  test.each([1, 2, 3, 4, 5, 6])('and serves nothing is given nothing on its way out (%i)', async (seed) => {
    const world = createControlWorld(seed);
    const topic = await loneTopic(world);
    const [stays, leaves] = [world.site('a'), world.site('b')];
    stays.start();
    await world.clock.advance(100);
    leaves.start();
    await world.clock.advance(8_000);
    expect(await world.run(leaves.control.leave(world.signal))).toBe(true);
    leaves.kill();
    const { brokers } = await world.run(stays.control.assignment(topic, firstOf(topic), {}, world.signal));
    expect(brokers.map(({ id }) => id)).toEqual(['a']);
    expect(await registered(world, stays)).toEqual(['a 1']);
  });

  test('takes nothing away from another process that has its id by now', async () => {
    const world = createControlWorld();
    const topic = await world.topic(2);
    const leader = world.site('l');
    leader.start();
    await world.clock.advance(100);
    const old = world.site('a');
    old.start();
    await world.clock.advance(4_000);
    for (const { segment } of topic.open) await world.run(leader.control.assignment(topic, segment, {}, world.signal));
    const next = world.site('a');
    next.start();
    await world.clock.advance(3_000);
    await world.run(old.control.leave(world.signal));
    await world.clock.advance(60_000);
    expect(await registered(world, leader)).toEqual(['a 2', 'l 2']);
    expect(old.counts.get('kelp.registrations.lost')).toBe(1);
  });

  test('and was drained by a client while it led leads no more', async () => {
    const world = createControlWorld();
    const [first, other] = [world.site('a'), world.site('b')];
    first.start();
    await world.clock.advance(100);
    other.start();
    await world.clock.advance(4_000);
    expect((await world.run(other.control.leader(world.signal)))?.id).toBe('a');
    await world.run(other.control.drain(first.id, { perSecond: 1_000 }, world.signal));
    await world.until(async () => (await world.run(other.control.leader(world.signal)))?.id === 'b');
    expect(await registered(world, other)).toEqual(['b 0']);
  });
});

test('a leader that nobody reaches leads no more, and the others have what only a leader can do', async () => {
  const world = createControlWorld();
  const topic = await world.topic(1);
  world.unreachable.add('lost');
  const lost = world.site('lost');
  lost.start();
  await world.clock.advance(100);
  expect((await world.run(lost.control.leader(world.signal)))?.id).toBe('lost');
  const [a, b] = [world.site('a'), world.site('b')];
  for (const site of [a, b]) site.start();
  await world.until(async () => (await world.run(a.control.leader(world.signal)))?.id !== 'lost');
  expect(lost.counts.get('kelp.leader.unreached')).toBe(1);
  await world.clock.advance(30_000);
  expect((await world.run(a.control.leader(world.signal)))?.id).toMatch(/^[ab]$/);
  const { brokers } = await world.run(b.control.assignment(topic, firstOf(topic), {}, world.signal));
  expect(brokers.map(({ id }) => id).toSorted()).toEqual(['a', 'b']);
  expect(a.counts.get('kelp.leader.unreached') ?? b.counts.get('kelp.leader.unreached')).toBeUndefined();
});

test('a broker without a way to ask leads on beside the items of its former lives', async () => {
  const world = createControlWorld();
  let leads = world.site('life-1', { alone: true });
  leads.start();
  await world.clock.advance(2_000);
  for (const life of ['life-2', 'life-3']) {
    leads.kill();
    leads = world.site(life, { alone: true });
    leads.start();
    await world.until(() => (leads.gauges.get('kelp.leader') ?? 0) > 0);
    await world.clock.advance(30_000);
    expect(leads.counts.get('kelp.leader.unreached')).toBeUndefined();
    expect(leads.counts.get('kelp.leader.terms')).toBe(1);
  }
});

test('a segment that a paused leader gave to a broker that was gone is given to another one by whoever asks', async () => {
  let orphans = 0;
  for (let seed = 5; seed <= 16; seed += 1) {
    const world = createControlWorld(seed);
    const topic = await loneTopic(world);
    const pause = { ms: 0 };
    const table = interceptTable(world.table, async (call, make) => {
      const { ms } = pause;
      if (call.name === 'put served' && ms > 0) {
        pause.ms = 0;
        await world.clock.sleep(ms, world.signal);
      }
      return make();
    });
    const [leads, leaves, asks] = [world.site('a', { table }), world.site('b'), world.site('c')];
    leads.start();
    await world.clock.advance(100);
    for (const site of [leaves, asks]) site.start();
    await world.clock.advance(8_000);
    pause.ms = 20_000;
    const assigned = leads.control.assignment(topic, firstOf(topic), {}, world.clock.deadline(60_000));
    await world.clock.advance(1);
    leaves.kill();
    await world.clock.advance(60_000);
    await world.run(assigned);
    const found = await world.run(asks.control.assignment(topic, firstOf(topic), {}, world.signal));
    if (found.successors.length > 0) orphans += 1;
    const serving = found.successors.length > 0 ? found.successors.flatMap(({ addresses }) => addresses) : found.brokers;
    expect([seed, serving.length, serving.some(({ id }) => id === leaves.id)]).toEqual([seed, 1, false]);
  }
  expect(orphans).toBeGreaterThan(0);
});
