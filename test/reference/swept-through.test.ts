import { expect, test } from 'vitest';
import { sweptUploadsKey, uploadsPartition } from '../../src/format/item-key.ts';
import { encodeSweptUploads } from '../../src/format/upload-item.ts';
import { uploadId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import { SWEPT_BEHIND_MS, UPLOAD_MS } from '../../src/model/upload-limits.ts';
import type { Query } from '../../src/ports/metadata-table.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { createTestWorld, type TestWorld } from '../simulation/test-broker.ts';
import { become, stage, sweepOf } from './some-uploads.ts';

// How far sweeps have passed a topic's uploads for good.

/** A topic with so many uploads that were submitted long ago. */
async function settled(count: number): Promise<{ readonly world: TestWorld; readonly topic: Topic }> {
  const world = createTestWorld();
  const topic = await world.topic();
  for (let n = 0; n < count; n += 1) {
    await become(world, topic, await stage(world, topic, { nowMs: world.clock.nowMs(), name: `${n}` }), { state: 'submitted', offset: n });
  }
  await world.clock.advance(UPLOAD_MS + SWEPT_BEHIND_MS);
  return { world, topic };
}

test('a sweep that ends in the middle of a topic has passed for good what it passed', async () => {
  const { world, topic } = await settled(6);
  const pk = uploadsPartition(topic.id);
  const byTwos = interceptTable(world.table, async (call, make, signal) => {
    if (call.op === 'query' && call.query.pk === pk) await world.clock.sleep(1_000, signal);
    return make();
  });
  const table = { ...byTwos, query: (query: Query, signal: AbortSignal) => byTwos.query({ ...query, limit: 2 }, signal) };
  const slow = world.broker({ table });
  const sweep = (dryRun: boolean) => world.run(sweepOf(slow.deps, { dryRun, signal: world.clock.deadline(2_500) }));
  expect(await sweep(true)).toMatchObject({ examined: 4 });
  for (const examined of [4, 2, 0]) expect(await sweep(false)).toMatchObject({ examined });
});

test('a sweep takes back nothing of how far another one got', async () => {
  const { world, topic } = await settled(1);
  const key = sweptUploadsKey(topic.id);
  const further = encodeSweptUploads(uploadId(world.clock.nowMs(), '0'.repeat(9)));
  const table = interceptTable(world.table, async (call, make) => {
    if (call.op === 'put' && call.key.sk === key.sk) await world.table.put(key, further, [], world.signal);
    return make();
  });
  expect(await world.run(sweepOf(world.broker({ table }).deps))).toMatchObject({ examined: 1, failed: 0 });
  expect(await world.table.get(key, world.signal)).toMatchObject(further);
});
