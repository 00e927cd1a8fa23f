import { describe, expect, test } from 'vitest';
import { sweptUploadsKey } from '../../src/format/item-key.ts';
import { encodeSweptUploads } from '../../src/format/upload-item.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import type { Upload } from '../../src/model/upload.ts';
import { settleSubmitting } from '../../src/reference/settle-submitting.ts';
import { readUpload } from '../../src/state/stored-uploads.ts';
import { firstSegment } from '../publish/requests.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { createTestWorld, type BrokerDeps } from '../simulation/test-broker.ts';
import { become, land, stage, submitting } from './some-uploads.ts';

const signal = new AbortController().signal;

/** An upload that is being submitted, and has landed or not, as whoever was stopped left it. */
async function createScene() {
  const world = createTestWorld();
  const topic = await world.topic();
  const deps = world.broker().deps;
  const make = async (name: string, landed: boolean): Promise<Upload> => {
    const upload = await submitting(deps, topic, await stage(world, topic, { nowMs: world.clock.nowMs(), name }));
    if (landed) expect(await world.run(land(deps, topic, upload))).toMatchObject({ outcome: 'done' });
    return upload;
  };
  const states = async (...uploads: Upload[]): Promise<unknown[]> =>
    Promise.all(
      uploads.map(async ({ upload }) => {
        const { state, offset } = (await readUpload(world, topic.id, upload, signal)) ?? {};
        return [state, offset];
      }),
    );
  return { world, topic, deps, make, states, segment: firstSegment(topic) };
}

const settle = (deps: BrokerDeps, topic: Topic, upTo: { readonly segment: SegmentId; readonly last: number }): Promise<void> =>
  settleSubmitting(deps, topic.id, upTo, signal);

describe('uploads that are being submitted', () => {
  test('are submitted where they have landed, and stay as they are otherwise', async () => {
    const { world, topic, deps, make, states, segment } = await createScene();
    const landed = await make('a', true);
    const other = await make('b', true);
    const open = await make('c', false);
    await world.run(settle(deps, topic, { segment, last: 1 }));
    expect(await states(landed, other, open)).toEqual([
      ['submitted', 0],
      ['submitted', 1],
      ['submitting', undefined],
    ]);
  });

  test('stay where they lie beyond, or in another segment', async () => {
    const { world, topic, deps, make, states, segment } = await createScene();
    const first = await make('a', true);
    const beyond = await make('b', true);
    await world.run(settle(deps, topic, { segment: 's0000009' as SegmentId, last: 9 }));
    await world.run(settle(deps, topic, { segment, last: 0 }));
    expect(await states(first, beyond)).toEqual([
      ['submitted', 0],
      ['submitting', undefined],
    ]);
  });

  test('are not looked at where a sweep has settled all of them', async () => {
    const { world, topic, deps, make, states, segment } = await createScene();
    const settled = await make('a', true);
    await world.table.put(sweptUploadsKey(topic.id), encodeSweptUploads(settled.upload), [], signal);
    const behind = await make('b', true);
    await world.run(settle(deps, topic, { segment, last: 9 }));
    expect(await states(settled, behind)).toEqual([
      ['submitting', undefined],
      ['submitted', 1],
    ]);
  });

  test('may be written by somebody else meanwhile', async () => {
    const { world, topic, deps, make, states, segment } = await createScene();
    const upload = await make('a', true);
    const overtaken = (from: Upload, change: Partial<Upload>): BrokerDeps => {
      let others = false;
      const table = interceptTable(deps.table, async (call, next) => {
        if (call.name === 'put upload' && !others) {
          others = true;
          await become(world, topic, from, change);
        }
        return next();
      });
      return { ...deps, table };
    };
    await world.run(settle(overtaken(upload, { state: 'submitted', offset: 0 }), topic, { segment, last: 0 }));
    expect(await states(upload)).toEqual([['submitted', 0]]);
    const back = await become(world, topic, upload, {});
    const again = settle(overtaken(back, { bytes: 7 }), topic, { segment, last: 0 });
    await expect(world.run(again)).rejects.toMatchObject({ kind: 'unavailable', code: 'upload-in-use' });
  });
});
