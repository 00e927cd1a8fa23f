import { expect, test } from 'vitest';
import { headKey, topicKey } from '../../src/format/item-key.ts';
import type { Topic } from '../../src/model/topic.ts';
import { createHeads } from '../../src/state/heads.ts';
import { readTopic } from '../../src/topology/apply-change.ts';
import { tiles } from '../topology/tiles.ts';
import { type ControlWorld, createControlWorld } from './control-world.ts';

// F25: items as brokers of before assignments, and of before times in heads, write them, while newer ones run beside them.

/** What an older broker leaves out, it leaves out again whenever it writes the whole item. */
async function asOlderBrokersWrite(world: ControlWorld, topic: Topic): Promise<void> {
  const remove = (...names: string[]) => ({ condition: [], changes: names.map((name) => ({ op: 'remove' as const, path: [name] })) });
  await world.table.update(topicKey(topic.id), remove('replicas'), world.signal);
  for (const { segment } of topic.open) await world.table.update(headKey(topic.id, segment), remove('brokers', 'opened'), world.signal);
}

test('segments of before assignments are assigned, served, moved, and have messages in between', async () => {
  const world = createControlWorld();
  const topic = await world.topic(3);
  await asOlderBrokersWrite(world, topic);
  const [a, b, c] = [world.site('a'), world.site('b'), world.site('c')];
  a.start();
  await world.clock.advance(100);
  for (const site of [b, c]) site.start();
  await world.clock.advance(4_000);
  const older = world.broker();
  const publish = async (text: string): Promise<void> => {
    const messages = ['k1', 'k2', 'k3', 'k4'].map((key) => ({
      key: Buffer.from(key),
      value: Buffer.from(text),
      headers: [],
      timestampMs: 1,
    }));
    const results = await world.run(older.publisher.publish(topic, { content: { kind: 'messages', messages } }, world.signal));
    expect(results.filter((result) => result instanceof Error)).toEqual([]);
  };

  await publish('before');
  for (const { segment } of topic.open) {
    const { brokers } = await world.run(a.control.assignment(topic, segment, {}, world.signal));
    expect(brokers).toHaveLength(2);
  }
  await publish('assigned');
  await world.table.update(topicKey(topic.id), { condition: [], changes: [{ op: 'remove', path: ['replicas'] }] }, world.signal);
  b.kill();
  await world.clock.advance(20_000);
  await publish('moved');

  const heads = createHeads(world.table);
  const now = await readTopic({ ...older.deps, heads }, topic.id, world.signal);
  expect(tiles(now.open)).toBe(true);
  for (const { segment } of now.open) expect((await heads.read(topic.id, segment, world.signal))?.brokers).not.toContain(b.id);

  // What was moved has ended; since when it was open nobody knows, so since the topic's creation.
  const segments = await older.topics.segments(now, world.signal);
  const moved = segments.filter(({ state }) => state === 'sealed');
  expect(moved.length).toBeGreaterThan(0);
  for (const one of moved) expect([one.openedMs, typeof one.endedMs]).toEqual([undefined, 'number']);
  const atFirst = await older.topics.segmentsAt(now, topic.createdMs, world.signal);
  expect(atFirst.map(({ segment }) => segment)).toEqual(topic.open.map(({ segment }) => segment));
  const atLast = await older.topics.segmentsAt(now, world.clock.nowMs(), world.signal);
  expect(tiles(atLast.toSorted((one, other) => one.lo - other.lo))).toBe(true);
  expect(atLast.map(({ state }) => state)).toEqual(now.open.map(() => 'open'));
});
