import { expect, test } from 'vitest';
import type { SegmentId, TopicId } from '../../src/model/ids.ts';
import { GROUP_LINGER_MS, GROUPS_IN_FLIGHT_MAX } from '../../src/model/limits.ts';
import type { PublishRequest } from '../../src/publish/request.ts';
import { createPressureMeter, type PressureMeter } from '../../src/state/pressure-meter.ts';
import { interceptStore } from '../simulation/intercept.ts';
import { createTestWorld, type TestWorld } from '../simulation/test-broker.ts';
import { faultyTable } from '../simulation/world-faults.ts';
import { brief, firstSegment, keyed, produced, publishOf } from './requests.ts';

// What publishing tells of the segments that it commits to.

const PUT_MS = 3_000;

type Stored = { readonly segment: SegmentId; readonly messages: number; readonly bytes: number };

/** A meter that writes down what it is told. */
function watchedMeter({ clock }: TestWorld) {
  const throttled: (readonly [TopicId, SegmentId])[] = [];
  const queued: (readonly [SegmentId, number])[] = [];
  const stored: Stored[] = [];
  const meter = createPressureMeter({ clock, onPressed: () => undefined });
  const pressure: PressureMeter = {
    ...meter,
    throttled(topic, segment) {
      throttled.push([topic, segment]);
      meter.throttled(topic, segment);
    },
    queued(topic, segment, ms) {
      queued.push([segment, ms]);
      meter.queued(topic, segment, ms);
    },
    committed(topic, segment, sums) {
      stored.push({ segment, ...sums });
      meter.committed(topic, segment, sums);
    },
  };
  return { pressure, throttled, queued, stored };
}

test('F16, F29: every write of a head that the table refuses for its rate, and no other failure', async () => {
  const world = createTestWorld();
  const topic = await world.topic();
  const { pressure, throttled } = watchedMeter(world);
  const table = faultyTable(world.table, { 'update head': ['dropped', 'unavailable', 'throttled', 'conflict', 'throttled', 'lost'] });
  const broker = world.broker({ table, pressure });
  const result = await world.run(broker.publisher.publish(topic, publishOf(['1']), world.signal));
  expect(brief(result)).toEqual(['s0000000:0']);
  expect(throttled).toEqual(Array.from({ length: 3 }, () => [topic.id, firstSegment(topic)]));
});

test('how long the oldest of its messages has waited for a commit to begin, segment by segment', async () => {
  const world = createTestWorld();
  const topic = await world.topic(2);
  const [lower, upper] = topic.open.map(({ segment }) => segment);
  let puts = 0;
  const store = interceptStore(world.store, async (call, make, signal) => {
    if (call.op === 'put') puts += 1;
    if (puts <= GROUPS_IN_FLIGHT_MAX) await world.clock.sleep(PUT_MS, signal);
    return make();
  });
  const { pressure, queued } = watchedMeter(world);
  const broker = world.broker({ store, pressure });
  const publish = (key: string) => broker.publisher.publish(topic, publishOf([[key, key]]), world.signal);
  const sent = [];
  for (let n = 0; n < GROUPS_IN_FLIGHT_MAX; n += 1) {
    sent.push(publish('a'));
    await world.clock.advance(GROUP_LINGER_MS);
  }
  // Both wait for the first of those to end, and go together.
  const lastMs = GROUPS_IN_FLIGHT_MAX * GROUP_LINGER_MS;
  sent.push(publish('a'), publish('a'));
  await world.clock.advance(PUT_MS - lastMs - 5);
  sent.push(publish('b'));
  await world.run(Promise.all(sent));
  expect(puts).toBe(GROUPS_IN_FLIGHT_MAX + 1);
  expect(queued.filter(([, ms]) => ms < PUT_MS)).toEqual([
    [lower, PUT_MS - lastMs],
    [upper, 5],
  ]);
  expect(pressure.sample().map(({ segment }) => segment)).toEqual([lower]);
});

test('what each commit has stored, once, and nothing of what was a duplicate or refused', async () => {
  const world = createTestWorld();
  const topic = await world.topic(2);
  const segment = firstSegment(topic);
  const { pressure, stored } = watchedMeter(world);
  const table = faultyTable(world.table, { 'update head': ['lost', 'throttled'] });
  const broker = world.broker({ table, pressure });
  const publish = async (request: PublishRequest): Promise<Stored[]> => {
    stored.length = 0;
    await world.run(broker.publisher.publish(topic, request, world.signal));
    return [...stored];
  };

  const bytes = expect.any(Number) as number;
  expect(await publish(produced(['0', '1'], { segment, sequence: 0 }))).toEqual([{ segment, messages: 2, bytes }]);
  const { load } = (await broker.heads.read(topic.id, segment, world.signal)) ?? {};
  expect(load).toMatchObject({ messages: 2, bytes: stored[0]?.bytes, commits: 1 });
  expect(await publish(produced(['0', '1'], { segment, sequence: 0 }))).toEqual([]);
  expect(await publish(produced(['9'], { segment, sequence: 9 }))).toEqual([]);
  expect(await publish({ ...publishOf(['x']), segment, matchTail: 0 })).toEqual([]);
  const spread = await publish(publishOf(['a', 'b', 'c', 'd', 'e', 'f'].map((key) => [key, key] as const)));
  expect(new Set(spread.map((one) => one.segment)).size).toBe(2);
  expect(spread.reduce((sum, { messages }) => sum + messages, 0)).toBe(6);
  expect(await publish(keyed(['k'], 'key'))).toHaveLength(1);
  expect(await publish(keyed(['k'], 'key'))).toEqual([]);
});

test('nothing of what another handler of the same request has stored', async () => {
  const world = createTestWorld();
  const topic = await world.topic();
  const meters = [watchedMeter(world), watchedMeter(world)];
  const handlers = meters.map(({ pressure }) => world.broker({ pressure }).publisher.publish(topic, keyed(['k'], 'key'), world.signal));
  const results = await world.run(Promise.all(handlers));
  expect(results.map(brief).toSorted()).toEqual([['s0000000:0'], ['s0000000:0 again']]);
  expect(meters.flatMap(({ stored }) => stored)).toHaveLength(1);
});
