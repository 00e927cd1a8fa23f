import { describe, expect, test } from 'vitest';
import { KelpError } from '../../src/model/errors.ts';
import type { Minute } from '../../src/model/ids.ts';
import { objectMinute } from '../../src/publish/write-object.ts';
import { interceptStore } from '../simulation/intercept.ts';
import { readValues } from '../simulation/read-log.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';
import { brief, publishOf } from './requests.ts';

type PutFault = 'ok' | 'lost' | 'dropped' | 'late' | 'slow-down' | 'refused';

/** A broker of which each upload has the next fault; `deliver` makes the late ones. */
function brokerWith(
  world: TestWorld,
  faults: readonly PutFault[],
): { readonly broker: TestBroker; readonly keys: string[]; deliver(): Promise<void> } {
  const keys: string[] = [];
  const late: (() => Promise<unknown>)[] = [];
  const unknown = (): KelpError => new KelpError('indefinite', 'store-indefinite', 'no answer');
  const store = interceptStore(world.store, async (call, make) => {
    if (call.op !== 'put') return make();
    const fault = faults[keys.length] ?? 'ok';
    keys.push(call.key);
    if (fault === 'lost') await make();
    if (fault === 'late') late.push(() => make('detached'));
    if (fault === 'lost' || fault === 'late' || fault === 'dropped') throw unknown();
    if (fault === 'slow-down') throw new KelpError('throttled', 'store-throttled', 'slow down');
    if (fault === 'refused') throw new KelpError('invalid', 'store-refused', 'no such bucket');
    return make();
  });
  const deliver = async (): Promise<void> => {
    for (const make of late.splice(0)) await make();
  };
  return { broker: world.broker({ store }), keys, deliver };
}

describe('an upload', () => {
  test.each<readonly [string, readonly PutFault[]]>([
    ['F4: that times out but lands', ['lost']],
    ['F17: that fails, and is slowed down', ['dropped', 'slow-down', 'dropped']],
    ['F7: that lands long after', ['late', 'late']],
  ])('%s is done again under a key of its own, and stored once', async (_, faults) => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { broker, keys, deliver } = brokerWith(world, faults);
    expect(brief(await world.run(broker.publisher.publish(topic, publishOf(['1', '2']), world.signal)))).toEqual([
      's0000000:0',
      's0000000:1',
    ]);
    expect(new Set(keys).size).toBe(faults.length + 1);
    await deliver();
    expect(await readValues(world, topic.id)).toEqual(['1', '2']);
  });

  test("that is still under way at the end of its caller's time is a time-out, and says nothing of the store", async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const store = interceptStore(world.store, (call, make, signal) => {
      if (call.op !== 'put') return make();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    });
    const caller = new AbortController();
    const published = world.broker({ store }).publisher.publish(topic, publishOf(['1']), caller.signal);
    const end = new KelpError('unavailable', 'timeout', 'the time is over');
    caller.abort(end);
    expect(await world.run(published).catch((error: unknown) => [error])).toEqual([end]);
  });

  test('F17: that fails for good is no ack, and 503; the next one works by itself', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { broker } = brokerWith(
      world,
      Array.from({ length: 8 }, () => 'dropped' as const),
    );
    const [error] = await world.run(broker.publisher.publish(topic, publishOf(['1']), world.signal));
    expect(error).toMatchObject({ kind: 'unavailable', code: 'unavailable', retryAfterMs: 1_000 });
    expect(await readValues(world, topic.id)).toEqual([]);
    expect(brief(await world.run(broker.publisher.publish(topic, publishOf(['2']), world.signal)))).toEqual(['s0000000:0']);
  });

  test('that the store refuses is not tried again', async () => {
    const world = createTestWorld();
    const topic = await world.topic();
    const { broker, keys } = brokerWith(world, ['refused']);
    expect(brief(await world.run(broker.publisher.publish(topic, publishOf(['1']), world.signal)))).toEqual(['store-refused']);
    expect(keys).toHaveLength(1);
  });
});

test('an object’s minute is that of the clock, or of the highest floor that was seen', () => {
  const minute = (text: string): Minute => text as Minute;
  expect(objectMinute(600_000, [])).toBe('00000010');
  expect(objectMinute(600_000, ['', minute('00000009')])).toBe('00000010');
  expect(objectMinute(600_000, ['', minute('00000011'), minute('00000010')])).toBe('00000011');
});
