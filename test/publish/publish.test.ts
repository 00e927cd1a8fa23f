import { describe, expect, test } from 'vitest';
import { decodeBatchObjectHeader } from '../../src/format/batch-object.ts';
import { parseBatchObjectKey } from '../../src/format/object-key.ts';
import { encodeBatch } from '../../src/format/record-batch-encode.ts';
import { segmentId } from '../../src/model/ids.ts';
import { HEAD_ENTRIES_SPILL } from '../../src/model/limits.ts';
import { partitionOf } from '../../src/model/partition.ts';
import type { SentBatch } from '../../src/publish/request.ts';
import { readSegmentLog, readTopicLog, readValues } from '../simulation/read-log.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { brief, firstSegment, message, publishOf } from './requests.ts';

/** Keys by their half of the partitions (k0, k2, k6 low; k1, k3, k4 high). */
const MIXED = [
  ['k1', '1'],
  ['k0', '2'],
  ['k3', '3'],
  ['k2', '4'],
] as const;

describe('a publish', () => {
  test('is stored in order, at the offsets of the answer', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const broker = world.broker();
    const first = await world.run(broker.publisher.publish(topic, publishOf(['1', '2']), world.signal));
    const second = await world.run(broker.publisher.publish(topic, publishOf(['3']), world.signal));
    expect(brief([...first, ...second])).toEqual(['s0000000:0', 's0000000:1', 's0000000:2']);
    expect(await readValues(world, topic.id)).toEqual(['1', '2', '3']);
  });

  test('goes to each segment by its keys, with the results where the messages stood', async () => {
    const world = createTestWorld();
    const topic = await world.topic(2);
    const result = await world.run(world.broker().publisher.publish(topic, publishOf(MIXED), world.signal));
    expect(brief(result)).toEqual(['s0000001:0', 's0000000:0', 's0000001:1', 's0000000:1']);
    const logs = await readTopicLog(world, topic.id);
    expect(logs.map(({ messages }) => messages.map(({ value }) => value))).toEqual([
      ['2', '4'],
      ['1', '3'],
    ]);
  });

  test('of record batches has a result for each batch, and stores them as they are', async () => {
    const world = createTestWorld();
    const topic = await world.topic(2);
    const broker = world.broker();
    const batchOf = async (...pairs: (readonly [string, string])[]): Promise<SentBatch> => {
      const messages = pairs.map(([key, value]) => message(key, value));
      const bytes = await encodeBatch(messages, broker.deps.compression);
      return { bytes, partitions: messages.map(({ key }) => partitionOf(key)), highestTimestampMs: 7 };
    };
    const batches = await Promise.all([batchOf(['k1', 'a']), batchOf(['k0', 'b'], ['k2', 'c']), batchOf(['k6', 'd'])]);
    const result = await world.run(broker.publisher.publish(topic, { content: { kind: 'batches', batches } }, world.signal));
    expect(brief(result)).toEqual(['s0000001:0', 's0000000:0', 's0000000:2']);
    expect(await readValues(world, topic.id)).toEqual(['b', 'c', 'd', 'a']);
  });

  test('of several segments is one object, whose header names them', async () => {
    const world = createTestWorld();
    const topic = await world.topic(2);
    await world.run(world.broker().publisher.publish(topic, publishOf(MIXED), world.signal));
    const { objects } = await world.store.list('log/', { limit: 10 }, world.signal);
    const [object] = objects;
    expect(objects).toHaveLength(1);
    expect(parseBatchObjectKey(object?.key ?? '')).toMatchObject({ topic: topic.id });
    const header = decodeBatchObjectHeader(await world.store.getRange(object?.key ?? '', 0, 100, world.signal));
    expect(new Set(header.segments)).toEqual(new Set([segmentId(0), segmentId(1)]));
  });

  test('counts its load by sixteenths of the segment', async () => {
    const world = createTestWorld();
    const topic = await world.topic(2);
    await world.run(world.broker().publisher.publish(topic, publishOf([...MIXED, ['k6', '5']]), world.signal));
    const { head } = await readSegmentLog(world, topic.id, segmentId(0));
    expect(head.load).toMatchObject({ messages: 3, commits: 1 });
    // k0 is partition 10454, k2 24930, k6 19817 of 0 … 32767.
    expect(head.load.buckets.map((count, bucket) => [bucket, count]).filter(([, count]) => count !== 0)).toEqual([
      [5, 1],
      [9, 1],
      [12, 1],
    ]);
  });

  test('to a segment that is named lies in it, or is refused as a whole', async () => {
    const world = createTestWorld();
    const topic = await world.topic(2);
    const { publisher } = world.broker();
    const low = { ...publishOf([['k0', '1']]), segment: firstSegment(topic) };
    expect(brief(await world.run(publisher.publish(topic, low, world.signal)))).toEqual(['s0000000:0']);
    const astray = {
      ...publishOf([
        ['k0', '2'],
        ['k1', '3'],
      ]),
      segment: firstSegment(topic),
    };
    await expect(world.run(publisher.publish(topic, astray, world.signal))).rejects.toMatchObject({ code: 'invalid-segment' });
    const nowhere = { ...publishOf(['4']), segment: segmentId(9) };
    await expect(world.run(publisher.publish(topic, nowhere, world.signal))).rejects.toMatchObject({ code: 'segment-not-found' });
    expect(await readValues(world, topic.id)).toEqual(['1']);
  });

  test('of nothing is refused', async () => {
    const world = createTestWorld();
    for (const segments of [1, 2]) {
      const topic = await world.topic(segments, `t${segments}`);
      const nothing = world.broker().publisher.publish(topic, publishOf([]), world.signal);
      await expect(world.run(nothing)).rejects.toMatchObject({ kind: 'invalid', code: 'invalid-messages' });
    }
  });

  test('by two brokers side by side gives every offset once', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const brokers = [world.broker(), world.broker()];
    const values = Array.from({ length: 60 }, (_, n) => String(n));
    const results = await world.run(
      Promise.all(values.map((value, n) => (brokers[n % 2] ?? world.broker()).publisher.publish(topic, publishOf([value]), world.signal))),
    );
    const stored = await readValues(world, topic.id);
    expect(results.map(([placed]) => (placed !== undefined && 'offset' in placed ? stored[placed.offset ?? -1] : placed))).toEqual(values);
  });

  test('after publish is spilled before the head grows long', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const broker = world.broker();
    for (let n = 0; n < 50; n += 1) {
      await world.run(broker.publisher.publish(topic, publishOf([String(n)]), world.signal));
      await world.run(broker.notes.idle());
    }
    const { head, entries, messages } = await readSegmentLog(world, topic.id, firstSegment(topic));
    expect(head.entries.length).toBeLessThan(HEAD_ENTRIES_SPILL);
    expect(head.spilled).toBeGreaterThan(0);
    expect(entries).toHaveLength(50);
    expect(messages.map(({ value }) => value)).toEqual(Array.from({ length: 50 }, (_, n) => String(n)));
  });
});

describe('an expected tail', () => {
  test('stores only there', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { publisher } = world.broker();
    const at = (matchTail: number) =>
      publisher.publish(topic, { ...publishOf(['x']), segment: firstSegment(topic), matchTail }, world.signal);
    expect(brief(await world.run(at(1)))).toEqual(['tail-mismatch']);
    expect(brief(await world.run(at(0)))).toEqual(['s0000000:0']);
    expect(brief(await world.run(at(0)))).toEqual(['tail-mismatch']);
    expect(brief(await world.run(at(1)))).toEqual(['s0000000:1']);
  });

  test('of many at once lets one in', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const brokers = [world.broker(), world.broker(), world.broker()];
    const wish = { ...publishOf(['x']), segment: firstSegment(topic), matchTail: 0 };
    const results = await world.run(
      Promise.all([...brokers, ...brokers].map(({ publisher }) => publisher.publish(topic, wish, world.signal))),
    );
    expect(results.flatMap(brief).toSorted()).toEqual(['s0000000:0', ...Array.from({ length: 5 }, () => 'tail-mismatch')]);
  });
});
