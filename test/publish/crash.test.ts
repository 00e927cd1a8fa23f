import { expect, test } from 'vitest';
import { HEAD_ENTRIES_SPILL, HEAD_LINES_MAX } from '../../src/model/limits.ts';
import type { Topic } from '../../src/model/topic.ts';
import type { PublishRequest } from '../../src/publish/request.ts';
import { killAtEveryStep } from '../simulation/kill-at-every-step.ts';
import { readSegmentLog, readTopicLog, readValues } from '../simulation/read-log.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import type { TestBroker, TestWorld } from '../simulation/test-broker.ts';
import { brief, firstSegment, keyed, produced, publishOf } from './requests.ts';

// A broker is killed at each of its calls of a store, before and after the call takes effect. Reading the log checks each time
// that its index is whole.

const sent = async (world: TestWorld, topic: Topic, request: PublishRequest, by?: TestBroker): Promise<string[]> =>
  brief(await world.run((by ?? world.broker()).publisher.publish(topic, request, world.signal)));

/** Keys in both halves of the partitions, the upper one first. */
const MIXED = [
  ['k1', '1'],
  ['k0', '2'],
  ['k3', '3'],
  ['k2', '4'],
] as const;

test('F1, F2: a plain publish is stored whole or not at all in each segment, and others go on behind it', async () => {
  const steps = await killAtEveryStep({
    prepare: (world) => world.topic(2),
    act: (broker, topic, world) => broker.publisher.publish(topic, publishOf(MIXED), world.signal),
    async check(world, topic) {
      expect(
        await sent(
          world,
          topic,
          publishOf([
            ['k0', 'low'],
            ['k1', 'high'],
          ]),
        ),
      ).toEqual([expect.any(String), expect.any(String)]);
      const [low, high] = (await readTopicLog(world, topic.id)).map(({ messages }) => messages.map(({ value }) => value));
      expect([['low'], ['2', '4', 'low']]).toContainEqual(low);
      expect([['high'], ['1', '3', 'high']]).toContainEqual(high);
    },
  });
  // One PUT, and a read and a write of two heads.
  expect(steps).toBe(5);
});

test('F1, F2, F3: a producer sends again, and its messages are stored once, in order', async () => {
  const steps = await killAtEveryStep({
    prepare: async (world) => {
      const topic = await world.topic();
      await sent(world, topic, produced(['0', '1'], { segment: firstSegment(topic), sequence: 0 }));
      return topic;
    },
    act: (broker, topic, world) =>
      broker.publisher.publish(topic, produced(['2', '3'], { segment: firstSegment(topic), sequence: 2 }), world.signal),
    async check(world, topic) {
      const again = await sent(world, topic, produced(['2', '3'], { segment: firstSegment(topic), sequence: 2 }));
      expect(again.map((one) => one.replace(' again', ''))).toEqual(['s0000000:2', 's0000000:3']);
      expect(await readValues(world, topic.id)).toEqual(['0', '1', '2', '3']);
    },
  });
  expect(steps).toBe(3);
});

test('I1: a request with an Idempotency-Key is repeated, and is stored once', async () => {
  const steps = await killAtEveryStep({
    prepare: (world) => world.topic(2),
    act: (broker, topic, world) => broker.publisher.publish(topic, keyed(MIXED, 'k'), world.signal),
    async check(world, topic) {
      const again = await sent(world, topic, keyed(MIXED, 'k'));
      expect(again.map((one) => one.replace(' again', ''))).toEqual(['s0000001:0', 's0000000:0', 's0000001:1', 's0000000:1']);
      expect(await readValues(world, topic.id)).toEqual(['2', '4', '1', '3']);
    },
  });
  expect(steps).toBeGreaterThanOrEqual(7);
});

test('I1: a request with an Idempotency-Key is repeated behind a seal, and is stored once', async () => {
  const steps = await killAtEveryStep({
    prepare: (world) => world.topic(),
    act: (broker, topic, world) => broker.publisher.publish(topic, keyed(MIXED, 'k'), world.signal),
    async check(world, topic) {
      await replaceSegment(world, topic, { segment: firstSegment(topic), children: 2 });
      const again = await sent(world, topic, keyed(MIXED, 'k'));
      expect(await sent(world, topic, keyed(MIXED, 'k'))).toEqual(again.map((one) => `${one.replace(' again', '')} again`));
      expect((await readValues(world, topic.id)).toSorted()).toEqual(['1', '2', '3', '4']);
    },
  });
  expect(steps).toBeGreaterThanOrEqual(5);
});

test('F28: a spill is carried on by whoever comes next', async () => {
  const before = HEAD_ENTRIES_SPILL - 1;
  const steps = await killAtEveryStep({
    prepare: async (world) => {
      const topic = await world.topic();
      const broker = world.broker();
      for (let n = 0; n < before; n += 1) await sent(world, topic, publishOf([String(n)]), broker);
      return topic;
    },
    act: (broker, topic, world) => broker.publisher.publish(topic, publishOf(['last']), world.signal),
    async check(world, topic) {
      const broker = world.broker();
      for (let n = 0; n < 20; n += 1) await sent(world, topic, publishOf([`after ${n}`]), broker);
      await world.run(broker.notes.idle());
      const { head, messages } = await readSegmentLog(world, topic.id, firstSegment(topic));
      expect(head.spilled).toBeGreaterThanOrEqual(before);
      expect(head.entries.length).toBeLessThan(HEAD_ENTRIES_SPILL + 5);
      const values = messages.map(({ value }) => value).filter((value) => value !== 'last');
      expect(values).toEqual([
        ...Array.from({ length: before }, (_, n) => String(n)),
        ...Array.from({ length: 20 }, (_, n) => `after ${n}`),
      ]);
    },
  });
  // PUT, head, commit; page, head.
  expect(steps).toBe(5);
});

test('P3: a producer that makes room in a full head, and the one that it moves out, both count on', async () => {
  const names = Array.from({ length: HEAD_LINES_MAX }, (_, n) => `p${n}`);
  const steps = await killAtEveryStep({
    prepare: async (world) => {
      const topic = await world.topic();
      const segment = firstSegment(topic);
      for (const producer of names) await sent(world, topic, produced([`${producer} 0`], { segment, producer, sequence: 0 }));
      return topic;
    },
    act: (broker, topic, world) =>
      broker.publisher.publish(topic, produced(['new 0'], { segment: firstSegment(topic), producer: 'new', sequence: 0 }), world.signal),
    async check(world, topic) {
      const segment = firstSegment(topic);
      for (const producer of [...names, 'new']) {
        expect(await sent(world, topic, produced([`${producer} 0`], { segment, producer, sequence: 0 }))).toHaveLength(1);
        expect(await sent(world, topic, produced([`${producer} 2`], { segment, producer, sequence: 2 }))).toEqual(['sequence-gap']);
        expect(await sent(world, topic, produced([`${producer} 1`], { segment, producer, sequence: 1 }))).toEqual([
          expect.stringMatching(/^s0000000:\d+$/),
        ]);
      }
      const expected = [...names, 'new'].flatMap((producer) => [`${producer} 0`, `${producer} 1`]);
      expect((await readValues(world, topic.id)).toSorted()).toEqual(expected.toSorted());
    },
  });
  expect(steps).toBeGreaterThanOrEqual(5);
});
