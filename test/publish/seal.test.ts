import { describe, expect, test } from 'vitest';
import { batchObjectPrefix } from '../../src/format/object-key.ts';
import { segmentId } from '../../src/model/ids.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { readSegmentLog, readTopicLog, readValues } from '../simulation/read-log.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createTestWorld, type TestWorld } from '../simulation/test-broker.ts';
import { settle } from '../simulation/virtual-clock.ts';
import { type Fault, faultyTable } from '../simulation/world-faults.ts';
import { brief, firstSegment, keyed, oneSegment, produced, publishOf } from './requests.ts';

/** Keys in both halves of the partitions. */
const MIXED = [
  ['k1', '1'],
  ['k0', '2'],
  ['k3', '3'],
  ['k2', '4'],
] as const;

describe('F14: a publish that races a seal', () => {
  test('is stored below the final tail or in the successors, in whatever order they come', async () => {
    const raced = new Set<number>();
    for (let seed = 0; seed < 40; seed += 1) {
      const world = createTestWorld(seed);
      const topic = await world.topic();
      await world.run(world.broker().publisher.publish(topic, publishOf(['0']), world.signal));
      const slow = interceptTable(world.table, async (_, make, signal) => {
        await world.clock.sleep(world.random.integer(10), signal);
        return make();
      });
      const late = world.clock.sleep(world.random.integer(60), world.signal);
      const publish = late.then(() => world.broker({ table: slow }).publisher.publish(topic, publishOf(MIXED), world.signal));
      const replaced = replaceSegment({ ...world, table: slow, run: (work) => work }, topic, { segment: firstSegment(topic), children: 2 });
      const [result] = await world.run(Promise.all([publish, replaced]));
      const results = brief(result);
      const logs = await readTopicLog(world, topic.id);
      const where = new Map(logs.flatMap(({ messages }) => messages.map(({ segment, offset, value }) => [value, `${segment}:${offset}`])));
      expect(results).toEqual(MIXED.map(([, value]) => where.get(value)));
      expect(where.size).toBe(5);
      expect(logs[0]?.head.state).toBe('sealed');
      raced.add(logs[0]?.head.tail ?? -1);
    }
    // Some came before the seal, and some behind it.
    expect(raced).toEqual(new Set([1, 5]));
  });

  test.each<readonly [string, readonly Fault[]]>([
    ['lost', ['lost']],
    ['dropped', ['dropped']],
    ['late', ['late']],
    ['throttled', ['throttled']],
  ])('with its commit %s, its fate comes first: stored once', async (_, faults) => {
    const world = createTestWorld();
    const topic = await world.topic();
    const faulty = faultyTable(world.table, { 'update head': faults });
    let sealed = false;
    const table = interceptTable(faulty, async (call, make) => {
      if (call.name !== 'update head' || sealed) return make();
      sealed = true;
      try {
        return await make();
      } finally {
        await replaceSegment({ ...world, run: (work) => work }, topic, { segment: firstSegment(topic), children: 2 });
        await faulty.deliver();
      }
    });
    await world.run(world.broker({ table }).publisher.publish(topic, publishOf(MIXED), world.signal));
    expect((await readValues(world, topic.id)).toSorted()).toEqual(['1', '2', '3', '4']);
  });

  test('F15: through several seals in a row, by a broker that knows the oldest list, follows them to the end', async () => {
    const world = createTestWorld();
    let topic = await world.topic();
    const stale = topic;
    for (let n = 0; n < 5; n += 1) topic = await replaceSegment(world, topic, { segment: firstSegment(topic), children: 1 });
    expect(brief(await world.run(world.broker().publisher.publish(stale, publishOf(['1']), world.signal)))).toEqual(['s0000005:0']);
  });

  test('waits for a successor that is not open yet', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const leader = { ...world, table: faultyTable(world.table, { 'update head': ['ok', 'throttled'] }) };
    const replaced = replaceSegment({ ...leader, run: (work) => work }, topic, { segment: firstSegment(topic), children: 1 });
    await settle();
    const publish = world.broker().publisher.publish(topic, publishOf(['1']), world.signal);
    await world.run(replaced);
    expect(brief(await world.run(publish))).toEqual(['s0000001:0']);
  });
});

describe('F7: a PUT that lands after its segment was split', () => {
  /** What is there, once `writer` has put its object, which took until the segment was split. */
  async function late(isKilled: boolean) {
    const world = createTestWorld();
    const topic = await world.topic();
    await world.run(world.broker().publisher.publish(topic, publishOf([['k0', '1']]), world.signal));
    const { promise: killed, resolve: kill } = Promise.withResolvers<'killed'>();
    let puts = 0;
    const store = interceptStore(world.store, async (_, make) => {
      if ((puts += 1) > 1) return make();
      await replaceSegment({ ...world, run: (work) => work }, topic, { segment: firstSegment(topic), children: 2 });
      const done = await make();
      if (!isKilled) return done;
      kill('killed');
      return new Promise<never>(() => undefined);
    });
    const writing = world.broker({ store }).publisher.publish(topic, publishOf([['k0', '2']]), world.signal);
    const told = await world.run(Promise.race([writing.then(brief), killed]));
    const { objects } = await world.store.list(batchObjectPrefix(topic.id), { limit: 10 }, world.signal);
    const logs = await readTopicLog(world, topic.id);
    return { told, objects: objects.length, log: logs.map(({ messages }) => messages.map(({ value }) => value).join()) };
  }

  test('is referenced by nobody if its writer has gone', async () => {
    expect(await late(true)).toEqual({ told: 'killed', objects: 2, log: ['1', '', ''] });
  });

  test('goes to the successors if its writer goes on, in an object of its own', async () => {
    expect(await late(false)).toEqual({ told: ['s0000001:0'], objects: 3, log: ['1', '2', ''] });
  });
});

describe('what a client addressed to the segment is not moved', () => {
  const sealedWorld = async (): Promise<{ world: TestWorld; topic: Awaited<ReturnType<TestWorld['topic']>> }> => {
    const world = createTestWorld();
    const topic = await world.topic();
    await world.run(world.broker().publisher.publish(topic, produced(['0'], { segment: segmentId(0), sequence: 0 }), world.signal));
    await replaceSegment(world, topic, { segment: segmentId(0), children: 2 });
    return { world, topic };
  };

  test('a producer is told the successors, and which of its batches landed', async () => {
    const { world, topic } = await sealedWorld();
    const { publisher } = world.broker();
    const again = await world.run(publisher.publish(topic, produced(['0'], { segment: segmentId(0), sequence: 0 }), world.signal));
    expect(brief(again)).toEqual(['s0000000:0 again']);
    const [next] = await world.run(publisher.publish(topic, produced(['1'], { segment: segmentId(0), sequence: 1 }), world.signal));
    expect(next).toMatchObject({
      code: 'segment-sealed',
      extra: {
        segment: 's0000000',
        successors: [
          { segment: 's0000001', lo: 0, hi: 32_767 },
          { segment: 's0000002', lo: 32_768, hi: 65_535 },
        ],
      },
    });
    // `a` is partition 3265: the line begins at 0 again in the successor.
    expect(brief(await world.run(publisher.publish(topic, produced(['1'], { segment: segmentId(1), sequence: 0 }), world.signal)))).toEqual(
      ['s0000001:0'],
    );
  });

  test('an expected tail is told the successors', async () => {
    const { world, topic } = await sealedWorld();
    const wish = { ...publishOf(['x']), segment: segmentId(0), matchTail: 1 };
    expect(brief(await world.run(world.broker().publisher.publish(topic, wish, world.signal)))).toEqual(['segment-sealed']);
  });

  test('invariant 3: a sealed segment stays as it was', async () => {
    const { world, topic } = await sealedWorld();
    const before = await readSegmentLog(world, topic.id, segmentId(0));
    const { publisher } = world.broker();
    await world.run(publisher.publish(topic, publishOf(MIXED), world.signal));
    await world.run(publisher.publish(topic, keyed(MIXED, 'k'), world.signal));
    expect(await readSegmentLog(world, topic.id, segmentId(0))).toEqual(before);
  });
});

describe('F30: a deleted topic whose name is used again', () => {
  test('takes nothing from a publisher that still knows the old one, and nothing of the old one is in the new one', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const stale = world.broker();
    await world.run(stale.publisher.publish(topic, publishOf(['old']), world.signal));
    const leader = world.broker();
    await world.run(leader.topics.delete('t', world.signal));
    const { topic: made } = await world.run(leader.topics.create('t', oneSegment, world.signal));
    for (const request of [publishOf(['late']), produced(['late'], { segment: segmentId(0), sequence: 0 }), keyed(['late'], 'k')]) {
      await expect(world.run(stale.publisher.publish(topic, request, world.signal))).rejects.toMatchObject({ code: 'topic-not-found' });
    }
    await world.run(stale.publisher.publish(made, publishOf(['new']), world.signal));
    await world.run(leader.notes.idle());
    expect(await readValues(world, made.id)).toEqual(['new']);
  });

  test('does not let a commit land that was on the way when it was deleted', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const faulty = faultyTable(world.table, { 'update head': ['late'] });
    const publish = world.broker({ table: faulty }).publisher.publish(topic, publishOf(['late']), world.signal);
    await settle();
    const leader = world.broker();
    await leader.topics.delete('t', world.signal);
    await faulty.deliver();
    await expect(world.run(publish)).rejects.toMatchObject({ code: 'topic-not-found' });
    expect((await readSegmentLog(world, topic.id, segmentId(0))).head).toMatchObject({ state: 'sealed', deleted: true, tail: 0 });
  });
});
