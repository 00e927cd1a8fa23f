import { describe, expect, test } from 'vitest';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import { FLUSH_MS_MAX } from '../../src/model/limits.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { countedStore, SPREAD } from './forwarding.ts';
import { firstSegment, publishOf } from './requests.ts';

async function open(putMs: number) {
  const world = createTestWorld();
  const topic = await world.topic();
  const { store, counts } = countedStore(world, putMs);
  const broker = world.broker({ store });
  const done: string[] = [];
  const atMs = new Map<string, number>();
  const note = (name: string, work: Promise<unknown>): void => {
    const end = (how: string) => (): void => {
      atMs.set(name, world.clock.monotonicMs());
      done.push(name + how);
    };
    void work.then(end(''), end(' failed'));
  };
  const publish = (value: string, signal = world.signal): void => note(value, broker.publisher.publish(topic, publishOf([value]), signal));
  return { world, topic, broker, done, atMs, note, publish, counts, segment: firstSegment(topic) };
}

describe('a flush', () => {
  test('waits for what is stored now and for what is queued, and not for what comes later', async () => {
    const { world, topic, broker, atMs, note, publish, segment } = await open(100);
    publish('in flight');
    await world.clock.advance(50);
    publish('queued');
    await world.clock.advance(1);
    note('flush', broker.publisher.flush(topic.id, [segment], world.signal));
    await world.clock.advance(20);
    publish('later');
    await world.clock.advance(300);
    const [first = 0, queued = 0, flushed = 0, later = 0] = ['in flight', 'queued', 'flush', 'later'].map((name) => atMs.get(name));
    expect(first).toBeLessThan(queued);
    expect(flushed).toBe(queued);
    expect(queued).toBeLessThan(later);
  });

  test('of a broker that holds nothing, of nothing, or of another topic ends at once', async () => {
    const { world, topic, broker, publish, segment } = await open(100);
    await broker.publisher.flush(topic.id, [segment], world.signal);
    publish('1');
    await broker.publisher.flush(topic.id, [], world.signal);
    await broker.publisher.flush(topic.id, [segmentId(99)], world.signal);
    await broker.publisher.flush('tanother00000000' as TopicId, [segment], world.signal);
    expect(world.clock.monotonicMs()).toBe(0);
  });

  test('waits for its segments’ parts alone', async () => {
    const world = createTestWorld();
    const topic = await world.topic(2);
    const [fast, slow] = topic.open.map(({ segment }) => segment);
    if (fast === undefined || slow === undefined) throw new Error('two segments');
    const table = interceptTable(world.table, async (call, make, signal) => {
      const commits = call.op === 'update' && call.key.pk.includes(slow);
      await world.clock.sleep(commits ? 300 : 10, signal);
      return make();
    });
    const { publisher } = world.broker({ table });
    const published = publisher.publish(topic, publishOf(SPREAD), world.signal);
    await world.clock.advance(1);
    const sinceMs = world.clock.monotonicMs();
    const tookMs = async (flushed: Promise<void>): Promise<number> => {
      await flushed;
      return world.clock.monotonicMs() - sinceMs;
    };
    const flushes = [[fast], [slow], [fast, slow]].map((segments) => tookMs(publisher.flush(topic.id, segments, world.signal)));
    const [one = 0, other = 0, both = 0] = await world.run(Promise.all(flushes));
    expect(one).toBeLessThan(100);
    expect(other).toBeGreaterThanOrEqual(300);
    expect(both).toBe(other);
    await world.run(published);
  });

  test('takes FLUSH_MS_MAX at most, and leaves nothing that wakes', async () => {
    const { world, topic, broker, done, note, publish, segment } = await open(60_000);
    publish('slow');
    await world.clock.advance(1);
    note('flush', broker.publisher.flush(topic.id, [segment], world.signal));
    const sleeping = world.clock.sleeping();
    await world.clock.advance(FLUSH_MS_MAX - 1);
    expect(done).toEqual([]);
    await world.clock.advance(1);
    expect(done).toEqual(['flush']);
    expect(world.clock.sleeping()).toBe(sleeping - 1);
  });

  test('ends with what a caller takes back, and with its own caller', async () => {
    const { world, topic, broker, done, atMs, note, publish, segment } = await open(200);
    publish('in flight');
    await world.clock.advance(1);
    const leaver = new AbortController();
    publish('queued', leaver.signal);
    await world.clock.advance(1);
    note('flush', broker.publisher.flush(topic.id, [segment], world.signal));
    const own = new AbortController();
    const reason = new Error('gone');
    const given = broker.publisher.flush(topic.id, [segment], own.signal);
    own.abort(reason);
    await expect(given).rejects.toBe(reason);
    await expect(broker.publisher.flush(topic.id, [segment], own.signal)).rejects.toBe(reason);
    leaver.abort(reason);
    await world.clock.advance(200);
    expect(done.toSorted()).toEqual(['flush', 'in flight', 'queued failed']);
    expect(atMs.get('flush')).toBe(atMs.get('in flight'));
  });

  test('waits for what others have handed on, too', async () => {
    const { world, topic, broker, done, note, segment } = await open(100);
    const part = {
      segment,
      batches: [new Uint8Array(10)],
      bytes: 10,
      count: 1,
      buckets: Array.from({ length: 16 }, (_, n) => Number(n === 0)),
      highestTimestampMs: 1,
    };
    note('accepted', broker.publisher.accept(topic, [part], world.signal));
    note('flush', broker.publisher.flush(topic.id, [segment], world.signal));
    await world.clock.advance(50);
    expect(done).toEqual([]);
    await world.clock.advance(100);
    expect(done.toSorted()).toEqual(['accepted', 'flush']);
  });
});

describe('what others hand on', () => {
  const part = (segment = segmentId(0), bytes = 10) => ({
    segment,
    batches: [new Uint8Array(bytes)],
    bytes,
    count: 1,
    buckets: Array.from({ length: 16 }, (_, n) => Number(n === 0)),
    highestTimestampMs: 1,
  });

  test('is held in the same memory as publishes are: a full broker refuses it, and one that stops', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { store } = countedStore(world, 100);
    const { publisher } = world.broker({ store, queueBytesMax: 1_000 });
    const first = publisher.accept(topic, [part(firstSegment(topic), 900)], world.signal);
    await expect(publisher.accept(topic, [part(firstSegment(topic), 200)], world.signal)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await world.run(first)).toEqual([{ outcome: 'stored', offset: 0, again: false }]);
    expect(await world.run(publisher.accept(topic, [part(firstSegment(topic), 900)], world.signal))).toHaveLength(1);
    await publisher.stop(world.signal);
    await expect(publisher.accept(topic, [part(firstSegment(topic))], world.signal)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('keeps a broker that stops waiting until it is stored', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { store } = countedStore(world, 100);
    const { publisher } = world.broker({ store });
    const accepted = publisher.accept(topic, [part(firstSegment(topic))], world.signal);
    let stopped = false;
    const stop = publisher.stop(world.signal).then(() => (stopped = true));
    await world.clock.advance(50);
    expect(stopped).toBe(false);
    await world.run(Promise.all([accepted, stop]));
    expect(stopped).toBe(true);
  });
});
