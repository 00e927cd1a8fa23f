import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { KelpError } from '../../src/model/errors.ts';
import { segmentId } from '../../src/model/ids.ts';
import { GROUP_LINGER_MS, GROUPS_IN_FLIGHT_MAX } from '../../src/model/limits.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { readTopicLog, readValues } from '../simulation/read-log.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';
import { settle } from '../simulation/virtual-clock.ts';
import { throttled } from '../simulation/world-faults.ts';
import { brief, firstSegment, produced, publishOf } from './requests.ts';

const PUT_MS = 100;
/** Of a table that is slow: far fewer than groups would be. */
const COMMITS_PER_SECOND = 2;

/** A broker whose uploads take their time, and how many there were. */
function slowBroker(world: TestWorld, putMs = PUT_MS): TestBroker & { puts: number } {
  const store = interceptStore(world.store, async (call, make, signal) => {
    if (call.op === 'put') {
      broker.puts += 1;
      await world.clock.sleep(putMs, signal);
    }
    return make();
  });
  const broker = { ...world.broker({ store }), puts: 0 };
  return broker;
}

describe('grouping', () => {
  test('an idle topic waits for no timer', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const broker = slowBroker(world);
    const before = world.clock.monotonicMs();
    await world.run(broker.publisher.publish(topic, publishOf(['1']), world.signal));
    expect(world.clock.monotonicMs() - before).toBe(PUT_MS);
  });

  test('what comes while a group is in flight gathers, and goes together', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const broker = slowBroker(world);
    const values = Array.from({ length: 50 }, (_, n) => String(n));
    const results = await world.run(Promise.all(values.map((value) => broker.publisher.publish(topic, publishOf([value]), world.signal))));
    expect(results.flatMap(brief)).toEqual(values.map((offset) => `s0000000:${offset}`));
    expect(broker.puts).toBe(2);
  });

  test('what has waited for the linger goes though groups are in flight', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const broker = slowBroker(world, 60_000);
    for (let n = 0; n < GROUPS_IN_FLIGHT_MAX + 3; n += 1) {
      broker.publisher.publish(topic, publishOf([String(n)]), world.signal).catch(() => undefined);
      await world.clock.advance(n === 0 ? 1 : GROUP_LINGER_MS);
    }
    expect(broker.puts).toBe(GROUPS_IN_FLIGHT_MAX);
  });

  test('J-27: 500 topics with a message each are one object each', async () => {
    const world = createTestWorld();
    const maker = world.broker();
    const topics = await world.run(
      Promise.all(
        Array.from({ length: 500 }, async (_, n) => {
          return (await maker.topics.create(`t${n}`, { partitionKey: 'key', segments: 1, replicas: 2 }, world.signal)).topic;
        }),
      ),
    );
    const broker = slowBroker(world);
    const results = await world.run(Promise.all(topics.map((topic) => broker.publisher.publish(topic, publishOf(['1']), world.signal))));
    expect(results.flatMap(brief)).toEqual(topics.map(() => 's0000000:0'));
    expect(broker.puts).toBe(500);
    // Idle, it leaves nothing that wakes.
    expect(world.clock.sleeping()).toBe(0);
  });

  test('a batch of a line in flight keeps back the next one of that line, and no other', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const segment = firstSegment(topic);
    const broker = slowBroker(world);
    const send = (producer: string, sequence: number) =>
      broker.publisher.publish(topic, produced([`${producer}${sequence}`], { segment, producer, sequence }), world.signal);
    const p0 = send('p', 0);
    await world.clock.advance(1);
    const [p1, q0] = [send('p', 1), send('q', 0)];
    expect((await world.run(Promise.all([p0, p1, q0]))).map(brief)).toEqual([['s0000000:0'], ['s0000000:2'], ['s0000000:1']]);
  });
});

describe('a caller that stops waiting', () => {
  test('in the queue takes its messages along: nothing of them is stored', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const broker = slowBroker(world);
    const first = broker.publisher.publish(topic, publishOf(['first']), world.signal);
    const controller = new AbortController();
    const queued = broker.publisher.publish(topic, publishOf(['queued']), controller.signal);
    await world.clock.advance(1);
    const reason = new Error('gone');
    controller.abort(reason);
    await expect(queued).rejects.toBe(reason);
    await world.run(first);
    await world.clock.advance(1_000);
    expect(await readValues(world, topic.id)).toEqual(['first']);
    expect(broker.puts).toBe(1);
  });

  test('before it began sends nothing', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const broker = slowBroker(world);
    const reason = new Error('gone');
    await expect(broker.publisher.publish(topic, publishOf(['1']), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(broker.puts).toBe(0);
  });

  test('in flight is told that the outcome is unknown, and its mates are not disturbed', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const broker = slowBroker(world);
    const first = broker.publisher.publish(topic, publishOf(['first']), world.signal);
    const controller = new AbortController();
    const leaving = broker.publisher.publish(topic, publishOf(['leaving']), controller.signal);
    const staying = broker.publisher.publish(topic, publishOf(['staying']), world.signal);
    await world.run(first);
    await world.clock.advance(1);
    controller.abort();
    expect(brief(await leaving)).toEqual(['indefinite']);
    expect(brief(await world.run(staying))).toEqual(['s0000000:2']);
    expect(await readValues(world, topic.id)).toEqual(['first', 'leaving', 'staying']);
  });

  test('as the last one of its group ends it, and gets the outcome as it is', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const broker = slowBroker(world);
    const controller = new AbortController();
    const leaving = broker.publisher.publish(topic, publishOf(['leaving']), controller.signal);
    await world.clock.advance(1);
    controller.abort();
    const before = world.clock.monotonicMs();
    expect(brief(await world.run(leaving))).toEqual(['unavailable']);
    expect(world.clock.monotonicMs()).toBe(before);
    await world.clock.advance(60_000);
    expect(await readValues(world, topic.id)).toEqual([]);
  });

  test('leaves no listener and no timer behind, a thousand times', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const broker = slowBroker(world, 1);
    const signal = new AbortController();
    for (let n = 0; n < 1_000; n += 1) {
      const own = new AbortController();
      const gone = broker.publisher.publish(topic, publishOf([`gone ${n}`]), own.signal).catch(() => []);
      const kept = broker.publisher.publish(topic, publishOf([`kept ${n}`]), signal.signal);
      await settle();
      own.abort();
      await world.run(Promise.all([gone, kept]));
    }
    expect(getEventListeners(signal.signal, 'abort')).toHaveLength(0);
    await world.run(broker.notes.idle());
    expect(world.clock.sleeping()).toBe(0);
    expect((await readValues(world, topic.id)).filter((value) => value.startsWith('kept'))).toHaveLength(1_000);
  });
});

describe('J-18: a segment that is throttled', () => {
  const KEYS = ['k0', 'k1', 'k2', 'k3', 'k6', 'k4'];
  const request = publishOf(KEYS.map((key) => [key, `of ${key}`] as const));

  const bench = async () => {
    const world = createTestWorld();
    const topic = await world.topic(2);
    const slow = new Set(['s0000001']);
    const table = interceptTable(world.table, (call, make) => {
      if (call.name === 'update head' && call.op === 'update' && slow.has(call.key.pk.slice(-8))) throw throttled();
      return make();
    });
    return { world, topic, slow, broker: world.broker({ table }) };
  };

  test('fails alone, with its reason; the other one’s messages have their offsets', async () => {
    const { world, topic, broker } = await bench();
    const result = await world.run(broker.publisher.publish(topic, request, world.clock.deadline(3_000)));
    expect(brief(result)).toEqual(['s0000000:0', 'throttled', 's0000000:1', 'throttled', 's0000000:2', 'throttled']);
    expect(result[1]).toMatchObject({ kind: 'throttled', retryAfterMs: 1_000, extra: { reason: 'segment' } });
  });

  test('sent again segment by segment as a producer, its messages are stored once, in order', async () => {
    const { world, topic, slow, broker } = await bench();
    const low = produced(['k0', 'k2', 'k6'], { segment: segmentId(0), sequence: 0 });
    const high = produced(['k1', 'k3', 'k4'], { segment: segmentId(1), sequence: 0 });
    const keyed = (part: typeof low) => ({
      ...part,
      ...publishOf(
        (part.content.kind === 'messages' ? part.content.messages : []).map(({ value }) => {
          const key = new TextDecoder().decode(value ?? undefined);
          return [key, `of ${key}`] as const;
        }),
      ),
    });
    const both = () => Promise.all([low, high].map((part) => broker.publisher.publish(topic, keyed(part), world.clock.deadline(3_000))));
    expect((await world.run(both())).map(brief)).toEqual([
      ['s0000000:0', 's0000000:1', 's0000000:2'],
      ['throttled', 'throttled', 'throttled'],
    ]);
    slow.clear();
    expect((await world.run(both())).map(brief)).toEqual([
      ['s0000000:0 again', 's0000000:1 again', 's0000000:2 again'],
      ['s0000001:0', 's0000001:1', 's0000001:2'],
    ]);
    expect((await readTopicLog(world, topic.id)).flatMap(({ messages }) => messages.map(({ value }) => value))).toEqual(
      ['k0', 'k2', 'k6', 'k1', 'k3', 'k4'].map((key) => `of ${key}`),
    );
  });

  test('beside the other one leaves nothing stored, and says so', async () => {
    const { world, topic, slow, broker } = await bench();
    slow.add('s0000000');
    const result = await world.run(broker.publisher.publish(topic, request, world.clock.deadline(3_000)));
    expect(new Set(brief(result))).toEqual(new Set(['throttled']));
    expect(await readValues(world, topic.id)).toEqual([]);
  });

  test('does not hold up the other one, in the same group or behind it', async () => {
    const { world, topic, broker } = await bench();
    const started = world.clock.monotonicMs();
    const answered: number[] = [];
    const stuck = Array.from({ length: 20 }, (_, n) =>
      broker.publisher.publish(topic, publishOf([['k1', `high ${n}`]]), world.clock.deadline(20_000)),
    );
    for (let n = 0; n < 20; n += 1) {
      await world.run(broker.publisher.publish(topic, publishOf([['k0', `low ${n}`]]), world.signal));
      answered.push(world.clock.monotonicMs() - started);
    }
    expect(answered.at(-1)).toBeLessThan(10_000);
    const results = await world.run(Promise.all(stuck));
    // Those that left a group to others don't know; the last of each does.
    for (const [error] of results) expect(error instanceof KelpError && ['throttled', 'indefinite'].includes(error.kind)).toBe(true);
  });

  test('takes all that comes meanwhile with its next commit, so that a flood is acked at the table’s pace', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const commits = { second: -1, count: 0, applied: 0 };
    const table = interceptTable(world.table, async (call, make) => {
      if (call.name !== 'update head') return make();
      const second = Math.floor(world.clock.monotonicMs() / 1_000);
      if (second !== commits.second) Object.assign(commits, { second, count: 0 });
      if (commits.count >= COMMITS_PER_SECOND) throw throttled();
      commits.count += 1;
      commits.applied += 1;
      return make();
    });
    const broker = world.broker({ table });
    const tookMs: number[] = [];
    const flood: Promise<void>[] = [];
    for (let n = 0; n < 500; n += 1) {
      const sentMs = world.clock.monotonicMs();
      const acked = broker.publisher.publish(topic, publishOf([String(n)]), world.clock.deadline(30_000)).then((result) => {
        expect(brief(result)).toEqual([expect.stringMatching(/^s0000000:/)]);
        tookMs.push(world.clock.monotonicMs() - sentMs);
      });
      flood.push(acked);
      await world.clock.advance(10);
    }
    await world.run(Promise.all(flood));
    expect(Math.max(...tookMs)).toBeLessThan(4_000);
    expect(commits.applied).toBeLessThan(40);
  });
});
