import { beforeEach, describe, expect, test } from 'vitest';
import { archiveKey, fileRecordKey, idempotencyKey, lineKey } from '../../src/format/item-key.ts';
import { archivedFileKey } from '../../src/format/object-key.ts';
import { sweepGarbage } from '../../src/garbage/sweep-garbage.ts';
import { GARBAGE_AGE_MS } from '../../src/model/archive-limits.ts';
import type { FileRecord } from '../../src/model/archive.ts';
import { KelpError } from '../../src/model/errors.ts';
import { LINE_KEPT_MS } from '../../src/model/garbage-limits.ts';
import { segmentId, type SegmentId } from '../../src/model/ids.ts';
import { IDEMPOTENCY_MS } from '../../src/model/limits.ts';
import type { Topic } from '../../src/model/topic.ts';
import { putFileRecord, raiseStart, readArchive } from '../../src/state/archives.ts';
import { keyed, produced } from '../publish/requests.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { replaceSegment } from '../simulation/replace-segment.ts';
import type { TestWorld } from '../simulation/test-broker.ts';
import { archive, fill, left, NOTHING, PAGE, putOrphan, scene, sweep, sweepAsSaid, sweepOf } from './garbage-world.ts';

let world: TestWorld;
let topic: Topic;
let segment: SegmentId;
beforeEach(async () => {
  ({ world, topic, segment } = await scene());
});

const leftOf = (...segments: SegmentId[]) => left(world, topic, segments.length === 0 ? [segment] : segments);

describe('archived files', () => {
  const keyOf = ({ first, last, date }: Pick<FileRecord, 'first' | 'last' | 'date'>, id = segment): string =>
    archivedFileKey(topic.name, { topic: topic.id, segment: id, date, first, last });
  const put = (key: string): Promise<void> => world.store.put(key, [Uint8Array.of(1)], world.signal);
  const isThere = async (key: string): Promise<boolean> => (await world.store.head(key, world.signal)) !== undefined;

  test('stay while a record is planned or written, and go where there is none, it differs or is dropped', async () => {
    await fill(world, topic, PAGE);
    const written = await archive(world, topic, { segment, last: 3 });
    const dropped = await archive(world, topic, { segment, last: 5, state: 'dropped' });
    const planned: FileRecord = { ...dropped, first: 6, last: 9, state: 'planned' };
    await world.run(putFileRecord(world.broker().deps, { topic: topic.id, segment }, planned, world.signal));
    // Retention has dropped it, and was stopped before the start followed.
    const stopped: FileRecord = { ...dropped, first: 10, last: 12 };
    await world.run(putFileRecord(world.broker().deps, { topic: topic.id, segment }, stopped, world.signal));
    const date = '2001-01-01' as FileRecord['date'];
    const kept = [keyOf(planned)];
    const gone = [
      keyOf(written),
      keyOf(dropped),
      keyOf(stopped),
      keyOf({ ...planned, last: 8 }),
      keyOf({ ...planned, date }),
      keyOf({ ...planned, first: 7 }),
      keyOf(planned, segmentId(7)),
    ];
    for (const key of [...kept, ...gone, `${keyOf(planned)}.txt`]) await put(key);
    // The dropped one has taken the start along, past the written one.
    expect((await readArchive(world, { topic: topic.id, segment }, world.signal)).start).toBe(6);
    expect(await sweepAsSaid(world, { ageMs: GARBAGE_AGE_MS })).toEqual({ ...NOTHING, files: gone.length, bytes: gone.length });
    expect(await Promise.all([...kept, ...gone].map(isThere))).toEqual([...kept.map(() => true), ...gone.map(() => false)]);
    expect(await sweep(world, { ageMs: GARBAGE_AGE_MS })).toEqual(NOTHING);
  });

  test('go where a record has no rows: whoever wrote one had looked at fewer of its batches', async () => {
    await fill(world, topic, PAGE);
    const record = await archive(world, topic, { segment, last: 3 });
    const key = fileRecordKey(topic.id, segment, record.first);
    const item = await world.table.get(key, world.signal);
    await world.table.put(key, { ...item!, rows: 0 }, [], world.signal);
    await put(keyOf(record));
    expect(await sweepAsSaid(world, { ageMs: GARBAGE_AGE_MS })).toEqual({ ...NOTHING, files: 1, bytes: 1 });
  });

  test('stay while any of their messages can be read, however many there are', async () => {
    await fill(world, topic, 2 * PAGE);
    const records = [];
    for (let last = 0; last < 2 * PAGE; last += 2) records.push(await archive(world, topic, { segment, last }));
    for (const record of records) await put(keyOf(record));
    const small = {
      table: {
        ...world.table,
        query: (query: Parameters<typeof world.table.query>[0]) => world.table.query({ ...query, limit: 3 }, world.signal),
      },
      store: {
        ...world.store,
        list: (prefix: string, page: { readonly after?: string }) => world.store.list(prefix, { ...page, limit: 5 }, world.signal),
      },
    };
    expect(await sweep(world, { ageMs: GARBAGE_AGE_MS, stores: small })).toEqual(NOTHING);
    await world.run(raiseStart(world.broker().deps, { topic: topic.id, segment }, { start: 10, goneBytes: 0 }, world.signal));
    expect(await sweep(world, { ageMs: GARBAGE_AGE_MS, stores: small })).toMatchObject({
      files: records.filter(({ last }) => last < 10).length,
    });
    expect((await leftOf()).files).toBe(records.filter(({ last }) => last >= 10).length);
  });
});

describe('items', () => {
  test('of requests go an hour after they have expired, unless they were made anew', async () => {
    const digest = 'f'.repeat(64);
    for (const key of ['a', 'b', 'c']) await world.run(world.broker().publisher.publish(topic, keyed([key], key), world.signal));
    expect((await leftOf()).requests).toBe(3);
    expect(await sweepAsSaid(world, { aheadMs: IDEMPOTENCY_MS + GARBAGE_AGE_MS - 1, ageMs: GARBAGE_AGE_MS })).toMatchObject({
      requests: 0,
    });
    const due = { aheadMs: IDEMPOTENCY_MS + GARBAGE_AGE_MS, ageMs: GARBAGE_AGE_MS };
    const renewed = idempotencyKey(topic.id, world.broker().deps.sha256('b'));
    const table = interceptTable(world.table, async (call, make) => {
      if (call.op === 'delete' && call.key.sk === renewed.sk) {
        const item = await world.table.get(renewed, world.signal);
        await world.table.put(renewed, { ...item!, version: Number(item!['version']) + 1 }, [], world.signal);
      }
      return make();
    });
    expect(await sweep(world, { ...due, stores: { table } })).toMatchObject({ requests: 2, failed: 0 });
    expect(await sweepAsSaid(world, due)).toMatchObject({ requests: 1 });
    expect((await leftOf()).requests).toBe(0);
    expect(idempotencyKey(topic.id, digest)).toEqual({ pk: `i#${topic.id}#f`, sk: digest });
  });

  test('of producers go a day after their segment was sealed, and stay while it is open', async () => {
    const broker = world.broker();
    // The head has room for eight of them.
    for (let n = 0; n < 10; n += 1) {
      await world.run(broker.publisher.publish(topic, produced(['x'], { segment, producer: `p${n}`, sequence: 0 }), world.signal));
    }
    expect((await leftOf()).lines).toBe(2);
    await sweep(world, { aheadMs: 10 * LINE_KEPT_MS });
    expect((await leftOf()).lines).toBe(2);
    topic = await replaceSegment(world, topic, { segment, children: 1 });
    expect(await sweepAsSaid(world, { aheadMs: LINE_KEPT_MS - 1 })).toMatchObject({ lines: 0 });
    expect(await sweepAsSaid(world, { aheadMs: LINE_KEPT_MS })).toMatchObject({ lines: 2 });
    // Somebody who was paused while he made room.
    await world.table.put(lineKey(topic.id, segment, 'p0'), { v: 1, e: 0, n: 1, b: [] }, [], world.signal);
    expect(await sweepAsSaid(world, { aheadMs: LINE_KEPT_MS })).toMatchObject({ lines: 1 });
    expect((await leftOf()).lines).toBe(0);
  });
});

describe('a sweep', () => {
  test('does the other kinds where one fails, and says so', async () => {
    await world.run(world.broker().publisher.publish(topic, keyed(['x'], 'key'), world.signal));
    await putOrphan(world, topic);
    const store = interceptStore(world.store, (call, make) =>
      call.op === 'list' && call.key.startsWith('topics/')
        ? Promise.reject(new KelpError('unavailable', 'store-unavailable', 'planted'))
        : make(),
    );
    const broken = { stores: { store }, aheadMs: 2 * IDEMPOTENCY_MS };
    expect(await sweep(world, broken)).toMatchObject({ requests: 1, neverCommitted: 1, failed: 1, complete: true });
  });

  test('leaves a topic alone whose archive item can’t be read', async () => {
    await putOrphan(world, topic);
    await world.table.put(archiveKey(topic.id, segment), { v: 99 }, [], world.signal);
    expect(await sweep(world)).toEqual({ ...NOTHING, failed: 1 });
  });

  test('ends with its time, and the next one finds what is left', async () => {
    for (let n = 0; n < 20; n += 1) await putOrphan(world, topic, n * 60_000);
    const slow = interceptStore(world.store, async (call, make, signal) => {
      if (call.op === 'delete') await world.clock.sleep(1_000, signal);
      return make();
    });
    const { deps, notes } = world.broker({ store: slow });
    const ended = await world.run(sweepGarbage({ ...deps, garbageAgeMs: 0 }, { dryRun: false }, world.clock.deadline(1_500)));
    expect(ended).toMatchObject({ complete: false, failed: 0 });
    const some = (await leftOf()).objects;
    expect([some > 0, some < 20]).toEqual([true, true]);
    expect(notes.counts.get('kelp.garbage.bytes')).toBe(ended.bytes);
    expect(await sweep(world)).toMatchObject({ neverCommitted: some, complete: true });
  });

  test('leaves deleted topics to whoever cleans them up', async () => {
    await putOrphan(world, topic);
    await world.run(
      world.broker({ store: { ...world.store, list: () => Promise.reject(new Error('planted')) } }).topics.delete('t', world.signal),
    );
    expect(await sweep(world)).toEqual(NOTHING);
  });

  test('beside another one counts nothing twice', async () => {
    for (let n = 0; n < 9; n += 1) await world.run(world.broker().publisher.publish(topic, keyed([`${n}`], `${n}`), world.signal));
    const late = { aheadMs: 2 * IDEMPOTENCY_MS };
    const swept = await world.run(Promise.all([sweepOf(world, late), sweepOf(world, late)]));
    expect(swept.reduce((sum, { requests }) => sum + requests, 0)).toBe(9);
  });
});
