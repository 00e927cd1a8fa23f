import { expect, test } from 'vitest';
import { readValues } from '../simulation/read-log.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { brief, oneSegment, publishOf } from './requests.ts';

test('what is published is stored, in order, at the offsets of the answer', async () => {
  const world = createTestWorld();
  const broker = world.broker();
  const { topic } = await world.clock.run(broker.topics.create('t', oneSegment, world.signal));
  const first = await world.clock.run(broker.publisher.publish(topic, publishOf(['1', '2']), world.signal));
  const second = await world.clock.run(broker.publisher.publish(topic, publishOf(['3']), world.signal));
  expect(brief([...first, ...second])).toEqual(['s0000000:0', 's0000000:1', 's0000000:2']);
  expect(await readValues(world, topic.id)).toEqual(['1', '2', '3']);
});
