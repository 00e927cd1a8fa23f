import { beforeEach, describe, expect, test } from 'vitest';
import { pageKey, uploadKey } from '../../src/format/item-key.ts';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import { GARBAGE_AGE_MS } from '../../src/model/archive-limits.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import { raiseStart } from '../../src/state/archives.ts';
import { firstSegment, publishOf } from '../publish/requests.ts';
import { stage, submitBatches, submitOf } from '../publish/uploads.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import type { TestWorld } from '../simulation/test-broker.ts';
import { archive, fill, left, NOTHING, PAGE, scene, SOON_MS, spillAll, sweep, sweepAsSaid } from './garbage-world.ts';

let world: TestWorld;
let topic: Topic;
let segment: SegmentId;
beforeEach(async () => {
  ({ world, topic, segment } = await scene());
});

const leftOf = (...segments: SegmentId[]) => left(world, topic, segments.length === 0 ? [segment] : segments);

describe('what is archived', () => {
  test('goes by whole pages, an hour after its record was written: pages first, then objects', async () => {
    await fill(world, topic, 3 * PAGE);
    await archive(world, topic, { segment, last: PAGE - 1 });
    // A file may end within a page.
    await archive(world, topic, { segment, last: 2 * PAGE + 1 });
    const early = { aheadMs: GARBAGE_AGE_MS - 1, ageMs: GARBAGE_AGE_MS };
    expect(await sweepAsSaid(world, early)).toEqual(NOTHING);
    const swept = await sweepAsSaid(world, { aheadMs: GARBAGE_AGE_MS + 60_000, ageMs: GARBAGE_AGE_MS });
    expect(swept).toMatchObject({ ...NOTHING, pages: 2, archived: 2 * PAGE, bytes: swept.bytes });
    expect(swept.bytes).toBeGreaterThan(0);
    expect(await leftOf()).toMatchObject({ objects: PAGE, pages: 1 });
    await archive(world, topic, { segment, last: 3 * PAGE - 1 });
    expect(await sweep(world)).toMatchObject({ pages: 1, archived: PAGE });
    expect(await leftOf()).toMatchObject({ objects: 0, pages: 0 });
    expect(await sweep(world)).toEqual(NOTHING);
  });

  test('goes as far as the records that are old enough, of many', async () => {
    await fill(world, topic, 3 * PAGE);
    for (const last of [PAGE - 1, PAGE, PAGE + 1]) await archive(world, topic, { segment, last });
    await world.clock.advance(60_000);
    for (let last = PAGE + 2; last < 2 * PAGE; last += 1) await archive(world, topic, { segment, last });
    const table = {
      ...world.table,
      query: (query: Parameters<typeof world.table.query>[0]) => world.table.query({ ...query, limit: 2 }, world.signal),
    };
    expect(await sweep(world, { aheadMs: 0, ageMs: 60_000, stores: { table } })).toMatchObject({ pages: 1 });
    expect(await sweep(world, { aheadMs: 60_000, ageMs: 60_000, stores: { table } })).toMatchObject({ pages: 1 });
  });

  test('and dropped, as well', async () => {
    await fill(world, topic, PAGE);
    await archive(world, topic, { segment, last: PAGE - 1, state: 'dropped' });
    expect(await sweepAsSaid(world)).toMatchObject({ pages: 1, archived: PAGE });
    expect(await leftOf()).toMatchObject({ objects: 0, pages: 0 });
  });

  test('leaves an object until each segment that shares it is done with it', async () => {
    topic = await world.topic(2, 'two');
    const [a, b] = topic.open.map((range) => range.segment) as [SegmentId, SegmentId];
    const both = publishOf([
      ['k1', 'x'],
      ['k0', 'y'],
    ]);
    const broker = world.broker();
    for (let n = 0; n < PAGE; n += 1) await world.run(broker.publisher.publish(topic, both, world.signal));
    await world.run(broker.notes.idle());
    await archive(world, topic, { segment: a, last: PAGE - 1 });
    expect(await sweepAsSaid(world)).toMatchObject({ pages: 1, archived: 0, neverCommitted: 0 });
    expect(await leftOf(a, b)).toMatchObject({ objects: PAGE, pages: 1 });
    await archive(world, topic, { segment: b, last: PAGE - 1 });
    expect(await sweepAsSaid(world)).toMatchObject({ pages: 1, archived: PAGE, neverCommitted: 0 });
    expect(await leftOf(a, b)).toMatchObject({ objects: 0, pages: 0 });
  });

  test('goes again where a spiller who was paused puts a page that was deleted', async () => {
    await fill(world, topic, PAGE);
    const page = await world.table.get(pageKey(topic.id, segment, 0), world.signal);
    await archive(world, topic, { segment, last: PAGE - 1 });
    await sweep(world);
    await world.table.put(pageKey(topic.id, segment, 0), page!, [], world.signal);
    expect(await sweepAsSaid(world)).toEqual({ ...NOTHING, pages: 1 });
    expect(await leftOf()).toMatchObject({ objects: 0, pages: 0 });
    // Another one, as the page is about to be deleted.
    await world.table.put(pageKey(topic.id, segment, 0), page!, [], world.signal);
    const table = interceptTable(world.table, async (call, make) => {
      if (call.name === 'delete page') await world.table.put(pageKey(topic.id, segment, 0), { ...page!, next: PAGE + 1 }, [], world.signal);
      return make();
    });
    expect(await sweep(world, { stores: { table } })).toEqual(NOTHING);
    expect(await leftOf()).toMatchObject({ pages: 1 });
  });

  test('of a segment that was sealed goes, too; where one segment fails, the others go on', async () => {
    await fill(world, topic, 2 * PAGE);
    topic = await replaceSegment(world, topic, { segment, children: 1 });
    const next = firstSegment(topic);
    await fill(world, topic, PAGE);
    for (const id of [segment, next]) await archive(world, topic, { segment: id, last: PAGE - 1 });
    const table = interceptTable(world.table, (call, make) =>
      call.name === 'delete page' && call.op === 'delete' && call.key.pk.endsWith(next)
        ? Promise.reject(new KelpError('invalid', 'table-refused', 'planted'))
        : make(),
    );
    expect(await sweep(world, { stores: { table } })).toMatchObject({ pages: 1, archived: PAGE, failed: 1 });
    expect(await leftOf(segment, next)).toMatchObject({ objects: 2 * PAGE, pages: 2 });
    expect(await sweep(world)).toMatchObject({ pages: 1, archived: PAGE, failed: 0 });
  });
});

describe('uploads', () => {
  test('of batches go with the page that names them, object, item and page', async () => {
    const broker = world.broker();
    const upload = await stage(world, topic);
    const request = await submitBatches(world, topic, { upload, segment, batches: [['a', 'b'], ['c']] });
    await world.run(broker.publisher.publish(topic, request, world.signal));
    await fill(world, topic, PAGE, 'a', broker);
    await spillAll(world, topic, segment);
    await sweep(world);
    expect(await leftOf()).toMatchObject({ payloads: 1, uploads: 1 });
    await archive(world, topic, { segment, last: 2 });
    // The page has more than that.
    expect(await sweepAsSaid(world)).toEqual(NOTHING);
    await archive(world, topic, { segment, last: PAGE + 2 });
    const at: string[] = [];
    const table = interceptTable(world.table, (call, make) => (call.op === 'delete' && at.push(`${call.name} ${call.key.sk}`), make()));
    const store = interceptStore(world.store, (call, make) => (call.op === 'delete' && at.push(call.key), make()));
    expect(await sweep(world, { dryRun: true })).toMatchObject({ uploads: 1, pages: 2, archived: PAGE });
    expect(await sweep(world, { stores: { table, store } })).toMatchObject({ uploads: 1, pages: 2, archived: PAGE });
    const inOrder = [uploadObjectKey(topic.id, upload), `delete upload ${upload}`, `delete page ${pageKey(topic.id, segment, 0).sk}`];
    expect(at.filter((what) => inOrder.includes(what))).toEqual(inOrder);
    expect(await leftOf()).toMatchObject({ payloads: 0, uploads: 0, objects: 0, pages: 0 });
  });

  test('of batches stay while the page does, also where the segment begins behind their first message', async () => {
    const upload = await stage(world, topic);
    const request = await submitBatches(world, topic, { upload, segment, batches: [['a', 'b'], ['c']] });
    await world.run(world.broker().publisher.publish(topic, request, world.signal));
    await spillAll(world, topic, segment);
    // Cut inside of it: what is left is in no file.
    await archive(world, topic, { segment, last: 1, state: 'dropped' });
    expect(await sweepAsSaid(world)).toEqual(NOTHING);
    expect(await leftOf()).toMatchObject({ payloads: 1, uploads: 1, pages: 1 });
  });

  test('that say they are not submitted keep the page that names them', async () => {
    const upload = await stage(world, topic);
    const request = await submitBatches(world, topic, { upload, segment, batches: [['a']] });
    await world.run(world.broker().publisher.publish(topic, request, world.signal));
    const item = await world.table.get(uploadKey(topic.id, upload), world.signal);
    await world.table.put(uploadKey(topic.id, upload), { ...item!, state: 'submitting' }, [], world.signal);
    await spillAll(world, topic, segment);
    await archive(world, topic, { segment, last: 0 });
    expect(await sweep(world)).toEqual({ ...NOTHING, failed: 1 });
    expect(await leftOf()).toMatchObject({ payloads: 1, uploads: 1, pages: 1 });
  });

  test('that a message has go once the message is gone, archived or not', async () => {
    const uploads = [await stage(world, topic), await stage(world, topic), await stage(world, topic)];
    for (const upload of uploads) {
      await world.store.put(uploadObjectKey(topic.id, upload), [Uint8Array.of(1, 2, 3)], world.signal);
      if (upload !== uploads[2]) await world.run(world.broker().publisher.publish(topic, submitOf([upload]), world.signal));
    }
    await spillAll(world, topic, segment);
    await archive(world, topic, { segment, last: 1 });
    await sweep(world, { aheadMs: SOON_MS });
    expect(await leftOf()).toMatchObject({ payloads: 3, uploads: 3, objects: 0 });
    await world.run(raiseStart(world.broker().deps, { topic: topic.id, segment }, { start: 1, goneBytes: 0 }, world.signal));
    expect(await sweepAsSaid(world)).toEqual({ ...NOTHING, uploads: 1, bytes: 3 });
    expect(await world.table.get(uploadKey(topic.id, uploads[0]!), world.signal)).toBeUndefined();
    expect(await leftOf()).toMatchObject({ payloads: 2, uploads: 2 });
  });
});
