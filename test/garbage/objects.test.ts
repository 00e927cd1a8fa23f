import { beforeEach, describe, expect, test } from 'vitest';
import { headKey, pageKey, topicKey } from '../../src/format/item-key.ts';
import { batchObjectKey } from '../../src/format/object-key.ts';
import { decodeTopic } from '../../src/format/topic-item.ts';
import { GARBAGE_AGE_MS } from '../../src/model/archive-limits.ts';
import { minuteOf, type ObjectId, type SegmentId, segmentId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import { makeChild } from '../../src/topology/apply-change.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { readValues } from '../simulation/read-log.ts';
import type { TestWorld } from '../simulation/test-broker.ts';
import { fill, left, NOTHING, PAGE, putOrphan, scene, SOON_MS, sweep, sweepAsSaid, unreferenced } from './garbage-world.ts';

let world: TestWorld;
let topic: Topic;
let segment: SegmentId;
beforeEach(async () => {
  ({ world, topic, segment } = await scene());
});

const leftOf = (...segments: SegmentId[]) => left(world, topic, segments.length === 0 ? [segment] : segments);

describe('objects', () => {
  test('that were never committed go an hour after their minute, whichever it was; what was committed stays', async () => {
    await fill(world, topic, PAGE + 3);
    const before = await readValues(world, topic.id);
    for (const agoMs of [0, GARBAGE_AGE_MS, 10 * GARBAGE_AGE_MS, 10_000 * GARBAGE_AGE_MS]) await putOrphan(world, topic, agoMs, 7);
    expect(await sweepAsSaid(world, { aheadMs: 0, ageMs: GARBAGE_AGE_MS })).toEqual({ ...NOTHING, neverCommitted: 2, bytes: 14 });
    // Of the hour that is not over, and of just now.
    expect(await unreferenced(world, topic)).toHaveLength(2);
    expect(await sweepAsSaid(world, { aheadMs: GARBAGE_AGE_MS + 60_000, ageMs: GARBAGE_AGE_MS })).toEqual({
      ...NOTHING,
      neverCommitted: 2,
      bytes: 14,
    });
    expect(await unreferenced(world, topic)).toEqual([]);
    expect(await readValues(world, topic.id)).toEqual(before);
    expect(await sweep(world)).toEqual(NOTHING);
  });

  test('that a paused PUT brings back go with the next sweep', async () => {
    const key = await putOrphan(world, topic);
    for (let n = 0; n < 3; n += 1) {
      expect(await sweep(world)).toEqual({ ...NOTHING, neverCommitted: 1, bytes: 1 });
      await world.store.put(key, [Uint8Array.of(1)], world.signal);
    }
  });

  test('raise no floor where there are none', async () => {
    await sweep(world);
    expect(await world.table.get(headKey(topic.id, segment), world.signal)).toMatchObject({ f: '' });
    await putOrphan(world, topic);
    await sweep(world);
    const floor = minuteOf(world.clock.nowMs() + SOON_MS);
    expect(await world.table.get(headKey(topic.id, segment), world.signal)).toMatchObject({ f: floor });
    // By a clock that is behind.
    await putOrphan(world, topic, 86_400_000);
    await sweep(world, { aheadMs: 0 });
    expect(await world.table.get(headKey(topic.id, segment), world.signal)).toMatchObject({ f: floor });
  });

  test('of other topics, and what is no object of ours, are left alone', async () => {
    const other = await world.topic(1, 'other');
    const key = `${batchObjectKey(topic.id, minuteOf(0), 'o000000000000000' as ObjectId)}0`;
    await world.store.put(key, [Uint8Array.of(1)], world.signal);
    await fill(world, other, 2);
    await putOrphan(world, topic);
    expect(await sweep(world)).toMatchObject({ neverCommitted: 1, failed: 0 });
    expect(await world.store.head(key, world.signal)).toBeDefined();
    expect(await readValues(world, other.id)).toHaveLength(2);
  });

  test('stay, all of them, where a page can’t be read; other topics are swept', async () => {
    await fill(world, topic, PAGE);
    const other = await world.topic(1, 'other');
    await fill(world, other, 1);
    await putOrphan(world, topic);
    await world.table.put(pageKey(topic.id, segment, 0), { v: 99 }, [], world.signal);
    expect(await sweep(world)).toEqual({ ...NOTHING, failed: 1 });
    expect((await leftOf()).objects).toBe(PAGE + 1);
  });

  test('stay where the topic changes all the time', async () => {
    await putOrphan(world, topic);
    let version = 1_000;
    const table = interceptTable(world.table, async (call, make) => {
      const answer = await make();
      if (call.op !== 'get' || call.key.sk !== 'topic') return answer;
      version += 1;
      return { ...answer, version };
    });
    expect(await sweep(world, { stores: { table } })).toEqual({ ...NOTHING, failed: 1 });
    expect((await leftOf()).objects).toBe(1);
  });
});

describe('a change that is pending while floors are raised', () => {
  const child = { segment: segmentId(1), lo: 0, hi: 65_535 };

  /** Its intent is written by the time that `at` returns, as somebody else's. */
  async function intend(): Promise<Topic> {
    const item = await world.table.get(topicKey(topic.id), world.signal);
    const read = decodeTopic(item!);
    const change = { id: 'c1', kind: 'failover', parents: [segment], children: [{ s: child.segment, lo: child.lo, hi: child.hi }] };
    await world.table.put(
      topicKey(topic.id),
      { ...item!, version: read.version + 1, nextSegment: read.nextSegment + 1, changes: [change] },
      [],
      world.signal,
    );
    return decodeTopic((await world.table.get(topicKey(topic.id), world.signal))!);
  }
  /** For one who makes a child, and stands still between reading the parent's floor and putting it. */
  function standingMaker() {
    const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
    const { promise: stands, resolve: stand } = Promise.withResolvers<void>();
    const table = interceptTable(world.table, async (call, make) => {
      if (call.name === 'put head') {
        stand();
        await goesOn;
      }
      return make();
    });
    return { table, stands, goOn };
  }
  const floorOf = async (id: SegmentId): Promise<unknown> => (await world.table.get(headKey(topic.id, id), world.signal))?.['f'];

  test('has its child made with the floor, where that is not there yet: who makes it is slow, and puts none', async () => {
    await putOrphan(world, topic);
    await intend();
    const floor = minuteOf(world.clock.nowMs() + SOON_MS);
    await sweep(world);
    expect(await floorOf(child.segment)).toBe(floor);
    expect(await world.table.get(headKey(topic.id, child.segment), world.signal)).toMatchObject({
      state: 'pending',
      predecessors: [segment],
    });
    expect(await sweep(world)).toEqual(NOTHING);
  });

  test('has its floor raised where whoever makes it, and has read the parent’s before, is faster', async () => {
    await putOrphan(world, topic);
    const intended = await intend();
    const { table: slow, stands, goOn } = standingMaker();
    const options = { change: intended.changes[0]!, child, floor: '' } as const;
    const making = makeChild({ ...world.broker().deps, table: slow }, intended, options, world.signal);
    await stands;
    const table = interceptTable(world.table, async (call, make) => {
      if (call.name !== 'put head') return make();
      goOn();
      await making;
      return make();
    });
    await sweep(world, { stores: { table } });
    await making;
    expect(await floorOf(child.segment)).toBe(minuteOf(world.clock.nowMs() + SOON_MS));
  });

  test('is seen, though it was written after the topic was read: whoever makes the child has read the parent’s floor before', async () => {
    await putOrphan(world, topic);
    let read = 0;
    const maker = world.broker();
    // Until the sweeper has raised what it knows of.
    const { table: slow, stands, goOn } = standingMaker();
    let making: Promise<void> = Promise.resolve();
    const table = interceptTable(world.table, async (call, make) => {
      const answer = await make();
      const isTopic = call.op === 'get' && call.key.sk === 'topic';
      if (isTopic) read += 1;
      // The first one is the sweep's own, which finds the topic; the second one begins the raising.
      if (isTopic && read === 2) {
        const intended = await intend();
        const options = { change: intended.changes[0]!, child, floor: '' } as const;
        making = makeChild({ ...maker.deps, table: slow }, intended, options, world.signal);
        await stands;
      }
      if (isTopic && read === 3) {
        goOn();
        await making;
      }
      return answer;
    });
    await sweep(world, { stores: { table } });
    expect(read).toBeGreaterThan(4);
    expect(await floorOf(child.segment)).toBe(minuteOf(world.clock.nowMs() + SOON_MS));
  });
});
