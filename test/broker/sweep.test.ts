import { expect, test } from 'vitest';
import { sweep } from '../../src/broker/sweep.ts';
import { deletionsPartition, requestsPartitions, uploadsPartition } from '../../src/format/item-key.ts';
import type { TopicId } from '../../src/model/ids.ts';
import { TENANT_DEFAULT } from '../../src/model/topic.ts';
import { fill, left } from '../garbage/garbage-world.ts';
import { stage } from '../reference/some-uploads.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { createTestWorld } from '../simulation/test-broker.ts';

const nothing = (): string => '';
const uploadsOf = (topic: TopicId): string => uploadsPartition(topic);
const deletions = (): string => deletionsPartition(TENANT_DEFAULT);
const requests = (topic: TopicId): string | undefined => requestsPartitions(topic)[0];

test.each([
  ['neither', nothing, { complete: true, uploads: { examined: 1 } }],
  ['uploads', uploadsOf, { complete: false, uploads: { examined: 0 } }],
  ['deletions', deletions, { complete: false, uploads: { examined: 1 } }],
  ['garbage', requests, { complete: false, uploads: { examined: 1 } }],
] as const)('all kinds of a sweep have its time, and it is complete if all are: %s does not end', async (_which, stuck, report) => {
  const world = createTestWorld();
  const topic = await world.topic();
  await stage(world, topic, { nowMs: world.clock.nowMs(), name: 'a' });
  const table = interceptTable(world.table, (call, make, signal) =>
    call.op === 'query' && call.query.pk === stuck(topic.id)
      ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      : make(),
  );
  const swept = await world.run(sweep(world.broker({ table }).deps, { dryRun: false }, world.clock.deadline(1_000)));
  expect(swept).toMatchObject({ ...report, deletions: { failed: 0 } });
});

test('what is kept no longer goes with the same sweep, index, objects and all', async () => {
  const world = createTestWorld();
  const settings = { partitionKey: 'key', segments: 1, replicas: 2, retention: { maxAgeSeconds: 60 } } as const;
  const { topic } = await world.run(world.broker().topics.create('t', settings, world.signal));
  await fill(world, topic, 20);
  const { deps } = world.broker({ clock: world.clock.skewed({ ms: 120_000 }) });
  const swept = await world.run(sweep({ ...deps, garbageAgeMs: 0 }, { dryRun: false }, world.signal));
  expect(swept).toMatchObject({
    complete: true,
    retention: { messages: 20, failed: 0 },
    garbage: { archived: 20, neverCommitted: 0, failed: 0 },
  });
  expect(
    await left(
      world,
      topic,
      topic.open.map(({ segment }) => segment),
    ),
  ).toMatchObject({ objects: 0, pages: 0 });
});
