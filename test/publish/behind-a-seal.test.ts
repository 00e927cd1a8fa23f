import { expect, test } from 'vitest';
import { interceptTable } from '../simulation/intercept.ts';
import { readValues } from '../simulation/read-log.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import { createTestWorld } from '../simulation/test-broker.ts';
import { settle } from '../simulation/virtual-clock.ts';
import { faultyTable } from '../simulation/world-faults.ts';
import { firstSegment, publishOf } from './requests.ts';

// Publishers at a sealed segment whose successors are not open yet.

/** Its first segment is sealed, the children are pending; whoever makes them opens them after so long a time, or never. */
async function sealed(opensMs: number) {
  const world = createTestWorld();
  const topic = await world.topic();
  const slow = interceptTable(world.table, async (call, make, signal) => {
    if (call.op === 'update' && call.name === 'update head' && !call.key.pk.endsWith(firstSegment(topic))) {
      await world.clock.sleep(opensMs, signal);
    }
    return make();
  });
  const replaced = replaceSegment({ ...world, table: slow, run: (work) => work }, topic, { segment: firstSegment(topic), children: 1 });
  await settle();
  const table = faultyTable(world.table, {});
  const publish = () => world.run(world.broker({ table }).publisher.publish(topic, publishOf(['1']), world.signal));
  return { world, topic, table, replaced, publish };
}

test('F28: look at the child again before they open it, and leave that to whoever is at it', async () => {
  const { world, topic, table, replaced, publish } = await sealed(120);
  await publish();
  await world.run(replaced);
  expect(await readValues(world, topic.id)).toEqual(['1']);
  // The commit, refused by parent and child, and done in the child: nothing of the change.
  expect(table.calls.get('update head')).toBe(3);
  expect(table.calls.get('put topic')).toBe(undefined);
});

test('F28: write what is left of the change, where nobody comes back to it', async () => {
  const { world, topic, table, publish } = await sealed(3_600_000);
  const beganMs = world.clock.monotonicMs();
  await publish();
  expect(world.clock.monotonicMs() - beganMs).toBeLessThan(500);
  expect(await readValues(world, topic.id)).toEqual(['1']);
  const written = [...table.calls].filter(([name]) => name.startsWith('put') || name.startsWith('update'));
  // Opened and published, beside the commits.
  expect(Object.fromEntries(written)).toEqual({ 'update head': 4, 'put topic': 1 });
});
