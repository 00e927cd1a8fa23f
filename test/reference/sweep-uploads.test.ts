import { describe, expect, test } from 'vitest';
import { encodeArchive } from '../../src/format/archive-item.ts';
import { archiveKey, headKey, pageKey, sweptUploadsKey, uploadsPartition } from '../../src/format/item-key.ts';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import { KelpError } from '../../src/model/errors.ts';
import { uploadId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import { SUBMITTING_MS_MAX, SWEEP_CHECK_BYTES_MAX, SWEPT_BEHIND_MS, UPLOAD_MS } from '../../src/model/upload-limits.ts';
import { nothingArchived } from '../../src/protocol/archive.ts';
import { sealUpdate } from '../../src/protocol/segment-life.ts';
import { readPageAt } from '../../src/state/pages.ts';
import { firstSegment, publishOf } from '../publish/requests.ts';
import { rawBatch } from '../format/raw-batch.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';
import { become, BODY, land, left, leftInShort, NOTHING, stage, submitting, sweepOf } from './some-uploads.ts';

type Scene = { readonly world: TestWorld; readonly topic: Topic; readonly broker: TestBroker };

async function scene(name = 't'): Promise<Scene> {
  const world = createTestWorld();
  return { world, topic: await world.topic(1, name), broker: world.broker() };
}
const nowMs = ({ world }: Scene): number => world.clock.nowMs();
const staged = (at: Scene, name: string, body?: Uint8Array | null) =>
  stage(at.world, at.topic, { nowMs: nowMs(at), name, ...(body === undefined ? {} : { body }) });
const sweep = ({ world, broker }: Scene, options: Parameters<typeof sweepOf>[1] = {}) => world.run(sweepOf(broker.deps, options));
const short = ({ world, topic }: Scene) => leftInShort(world, topic);
/** Claimed and, unless it is not to land, stored. */
async function submittedHalf(at: Scene, name: string, lands: boolean) {
  const upload = await submitting(at.broker.deps, at.topic, await staged(at, name));
  if (lands) expect((await at.world.run(land(at.broker.deps, at.topic, upload))).outcome).toBe('done');
  return upload;
}

describe('an upload that nobody submits', () => {
  test('stays until it expires; then its object goes, and it', async () => {
    const at = await scene();
    await staged(at, 'a');
    await at.world.clock.advance(UPLOAD_MS - 1);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 1 });
    expect(await short(at)).toBe('staged, 1 objects');
    await at.world.clock.advance(1);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 1, expired: 1, bytes: BODY.length });
    expect(await short(at)).toBe('0 objects');
    expect(at.broker.notes.counts.get('kelp.uploads.expired')).toBe(1);
    expect(await sweep(at)).toEqual(NOTHING);
  });

  test('goes though nothing was ever uploaded', async () => {
    const at = await scene();
    await staged(at, 'a', null);
    await at.world.clock.advance(UPLOAD_MS);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 1, expired: 1 });
    expect(await short(at)).toBe('0 objects');
  });

  test('goes on from where it was left: expired, with or without its object', async () => {
    const at = await scene();
    await become(at.world, at.topic, await staged(at, 'a'), { state: 'expired' });
    await become(at.world, at.topic, await staged(at, 'b', null), { state: 'expired' });
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 2, expired: 2, bytes: BODY.length });
    expect(await short(at)).toBe('0 objects');
  });
});

describe('an upload that was submitted', () => {
  test('stays for ever, and is looked at no more once it is long behind', async () => {
    const at = await scene();
    for (const name of ['a', 'b']) await become(at.world, at.topic, await staged(at, name), { state: 'submitted', offset: 0 });
    await at.world.clock.advance(UPLOAD_MS + SWEPT_BEHIND_MS - 1);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 2 });
    // One that a broker makes whose clock is behind.
    const late = await stage(at.world, at.topic, { nowMs: nowMs(at) - UPLOAD_MS - SWEPT_BEHIND_MS + 1, name: '9' });
    expect(late.upload < (await left(at.world, at.topic)).items[1]!.upload).toBe(true);
    await at.world.clock.advance(1);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 3, expired: 1, bytes: BODY.length });
    expect(await sweep(at)).toEqual(NOTHING);
    expect(await short(at)).toBe('submitted:0, submitted:0, 2 objects');
  });

  test('behind one that is not settled stays in sight', async () => {
    const at = await scene();
    const first = await become(at.world, at.topic, await staged(at, 'a'), { state: 'submitted', offset: 0 });
    await submittedHalf(at, 'b', false);
    await become(at.world, at.topic, await staged(at, 'c'), { state: 'submitted', offset: 0 });
    const stuck = interceptTable(at.world.table, (call, make) =>
      call.name === 'update head' ? Promise.reject(new KelpError('invalid', 'table-refused', 'planted')) : make(),
    );
    await at.world.clock.advance(UPLOAD_MS + SWEPT_BEHIND_MS);
    const swept = await at.world.run(sweepOf({ ...at.broker.deps, table: stuck }));
    expect(swept).toEqual({ ...NOTHING, examined: 3, failed: 1 });
    expect(await at.world.table.get(sweptUploadsKey(at.topic.id), at.world.signal)).toMatchObject({ through: first.upload });
    expect(await sweep(at)).toMatchObject({ examined: 2, expired: 1, failed: 0 });
  });
});

describe('an upload in which somebody was stopped while submitting', () => {
  test('is left alone for a while', async () => {
    const at = await scene();
    await submittedHalf(at, 'a', false);
    // Its attempt's minute had begun before.
    await at.world.clock.advance(SUBMITTING_MS_MAX - 60_001);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 1 });
    expect(await short(at)).toBe('submitting, 1 objects');
  });

  test('is submitted if its attempt has landed, whenever and however long ago that was', async () => {
    const at = await scene();
    for (const value of ['1', '2']) await at.world.run(at.broker.publisher.publish(at.topic, publishOf([value]), at.world.signal));
    await submittedHalf(at, 'a', true);
    // Its entry leaves the head for a page.
    for (let n = 0; n < 20; n += 1) await at.world.run(at.broker.publisher.publish(at.topic, publishOf([`${n}`]), at.world.signal));
    await at.world.run(at.broker.notes.idle());
    await submittedHalf(at, 'b', true);
    await at.world.clock.advance(2 * UPLOAD_MS);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 2, submitted: 2 });
    expect(await short(at)).toBe('submitted:2, submitted:23, 2 objects');
  });

  test("counts from its entry's first message", async () => {
    const at = await scene();
    const claimed = await submitting(at.broker.deps, at.topic, await staged(at, 'a'));
    const behind = await become(at.world, at.topic, claimed, { attempt: { ...claimed.attempt!, delta: 3 } });
    await at.world.run(land(at.broker.deps, at.topic, behind));
    await at.world.clock.advance(SUBMITTING_MS_MAX);
    expect(await sweep(at)).toMatchObject({ submitted: 1 });
    expect(await short(at)).toBe('submitted:3, 1 objects');
  });

  test('may be submitted again if it has not, and what was under way lands no more', async () => {
    const at = await scene();
    const upload = await submittedHalf(at, 'a', false);
    await at.world.clock.advance(SUBMITTING_MS_MAX);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 1, staged: 1 });
    const { items } = await left(at.world, at.topic);
    expect(items).toMatchObject([{ state: 'staged', version: 3 }]);
    expect(items[0]).not.toHaveProperty('attempt');
    expect(await at.world.run(land(at.world.broker().deps, at.topic, upload))).toMatchObject({ outcome: 'dead', because: 'floor' });
    const again = await submitting(at.broker.deps, at.topic, items[0]!);
    expect(await at.world.run(land(at.broker.deps, at.topic, again))).toMatchObject({ outcome: 'done' });
  });

  test('goes if it has not and its time is over', async () => {
    const at = await scene();
    const upload = await submittedHalf(at, 'a', false);
    await at.world.clock.advance(UPLOAD_MS);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 1, expired: 1, bytes: BODY.length });
    expect(await short(at)).toBe('0 objects');
    expect(await at.world.run(land(at.world.broker().deps, at.topic, upload))).toMatchObject({ outcome: 'dead', because: 'floor' });
  });

  test('U2: may be submitted again if what came behind it is archived by now, and its pages gone', async () => {
    const at = await scene();
    await submittedHalf(at, 'a', false);
    await at.world.clock.advance(1);
    for (let n = 0; n < 20; n += 1) await at.world.run(at.broker.publisher.publish(at.topic, publishOf([`${n}`]), at.world.signal));
    await at.world.run(at.broker.notes.idle());
    const segment = firstSegment(at.topic);
    const page = await readPageAt(at.world.table, { topic: at.topic.id, segment }, 0, at.world.signal);
    const archive = { ...nothingArchived(at.topic.id, segment), through: page!.next, guard: page!.entries.at(-1)!.cid };
    await at.world.table.put(archiveKey(at.topic.id, segment), encodeArchive(archive), [], at.world.signal);
    await at.world.table.delete(pageKey(at.topic.id, segment, 0), [], at.world.signal);
    await at.world.clock.advance(SUBMITTING_MS_MAX);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 1, staged: 1 });
  });

  test('is resolved on a sealed segment, which stays as it is', async () => {
    const at = await scene();
    await submittedHalf(at, 'a', true);
    await submittedHalf(at, 'b', false);
    const key = headKey(at.topic.id, firstSegment(at.topic));
    const sealed = await at.world.table.update(key, sealUpdate({ change: 'x', successors: [], deleted: false }, 0), at.world.signal);
    await at.world.clock.advance(SUBMITTING_MS_MAX);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 2, submitted: 1, staged: 1 });
    expect(await short(at)).toBe('submitted:0, staged, 2 objects');
    expect(await at.world.table.get(key, at.world.signal)).toEqual(sealed.item);
  });

  test('whose attempt is of a time to come is resolved once it should be over itself', async () => {
    const at = await scene();
    const ahead = { ...at.broker.deps, clock: at.world.clock.skewed({ ms: 3_600_000 * 48 }) };
    await submitting(ahead, at.topic, await staged(at, 'a'));
    await at.world.clock.advance(UPLOAD_MS + SUBMITTING_MS_MAX - 1);
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 1 });
    await at.world.clock.advance(1);
    expect(await sweep(at)).toMatchObject({ expired: 1 });
  });
});

describe('objects of no upload', () => {
  test('go, and nothing else; a paused PUT that brings one back is found again', async () => {
    const at = await scene();
    const other = await at.world.topic(1, 'other');
    await stage(at.world, other, { nowMs: nowMs(at), name: 'x' });
    await staged(at, 'a');
    for (const name of ['b', 'c']) {
      const key = uploadObjectKey(at.topic.id, uploadId(nowMs(at), name.padStart(9, '0')));
      await at.world.store.put(key, [BODY], at.world.signal);
    }
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 2, orphans: 2, bytes: 2 * BODY.length });
    expect(await short(at)).toBe('staged, 1 objects');
    expect(await leftInShort(at.world, other)).toBe('staged, 1 objects');

    await at.world.clock.advance(UPLOAD_MS);
    const { items } = await left(at.world, at.topic);
    await sweep(at);
    await at.world.store.put(uploadObjectKey(at.topic.id, items[0]!.upload), [BODY], at.world.signal);
    expect(await sweep(at)).toEqual({ ...NOTHING, orphans: 1, bytes: BODY.length });
    expect(await short(at)).toBe('0 objects');
  });

  test('are found wherever the list begins, page by page', async () => {
    const at = await scene();
    await at.world.clock.advance(10 * UPLOAD_MS);
    const store = {
      ...at.world.store,
      list: (prefix: string, page: { readonly after?: string }) => at.world.store.list(prefix, { ...page, limit: 2 }, at.world.signal),
    };
    for (let round = 0; round < 10; round += 1) {
      for (let n = 0; n < 9; n += 1) {
        const id = uploadId(at.topic.createdMs + n * UPLOAD_MS, `00000000${n}`);
        await at.world.store.put(uploadObjectKey(at.topic.id, id), [BODY], at.world.signal);
      }
      const found = { orphans: 9, bytes: 9 * BODY.length };
      expect(await at.world.run(sweepOf({ ...at.broker.deps, store }, { dryRun: true }))).toMatchObject(found);
      expect(await at.world.run(sweepOf({ ...at.broker.deps, store }))).toMatchObject(found);
      expect(await short(at)).toBe('0 objects');
    }
  });
});

describe('a sweep', () => {
  test('goes on behind a topic and an upload that fail, and says so', async () => {
    const at = await scene('a');
    const [stuck, fine] = [await at.world.topic(1, 'b'), await at.world.topic(1, 'c')];
    for (const topic of [at.topic, stuck, fine]) await stage(at.world, topic, { nowMs: nowMs(at), name: 'x' });
    await at.world.table.put({ pk: uploadsPartition(fine.id), sk: uploadId(nowMs(at), '000000000') }, { v: 99 }, [], at.world.signal);
    await at.world.clock.advance(UPLOAD_MS);
    const table = interceptTable(at.world.table, (call, make) =>
      call.op === 'query' && call.query.pk === uploadsPartition(stuck.id)
        ? Promise.reject(new KelpError('unavailable', 'table-unavailable', 'planted'))
        : make(),
    );
    const broker = at.world.broker({ table });
    expect(await at.world.run(sweepOf(broker.deps))).toEqual({ ...NOTHING, examined: 3, expired: 2, failed: 2, bytes: 2 * BODY.length });
    expect(broker.notes.logs.map(({ level }) => level)).toEqual(['warn', 'warn']);
    expect(await leftInShort(at.world, stuck)).toBe('staged, 1 objects');
  });

  test('ends with its time, and the next ones find what is left', async () => {
    const at = await scene();
    for (let n = 0; n < 12; n += 1) await staged(at, `${n}`);
    await at.world.clock.advance(UPLOAD_MS);
    const store = interceptStore(at.world.store, async (call, make, signal) => {
      if (call.op === 'delete') await at.world.clock.sleep(1_000, signal);
      return make();
    });
    const slow = at.world.broker({ store });
    const expiredBy: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const beganMs = at.world.clock.monotonicMs();
      const { expired, complete } = await at.world.run(sweepOf(slow.deps, { signal: at.world.clock.deadline(1_500) }));
      expiredBy.push(expired);
      if (complete) break;
      expect(at.world.clock.monotonicMs() - beganMs).toBe(1_500);
    }
    expect(expiredBy).toEqual([4, 4, 4]);
    expect(await short(at)).toBe('0 objects');
  });

  test('rejects when topics can not be listed', async () => {
    const at = await scene();
    const table = interceptTable(at.world.table, (call, make) =>
      call.name === 'query name' ? Promise.reject(new KelpError('unavailable', 'table-unavailable', 'planted')) : make(),
    );
    await expect(at.world.run(sweepOf(at.world.broker({ table }).deps))).rejects.toMatchObject({ code: 'table-unavailable' });
  });

  test('looks at as many batches as it may, and the next one at the others', async () => {
    const at = await scene();
    const body = rawBatch({ records: [{ key: 'k' }] });
    const runs = [{ start: 0, bytes: body.length, count: 1 }];
    for (const name of ['a', 'b', 'c']) {
      const upload = await submitting(at.broker.deps, at.topic, await staged(at, name, body), runs);
      await become(at.world, at.topic, upload, { state: 'submitted', offset: 0, bytes: SWEEP_CHECK_BYTES_MAX / 2 });
    }
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 3, checked: 2, complete: false });
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 3, checked: 1 });
    expect(await sweep(at)).toEqual({ ...NOTHING, examined: 3 });
    expect(at.broker.notes.counts.get('kelp.uploads.checked')).toBe(3);
  });
});
