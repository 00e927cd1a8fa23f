import { describe, expect, test } from 'vitest';
import { decodeDeletion } from '../../src/format/deletion-item.ts';
import { deletionKey } from '../../src/format/item-key.ts';
import { batchObjectPrefix } from '../../src/format/object-key.ts';
import { type BrokerId, segmentId, type TopicId } from '../../src/model/ids.ts';
import { CARRY_ON_AFTER_MS } from '../../src/model/crowd-limits.ts';
import { TENANT_DEFAULT, type Topic, type TopicSettings, type TopologyChange } from '../../src/model/topic.ts';
import { applyChanges, intend } from '../../src/topology/apply-change.ts';
import { firstSegment, publishOf } from '../publish/requests.ts';
import { killAtEveryStep } from '../simulation/kill-at-every-step.ts';
import { readTopicLog, readValues } from '../simulation/read-log.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import type { TestWorld } from '../simulation/test-broker.ts';
import { tiles } from './tiles.ts';

// F28: a change is killed at each of its steps, before and after the step takes effect; whoever meets it carries it on.

const THREE: TopicSettings = { partitionKey: 'key', segments: 3, replicas: 2 };
const KEYS = ['k0', 'k1', 'k2', 'k3', 'k4', 'k6', 'a', 'b', 'c'];
const ALL = KEYS.map((key) => [key, `of ${key}`] as const);

/** Publishes to the topic of this name as a broker that knows nothing, and reads all of it. */
async function publishAndRead(world: TestWorld, name: string): Promise<string[]> {
  const broker = world.broker();
  const resolve = (): Promise<Topic> => world.run(broker.topics.resolve(name, { fresh: true }, world.signal));
  // Whoever meets what has been pending for a while carries it on, and waits for a topic that is being made or deleted alone.
  expect(tiles((await resolve()).open)).toBe(true);
  await world.clock.advance(CARRY_ON_AFTER_MS);
  expect(tiles((await resolve()).open)).toBe(true);
  await world.run(broker.notes.idle());
  const topic = await resolve();
  expect(tiles(topic.open)).toBe(true);
  expect(topic.changes).toEqual([]);
  const result = await world.run(broker.publisher.publish(topic, publishOf(ALL), world.signal));
  expect(result.every((one) => 'offset' in one)).toBe(true);
  return (await readValues(world, topic.id)).toSorted();
}

async function objectsOf(world: TestWorld, topic: TopicId): Promise<number> {
  return (await world.store.list(batchObjectPrefix(topic), { limit: 100 }, world.signal)).objects.length;
}

/** Every segment's range goes to another segment, with a broker of its own. */
function failovers(topic: Topic): TopologyChange[] {
  return topic.open.map(({ segment, lo, hi }, n) => ({
    id: `c${segment}`,
    kind: 'failover',
    parents: [segment],
    children: [{ segment: segmentId(topic.nextSegment + n), lo, hi, brokers: ['b2' as BrokerId] }],
  }));
}

/** Longer than a publisher waits for a leader, and far below what its caller would. */
const CARRIED_ON_MS_MAX = 500;

const values = ALL.map(([, value]) => value).toSorted();

describe('killed at any step', () => {
  test('a creation is made good by the next one who asks', async () => {
    const steps = await killAtEveryStep({
      prepare: async () => undefined,
      act: (broker, _, world) => broker.topics.create('t', THREE, world.signal),
      async check(world) {
        const broker = world.broker();
        const { topic } = await world.run(broker.topics.create('t', THREE, world.signal));
        expect(topic.open).toHaveLength(3);
        const { topics } = await world.run(broker.topics.list({ limit: 10 }, world.signal));
        expect(topics.map(({ id }) => id)).toEqual([topic.id]);
        expect(await publishAndRead(world, 't')).toEqual(values);
      },
    });
    // Name; topic, name; segment and head of each child; open each; publish.
    expect(steps).toBeGreaterThanOrEqual(12);
  });

  test('a creation is made good by whoever resolves the name', async () => {
    const steps = await killAtEveryStep({
      prepare: async () => undefined,
      act: (broker, _, world) => broker.topics.create('t', THREE, world.signal),
      async check(world) {
        const broker = world.broker();
        const found = await world.run(broker.topics.resolve('t', { fresh: true }, world.signal).catch(() => undefined));
        // Before the name was taken, nothing is seen of it.
        const { topics } = await world.run(broker.topics.list({ limit: 10 }, world.signal));
        expect(topics.map(({ id }) => id)).toEqual(found === undefined ? [] : [found.id]);
        expect(found === undefined || tiles(found.open)).toBe(true);
      },
    });
    expect(steps).toBeGreaterThanOrEqual(12);
  });

  test('a deletion is carried on, and the name is free; nothing of the old topic is in the new one', async () => {
    const steps = await killAtEveryStep({
      prepare: async (world) => {
        const topic = await world.topic(2);
        await world.run(world.broker().publisher.publish(topic, publishOf(ALL), world.signal));
        return topic;
      },
      act: (broker, _, world) => broker.topics.delete('t', world.signal),
      async check(world, old) {
        const broker = world.broker();
        await world.run(broker.topics.delete('t', world.signal).catch(() => undefined));
        await expect(world.run(broker.topics.resolve('t', { fresh: true }, world.signal))).rejects.toMatchObject({
          code: 'topic-not-found',
        });
        const { topic } = await world.run(broker.topics.create('t', THREE, world.signal));
        expect(await publishAndRead(world, 't')).toEqual(values);
        await world.run(broker.notes.idle());
        // Its objects are gone, or the record of the deletion leads the next sweep to them.
        const item = await world.table.get(deletionKey(TENANT_DEFAULT, old.id), world.signal);
        const { state } = decodeDeletion(item ?? {});
        expect(state === 'pending' || (await objectsOf(world, old.id)) === 0).toBe(true);
        expect(await objectsOf(world, topic.id)).toBeGreaterThan(0);
        await expect(world.run(broker.publisher.publish(old, publishOf(ALL), world.signal))).rejects.toMatchObject({
          code: 'topic-not-found',
        });
        expect(topic.open.every(({ segment }) => !old.open.some((other) => other.segment === segment))).toBe(true);
        expect((await readTopicLog(world, old.id).catch(() => [])).every(({ head }) => head.state === 'sealed')).toBe(true);
      },
    });
    expect(steps).toBeGreaterThanOrEqual(12);
  });

  test('a replacement of a segment leaves every range writable, and nothing is lost', async () => {
    const steps = await killAtEveryStep({
      prepare: async (world) => {
        const topic = await world.topic(2);
        await world.run(world.broker().publisher.publish(topic, publishOf(ALL), world.signal));
        return topic;
      },
      act: (broker, topic, world) =>
        replaceSegment({ ...world, table: broker.deps.table, run: (work) => work }, topic, { segment: firstSegment(topic), children: 3 }),
      async check(world, stale) {
        // A publisher that knows only the old list, while somebody else resolves the name.
        const broker = world.broker();
        const late = broker.publisher.publish(stale, publishOf(ALL), world.signal);
        expect(await publishAndRead(world, 't')).toEqual(expect.arrayContaining(values));
        await world.run(late);
        expect((await readValues(world, stale.id)).toSorted()).toEqual([...values, ...values, ...values].toSorted());
      },
    });
    expect(steps).toBeGreaterThanOrEqual(12);
  });

  test('a fail-over whose leader never comes back is carried on by whoever publishes, even if it knows only the old list', async () => {
    const steps = await killAtEveryStep({
      prepare: async (world) => {
        const topic = await world.topic(2);
        await world.run(world.broker().publisher.publish(topic, publishOf(ALL), world.signal));
        return topic;
      },
      async act(broker, topic, world) {
        const changes = failovers(topic);
        const intended = await intend(broker.deps, topic, changes, world.signal);
        if (intended === undefined) throw new Error('the topic was changed');
        await applyChanges(broker.deps, intended, changes, world.signal);
      },
      async check(world, stale) {
        const begunMs = world.clock.monotonicMs();
        const result = await world.run(world.broker().publisher.publish(stale, publishOf(ALL), world.signal));
        expect(result.every((one) => 'offset' in one)).toBe(true);
        expect(world.clock.monotonicMs() - begunMs).toBeLessThan(CARRIED_ON_MS_MAX);
        expect((await readValues(world, stale.id)).toSorted()).toEqual([...values, ...values].toSorted());
        // Each range has one open segment, whatever is published of that by now.
        const open = (await readTopicLog(world, stale.id)).flatMap(({ head }) => (head.state === 'open' ? head : []));
        expect(tiles(open.toSorted((a, b) => a.lo - b.lo))).toBe(true);
      },
    });
    // Topic; of each segment its successor's item, served entry, floor and head, seal and open; publish.
    expect(steps).toBeGreaterThanOrEqual(14);
  });
});
