import { describe, expect, test } from 'vitest';
import { contentBytes, createAdmission } from '../../src/publish/admit.ts';
import { interceptStore } from '../simulation/intercept.ts';
import { readValues } from '../simulation/read-log.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { brief, message, publishOf } from './requests.ts';

const forEver = new AbortController().signal;
const full = expect.objectContaining({ kind: 'unavailable', code: 'unavailable', retryAfterMs: 1_000 });

describe('admission', () => {
  test('takes bytes up to its bound, and gives room back', () => {
    const admission = createAdmission(100);
    const first = admission.admit(60);
    expect(() => admission.admit(41)).toThrow(full);
    admission.admit(40);
    expect(admission.isFull()).toBe(true);
    first.release();
    expect(admission.isFull()).toBe(false);
    expect(() => admission.admit(61)).toThrow(full);
    expect(() => admission.admit(60)).not.toThrow();
  });

  test('takes one request of any size when it holds nothing', () => {
    const admission = createAdmission(100);
    const large = admission.admit(1_000);
    expect(() => admission.admit(1)).toThrow(full);
    large.release();
    expect(admission.isFull()).toBe(false);
  });

  test('keeps bytes until their last user has released them', () => {
    const admission = createAdmission(100);
    const hold = admission.admit(100);
    hold.share();
    hold.release();
    expect(admission.isFull()).toBe(true);
    hold.release();
    expect(admission.isFull()).toBe(false);
  });

  test('that stops refuses from then on, and waits for what it holds', async () => {
    const admission = createAdmission(100);
    const hold = admission.admit(10);
    let stopped = false;
    const stop = admission.stop(forEver).then(() => void (stopped = true));
    expect(() => admission.admit(1)).toThrow(full);
    await Promise.resolve();
    expect(stopped).toBe(false);
    hold.release();
    await stop;
    await expect(createAdmission(1).stop(forEver)).resolves.toBeUndefined();
  });

  test('that stops waits no longer than its caller', async () => {
    const admission = createAdmission(100);
    admission.admit(10);
    const controller = new AbortController();
    const stop = admission.stop(controller.signal);
    const reason = new Error('ten seconds are over');
    controller.abort(reason);
    await expect(stop).rejects.toBe(reason);
    await expect(admission.stop(AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

test('content is counted with all that it holds in memory', () => {
  const value = new Uint8Array(1_000);
  const headers = [{ name: 'name', value: new Uint8Array(500) }];
  const bytes = contentBytes({ kind: 'messages', messages: [{ ...message('key', ''), value, headers }] });
  expect(bytes).toBeGreaterThan(1_507);
  expect(bytes).toBeLessThan(2_000);
  expect(contentBytes({ kind: 'batches', batches: [{ bytes: value, partitions: [0], highestTimestampMs: 0 }] })).toBe(1_000);
});

test('J-26: with slow storage a broker holds no more than its bound, refuses the rest, and recovers by itself', async () => {
  const BOUND = 20_000;
  const world = createTestWorld();
  const topic = await world.topic();
  const startedMs = world.clock.monotonicMs();
  let heldMost = 0;
  let held = 0;
  // Two seconds a PUT, then nothing but errors for ten seconds, then as usual.
  const store = interceptStore(world.store, async (call, make, signal) => {
    if (call.op !== 'put') return make();
    held += 1;
    heldMost = Math.max(heldMost, held);
    try {
      const sinceMs = world.clock.monotonicMs() - startedMs;
      if (sinceMs < 20_000) await world.clock.sleep(2_000, signal);
      else if (sinceMs < 30_000) throw new Error('503');
      return await make();
    } finally {
      held -= 1;
    }
  });
  const { publisher } = world.broker({ store, queueBytesMax: BOUND });
  const acked: [string, number | null][] = [];
  let refused = 0;
  const value = (n: number): string => `${n} `.padEnd(4_000, 'x');
  const writer = async (which: number): Promise<void> => {
    for (let n = 0; world.clock.monotonicMs() - startedMs < 60_000; n += 1) {
      const name = value(which * 1_000 + n);
      try {
        const [result] = await publisher.publish(topic, publishOf([name]), world.clock.deadline(30_000));
        if (result !== undefined && 'offset' in result) acked.push([name, result.offset]);
      } catch (error) {
        expect(error).toEqual(full);
        refused += 1;
      }
      await world.clock.sleep(200, world.signal);
    }
  };
  await world.run(Promise.all(Array.from({ length: 8 }, (_, which) => writer(which))));
  const stored = await readValues(world, topic.id);
  expect(acked.length).toBeGreaterThan(100);
  expect(refused).toBeGreaterThan(10);
  expect(heldMost).toBeLessThanOrEqual(BOUND / 4_000);
  expect(acked.map(([, offset]) => stored[offset ?? -1])).toEqual(acked.map(([name]) => name));
  expect(new Set(acked.map(([, offset]) => offset)).size).toBe(acked.length);
});

test('a stopping broker finishes what it has, and takes nothing new', async () => {
  const world = createTestWorld();
  const topic = await world.topic();
  const store = interceptStore(world.store, async (_, make, signal) => {
    await world.clock.sleep(500, signal);
    return make();
  });
  const { publisher } = world.broker({ store });
  const first = publisher.publish(topic, publishOf(['1']), world.signal);
  await world.clock.advance(1);
  const stop = publisher.stop(world.clock.deadline(10_000));
  await expect(publisher.publish(topic, publishOf(['2']), world.signal)).rejects.toEqual(full);
  expect(publisher.isFull()).toBe(true);
  await world.run(stop);
  expect(brief(await first)).toEqual(['s0000000:0']);
  expect(await readValues(world, topic.id)).toEqual(['1']);
});
