import { expect, test } from 'vitest';
import { sweep } from '../../src/broker/sweep.ts';
import { deletionsPartition, uploadsPartition } from '../../src/format/item-key.ts';
import type { TopicId } from '../../src/model/ids.ts';
import { TENANT_DEFAULT } from '../../src/model/topic.ts';
import { stage } from '../reference/some-uploads.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { createTestWorld } from '../simulation/test-broker.ts';

const nothing = (): string => '';
const uploadsOf = (topic: TopicId): string => uploadsPartition(topic);
const deletions = (): string => deletionsPartition(TENANT_DEFAULT);

test.each([
  ['neither', nothing, { complete: true, uploads: { examined: 1 } }],
  ['uploads', uploadsOf, { complete: false, uploads: { examined: 0 } }],
  ['deletions', deletions, { complete: false, uploads: { examined: 1 } }],
] as const)('both kinds of a sweep have its time, and it is complete if both are: %s does not end', async (_which, stuck, report) => {
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
