import { expect, test } from 'vitest';
import { HEAD_ENTRIES_SPILL, THROTTLED_LOOK_FROM } from '../../src/model/limits.ts';
import type { Topic } from '../../src/model/topic.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { readValues } from '../simulation/read-log.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createTestWorld, type TestWorld } from '../simulation/test-broker.ts';
import { throttled } from '../simulation/world-faults.ts';
import { brief, firstSegment, publishOf } from './requests.ts';

// Of a commit that the table throttles, as one of many: what has become of the head by the time that it has its turn.

/** A broker whose commits are throttled THROTTLED_LOOK_FROM times, then `meanwhile` happens; and whether its writes of heads were done. */
function throttledBroker(world: TestWorld, meanwhile: () => Promise<unknown>) {
  const done: boolean[] = [];
  let refusals = 0;
  const table = interceptTable(world.table, async (call, make) => {
    if (call.name !== 'update head') return make();
    if (refusals < THROTTLED_LOOK_FROM) {
      refusals += 1;
      if (refusals === THROTTLED_LOOK_FROM) await meanwhile();
      throw throttled();
    }
    const result = await make();
    done.push((result as { readonly applied: boolean }).applied);
    return result;
  });
  return { broker: world.broker({ table }), done };
}

async function publishMany(world: TestWorld, topic: Topic): Promise<void> {
  const other = world.broker();
  await world.clock.sleep(1, world.signal);
  for (let n = 0; n < HEAD_ENTRIES_SPILL; n += 1) await other.publisher.publish(topic, publishOf([`other ${n}`]), world.signal);
  await other.notes.idle();
}

test('F29: behind a spill it goes on under another id, and no write of it is refused for the old one', async () => {
  const world = createTestWorld();
  const topic = await world.topic();
  const { broker, done } = throttledBroker(world, () => publishMany(world, topic));
  const result = await world.run(broker.publisher.publish(topic, publishOf(['1']), world.signal));
  expect(brief(result)).toEqual([`s0000000:${HEAD_ENTRIES_SPILL}`]);
  expect(done).toEqual([true]);
  expect(await readValues(world, topic.id)).toHaveLength(HEAD_ENTRIES_SPILL + 1);
});

test('F29: behind a seal it goes to the successor, and writes to the sealed segment no more', async () => {
  const world = createTestWorld();
  const topic = await world.topic();
  const sealing = { ...world, run: <T>(work: Promise<T>): Promise<T> => work };
  const { broker, done } = throttledBroker(world, () => replaceSegment(sealing, topic, { segment: firstSegment(topic), children: 1 }));
  expect(brief(await world.run(broker.publisher.publish(topic, publishOf(['1']), world.signal)))).toEqual(['s0000001:0']);
  expect(done).toEqual([true]);
  expect(await readValues(world, topic.id)).toEqual(['1']);
});
