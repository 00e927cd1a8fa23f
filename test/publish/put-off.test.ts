import { describe, expect, test } from 'vitest';
import { type SegmentId, segmentId } from '../../src/model/ids.ts';
import { GROUP_LINGER_MS, GROUP_SLOT_MS_MAX, GROUPS_IN_FLIGHT_MAX } from '../../src/model/limits.ts';
import { partitionOf } from '../../src/model/partition.ts';
import type { SegmentRange, Topic } from '../../src/model/topic.ts';
import type { Queued } from '../../src/publish/gather.ts';
import type { Part } from '../../src/publish/part.ts';
import type { PublishResult } from '../../src/publish/request.ts';
import { createPutOff } from '../../src/publish/put-off.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { createTestWorld, type TestWorld } from '../simulation/test-broker.ts';
import { throttled } from '../simulation/world-faults.ts';
import { brief, publishOf } from './requests.ts';

const [LOW, HIGH, THIRD] = [segmentId(0), segmentId(1), segmentId(2)];

describe('busy are', () => {
  type Aged = Queued & { readonly waitedMs: number };

  const queued = (waitedMs: number, ...segments: readonly SegmentId[]): Aged => {
    const hold = { share: () => undefined, release: () => undefined };
    const parts = segments.map((segment): Part => ({ segment, batches: [], bytes: 0, count: 1, buckets: [], highestTimestampMs: 0 }));
    return { waitedMs, bytes: 0, submission: { topic: {} as Topic, alone: false, hold, parts } };
  };
  const busy = (putOff: ReturnType<typeof createPutOff>, ...queue: readonly Aged[]): SegmentId[] =>
    [...putOff.busy(queue, ({ waitedMs }) => waitedMs)].toSorted();

  test('segments with a commit that is put off, until that of each group is decided', () => {
    const putOff = createPutOff();
    const [one, other] = [{}, {}];
    expect(busy(putOff)).toEqual([]);
    putOff.note(LOW, one);
    putOff.note(LOW, one);
    putOff.note(LOW, other);
    putOff.note(HIGH, other);
    expect(busy(putOff)).toEqual([LOW, HIGH]);
    putOff.over(LOW, one);
    expect(busy(putOff)).toEqual([LOW, HIGH]);
    putOff.over(LOW, other);
    expect(busy(putOff)).toEqual([HIGH]);
    putOff.over(THIRD, other);
    putOff.over(HIGH, other);
    expect(busy(putOff)).toEqual([]);
  });

  test('not those for which somebody has waited long enough; others are as before', () => {
    const putOff = createPutOff();
    for (const segment of [LOW, HIGH, THIRD]) putOff.note(segment, {});
    const young = queued(GROUP_SLOT_MS_MAX - 1, HIGH);
    expect(busy(putOff, young)).toEqual([LOW, HIGH, THIRD]);
    expect(busy(putOff, queued(GROUP_SLOT_MS_MAX, LOW), young)).toEqual([HIGH, THIRD]);
    expect(busy(putOff, queued(2 * GROUP_SLOT_MS_MAX, LOW, THIRD), queued(GROUP_SLOT_MS_MAX, THIRD), young)).toEqual([HIGH]);
    // Who waited decided nothing for those that come later.
    expect(busy(putOff, young)).toEqual([LOW, HIGH, THIRD]);
  });
});

/** A broker on a table that throttles what is in `slow`, and when commits were applied, in ms since the beginning. */
async function bench(segments: number) {
  const world = createTestWorld();
  const topic = await world.topic(segments);
  const slow = new Set<SegmentId>();
  const startedMs = world.clock.monotonicMs();
  const sinceMs = (): number => world.clock.monotonicMs() - startedMs;
  const commits: { readonly segment: SegmentId; readonly atMs: number }[] = [];
  const table = interceptTable(world.table, (call, make) => {
    if (call.name !== 'update head' || call.op !== 'update') return make();
    const segment = call.key.pk.slice(-8) as SegmentId;
    if (slow.has(segment)) throw throttled();
    commits.push({ segment, atMs: sinceMs() });
    return make();
  });
  const broker = world.broker({ table });
  const publish = (...to: readonly SegmentId[]): Promise<PublishResult> =>
    broker.publisher.publish(topic, publishOf(to.map((segment) => [keyIn(topic, segment), `to ${segment}`] as const)), world.signal);
  return { world, slow, sinceMs, publish, commitsTo: (segment: SegmentId) => commits.filter((one) => one.segment === segment) };
}

function keyIn({ open }: Topic, segment: SegmentId): string {
  const { lo, hi } = open.find((range) => range.segment === segment) as SegmentRange;
  for (let n = 0; ; n += 1) {
    const partition = partitionOf(new TextEncoder().encode(`k${n}`));
    if (lo <= partition && partition <= hi) return `k${n}`;
  }
}

/** The table takes everything from now on. */
async function end(world: TestWorld, slow: Set<SegmentId>, left: readonly Promise<PublishResult>[]): Promise<string[]> {
  slow.clear();
  return (await world.run(Promise.all(left))).flatMap(brief);
}

describe('on a lane that a throttled segment keeps busy', () => {
  test('what is published once a commit that was put off is decided begins at once', async () => {
    const { world, slow, sinceMs, publish } = await bench(2);
    slow.add(LOW).add(HIGH);
    const [stuck, first] = [publish(HIGH), publish(LOW)];
    await world.clock.advance(1);
    slow.delete(LOW);
    expect(brief(await world.run(first))).toEqual([`${LOW}:0`]);
    const decidedMs = sinceMs();
    expect(brief(await world.run(publish(LOW)))).toEqual([`${LOW}:1`]);
    expect(sinceMs()).toBe(decidedMs);
    expect(await end(world, slow, [stuck])).toEqual([`${HIGH}:0`]);
  });

  test('what waits for a commit goes when that one is decided, though its group is not', async () => {
    const { world, slow, publish, commitsTo } = await bench(2);
    slow.add(LOW).add(HIGH);
    const both = publish(LOW, HIGH);
    await world.clock.advance(1);
    const waiting = publish(LOW);
    slow.delete(LOW);
    expect(brief(await world.run(waiting))).toEqual([`${LOW}:1`]);
    const [first, second] = commitsTo(LOW);
    expect(second?.atMs).toBe(first?.atMs);
    expect(first?.atMs).toBeLessThan(GROUP_SLOT_MS_MAX);
    expect(await end(world, slow, [both])).toEqual([`${LOW}:0`, `${HIGH}:0`]);
  });

  test('a request over it and a free one goes after its time, and no sooner', async () => {
    const { world, slow, sinceMs, publish, commitsTo } = await bench(2);
    slow.add(HIGH);
    const stuck = publish(HIGH);
    await world.clock.advance(1);
    const sentMs = sinceMs();
    const both = publish(LOW, HIGH);
    await world.clock.advance(GROUP_SLOT_MS_MAX + 2 * GROUP_LINGER_MS);
    expect(commitsTo(LOW)).toHaveLength(1);
    expect((commitsTo(LOW)[0]?.atMs ?? 0) - sentMs).toBeGreaterThanOrEqual(GROUP_SLOT_MS_MAX);
    expect(commitsTo(HIGH)).toEqual([]);
    expect((await end(world, slow, [stuck, both])).toSorted()).toEqual([`${LOW}:0`, `${HIGH}:0`, `${HIGH}:1`]);
  });

  test('as many throttled groups as may be in flight don’t hold up a neighbour', async () => {
    const { world, slow, sinceMs, publish } = await bench(GROUPS_IN_FLIGHT_MAX + 1);
    const stuck: Promise<PublishResult>[] = [];
    for (let n = 0; n < GROUPS_IN_FLIGHT_MAX; n += 1) {
      slow.add(segmentId(n));
      stuck.push(publish(segmentId(n)));
      await world.clock.advance(2 * GROUP_LINGER_MS);
    }
    const sentMs = sinceMs();
    const neighbour = segmentId(GROUPS_IN_FLIGHT_MAX);
    expect(brief(await world.run(publish(neighbour)))).toEqual([`${neighbour}:0`]);
    expect(sinceMs()).toBe(sentMs);
    expect(await end(world, slow, stuck)).toEqual(stuck.map((_, n) => `${segmentId(n)}:0`));
  });
});
