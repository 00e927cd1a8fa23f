import { describe, expect, test } from 'vitest';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import type { Run } from '../../src/model/head.ts';
import type { Topic } from '../../src/model/topic.ts';
import { CHECKS_MS_MAX, CHECKS_QUEUED_MAX } from '../../src/model/upload-limits.ts';
import type { Upload } from '../../src/model/upload.ts';
import { createChecker } from '../../src/reference/create-checker.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { interceptStore } from '../simulation/intercept.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';
import { become, left, stage, submitting } from './some-uploads.ts';

type Scene = { readonly world: TestWorld; readonly topic: Topic; readonly broker: TestBroker };

const BATCH = rawBatch({ records: [{ key: 'k' }] });
const LIE = rawBatch({ records: [{ key: 'k' }], crcOff: 1 });

async function scene(store?: Parameters<typeof interceptStore>[1]): Promise<Scene> {
  const world = createTestWorld();
  const topic = await world.topic();
  return { world, topic, broker: world.broker(store === undefined ? {} : { store: interceptStore(world.store, store) }) };
}

async function submitted({ world, topic, broker }: Scene, name: string, body = BATCH): Promise<Upload> {
  const runs: Run[] = [{ start: 0, bytes: body.length, count: 1 }];
  const upload = await submitting(broker.deps, topic, await stage(world, topic, { nowMs: world.clock.nowMs(), name, body }), runs);
  return become(world, topic, upload, { state: 'submitted', offset: 0 });
}

const idle = ({ world, broker }: Scene): Promise<void> => world.run(broker.notes.idle());
const checkedOf = async ({ world, topic }: Scene): Promise<boolean[]> => (await left(world, topic)).items.map(({ checked }) => checked);

describe('batches that were just submitted', () => {
  test('are looked at in the background, one upload at a time', async () => {
    let [reading, most] = [0, 0];
    const at = await scene(async (call, make, signal) => {
      if (call.op !== 'get') return make();
      reading += 1;
      most = Math.max(most, reading);
      await at.world.clock.sleep(10, signal);
      reading -= 1;
      return make();
    });
    const checker = createChecker(at.broker.deps);
    for (const [index, body] of [BATCH, LIE, BATCH].entries()) checker.offer(at.topic.id, (await submitted(at, `${index}`, body)).upload);
    await idle(at);
    expect((await left(at.world, at.topic)).items.map(({ checked, quarantined }) => [checked, quarantined.length])).toEqual([
      [true, 0],
      [true, 1],
      [true, 0],
    ]);
    expect(most).toBe(1);
    checker.offer(at.topic.id, (await submitted(at, '3')).upload);
    await idle(at);
    expect(await checkedOf(at)).toEqual([true, true, true, true]);
  });

  test('are left alone where there is nothing to look at, or not yet', async () => {
    const at = await scene(() => {
      throw new Error('nothing is to be read');
    });
    const checker = createChecker(at.broker.deps);
    const nowMs = at.world.clock.nowMs();
    const staged = await stage(at.world, at.topic, { nowMs, name: 'a' });
    const half = await submitting(at.broker.deps, at.topic, await stage(at.world, at.topic, { nowMs, name: 'b' }), [
      { start: 0, bytes: 1, count: 1 },
    ]);
    const value = await become(at.world, at.topic, await stage(at.world, at.topic, { nowMs, name: 'c' }), {
      state: 'submitted',
      offset: 0,
    });
    const before = await left(at.world, at.topic);
    for (const { upload } of [staged, half, value]) checker.offer(at.topic.id, upload);
    checker.offer(at.topic.id, 'u00000000000none' as Upload['upload']);
    await idle(at);
    expect([await left(at.world, at.topic), at.broker.notes.logs]).toEqual([before, []]);
  });

  test('are left to the sweep where that fails, or where there are too many', async () => {
    const at = await scene();
    const first = await submitted(at, '0');
    await at.world.store.delete(uploadObjectKey(at.topic.id, first.upload), at.world.signal);
    const next = await submitted(at, '1');
    const beyond = await submitted(at, '2');
    const checker = createChecker(at.broker.deps);
    // The first one is at work at once, so that there is room for as many behind it.
    checker.offer(at.topic.id, first.upload);
    for (let n = 0; n < CHECKS_QUEUED_MAX; n += 1) checker.offer(at.topic.id, next.upload);
    checker.offer(at.topic.id, beyond.upload);
    await idle(at);
    expect(await checkedOf(at)).toEqual([false, true, false]);
    expect(at.broker.notes.logs).toEqual([{ level: 'warn', message: 'an upload is left for the next sweep' }]);
  });

  test('have a bound in time: one that takes longer is left to the sweep, and the next ones have their turn', async () => {
    const at = await scene(async (call, make, signal) => {
      if (call.key.endsWith('0')) await at.world.clock.sleep(2 * CHECKS_MS_MAX, signal);
      return make();
    });
    const checker = createChecker(at.broker.deps);
    for (const name of ['0', '1']) checker.offer(at.topic.id, (await submitted(at, name)).upload);
    const beganMs = at.world.clock.monotonicMs();
    await idle(at);
    expect(await checkedOf(at)).toEqual([false, true]);
    expect(at.world.clock.monotonicMs() - beganMs).toBeLessThan(CHECKS_MS_MAX + 1_000);
    expect(at.broker.notes.logs).toEqual([]);
  });

  test('are the sweep’s once the broker stops', async () => {
    const at = await scene(async (call, make, signal) => {
      if (call.op === 'get') await at.world.clock.sleep(1_000, signal);
      return make();
    });
    const checker = createChecker(at.broker.deps);
    for (const name of ['0', '1']) checker.offer(at.topic.id, (await submitted(at, name)).upload);
    await at.world.clock.advance(500);
    const beganMs = at.world.clock.monotonicMs();
    checker.stop();
    await idle(at);
    checker.offer(at.topic.id, (await submitted(at, '2')).upload);
    await idle(at);
    expect([await checkedOf(at), at.world.clock.monotonicMs() - beganMs, at.broker.notes.logs]).toEqual([[false, false, false], 0, []]);
  });
});
