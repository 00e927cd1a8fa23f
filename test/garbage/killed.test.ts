import { expect, test } from 'vitest';
import { archivedFileKey, uploadObjectKey } from '../../src/format/object-key.ts';
import { IDEMPOTENCY_MS } from '../../src/model/limits.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import { keyed, produced, publishOf } from '../publish/requests.ts';
import { stage, submitBatches, submitOf } from '../publish/uploads.ts';
import { killAtEveryStep } from '../simulation/kill-at-every-step.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import type { TestWorld } from '../simulation/test-broker.ts';
import { archive, fill, left, LATE_MS, NOTHING, putOrphan, spillAll, sweep, sweepOf, unreferenced } from './garbage-world.ts';

const TEST_MS = 60_000;

type There = { readonly topic: Topic; readonly segments: readonly SegmentId[] };

/** Something of each kind: what is to go, and what stays. */
async function prepare(world: TestWorld): Promise<There> {
  const old = await world.topic(2);
  const [open, sealed] = old.open.map(({ segment }) => segment) as [SegmentId, SegmentId];
  const broker = world.broker();
  const publish = (request: Parameters<typeof broker.publisher.publish>[1]): Promise<unknown> =>
    world.run(broker.publisher.publish(old, request, world.signal));
  const [batches, payload] = [await stage(world, old), await stage(world, old)];
  await publish(await submitBatches(world, old, { upload: batches, segment: open, batches: [['a', 'b']] }));
  await world.store.put(uploadObjectKey(old.id, payload), [Uint8Array.of(1)], world.signal);
  await publish(submitOf([['k0', payload]]));
  for (let n = 0; n < 9; n += 1)
    await publish({ ...produced([], { segment: sealed, producer: `p${n}`, sequence: 0 }), ...publishOf([['k1', 'x']]) });
  await publish(keyed([['k1', 'y']], 'key'));
  await fill(world, old, 8, 'k1', broker);
  for (const segment of [sealed, open]) await spillAll(world, old, segment);
  const topic = await replaceSegment(world, old, { segment: sealed, children: 2 });
  const { last, first, date } = await archive(world, topic, { segment: sealed, last: 15 });
  await archive(world, topic, { segment: open, last: 2, state: 'dropped' });
  for (const until of [last, last + 1]) {
    await world.store.put(
      archivedFileKey(topic.name, { topic: topic.id, segment: sealed, date, first, last: until }),
      [Uint8Array.of(1)],
      world.signal,
    );
  }
  await putOrphan(world, topic);
  return { topic, segments: [sealed, open] };
}

test(
  'killed at any step, the next two sweeps leave nothing behind, and nothing is gone that is needed',
  async () => {
    const late = { aheadMs: Math.max(LATE_MS, 2 * IDEMPOTENCY_MS) };
    const steps = await killAtEveryStep({
      prepare,
      act: ({ deps: { table, store } }, _, world) => sweepOf(world, { ...late, stores: { table, store } }),
      check: async (world, { topic, segments }) => {
        for (let n = 0; n < 2; n += 1) expect(await sweep(world, late)).toMatchObject({ failed: 0, complete: true });
        expect(await sweep(world, late)).toEqual(NOTHING);
        expect(await left(world, topic, segments)).toEqual({
          objects: 2,
          payloads: 0,
          uploads: 0,
          files: 1,
          pages: 1,
          lines: 0,
          requests: 0,
        });
        expect(await unreferenced(world, topic)).toEqual([]);
      },
    });
    expect(steps).toBeGreaterThan(50);
  },
  TEST_MS,
);
