import { describe, expect, test } from 'vitest';
import { archivedFileKey, batchObjectKey, batchObjectPrefix, uploadObjectKey } from '../../src/format/object-key.ts';
import { archiveKey, fileRecordKey, idempotencyKey, lineKey, pageKey, pagesPartition, uploadKey } from '../../src/format/item-key.ts';
import type { UtcDate } from '../../src/model/archived-file.ts';
import { DELETED_ITEMS_MS } from '../../src/model/garbage-limits.ts';
import type { Key } from '../../src/ports/metadata-table.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { Complete, SweptDeletions } from '../../src/model/sweep-report.ts';
import { minuteOf, type ObjectId, segmentId, type TopicId } from '../../src/model/ids.ts';
import { TENANT_DEFAULT, type Topic } from '../../src/model/topic.ts';
import { sweepDeletions } from '../../src/topics/sweep-deletions.ts';
import { leftInShort, stage } from '../reference/some-uploads.ts';
import { encodeUpload } from '../../src/format/upload-item.ts';
import { oneSegment, publishOf } from '../publish/requests.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { killAtEveryStep } from '../simulation/kill-at-every-step.ts';
import { readValues } from '../simulation/read-log.ts';
import { createTestWorld, type TestBroker, type TestWorld } from '../simulation/test-broker.ts';

/** More than a head takes, so that there are index pages. */
const MESSAGES = 20;

type Swept = SweptDeletions & Complete;

const sweep = (world: TestWorld, broker: TestBroker = world.broker(), signal = world.signal): Promise<Swept> =>
  world.run(sweepDeletions(broker.deps, { dryRun: false }, signal));

const nothing: Swept = { carriedOn: 0, cleaned: 0, strays: 0, failed: 0, complete: true };

async function filled(world: TestWorld, name = 't'): Promise<Topic> {
  const topic = await world.topic(1, name);
  const broker = world.broker();
  for (let n = 0; n < MESSAGES; n += 1) await world.run(broker.publisher.publish(topic, publishOf([`${n}`]), world.signal));
  await world.run(broker.notes.idle());
  return topic;
}

const objects = async (world: TestWorld, topic: TopicId): Promise<number> =>
  (await world.store.list(batchObjectPrefix(topic), { limit: 100 }, world.signal)).objects.length;

/** What is left of it: objects, index pages, and the state of its deletion. */
async function left(world: TestWorld, { id, firstSegment }: Topic): Promise<unknown[]> {
  const pages = await world.table.query({ pk: pagesPartition(id, segmentId(firstSegment)), limit: 10 }, world.signal);
  const deletions = await world.table.query({ pk: `d#${TENANT_DEFAULT}`, limit: 10 }, world.signal);
  return [await objects(world, id), pages.items.length, ...deletions.items.map(({ state }) => state)];
}

/** A deletion that could not delete a single object. */
async function halfDeleted(world: TestWorld, name: string): Promise<Topic> {
  const topic = await filled(world, name);
  const broker = world.broker({ store: refusing(world) });
  await world.run(broker.topics.delete(name, world.signal));
  await world.run(broker.notes.idle());
  expect(await objects(world, topic.id)).toBe(MESSAGES);
  return topic;
}

/** A store that deletes nothing of these topics. */
const refusing = (world: TestWorld, ...topics: readonly Topic[]) =>
  interceptStore(world.store, (call, make) => {
    const isRefused = topics.length === 0 || topics.some(({ id }) => call.key.startsWith(batchObjectPrefix(id)));
    return call.op === 'delete' && isRefused ? Promise.reject(new KelpError('unavailable', 'store-unavailable', 'refused')) : make();
  });

/** One that finds any write. */
function readingOnly(world: TestWorld): TestBroker {
  const table = interceptTable(world.table, (call, make) => {
    if (call.op !== 'get' && call.op !== 'query') throw new Error(`a dry sweep has done ${call.name}`);
    return make();
  });
  const store = interceptStore(world.store, (call, make) => {
    if (call.op === 'put' || call.op === 'delete') throw new Error(`a dry sweep has done ${call.op} ${call.key}`);
    return make();
  });
  return world.broker({ table, store });
}

describe('a sweep', () => {
  test('finishes a deletion that was killed at any step, and leaves a topic alone that is none', async () => {
    let carriedOn = 0;
    let untouched = 0;
    const steps = await killAtEveryStep({
      prepare: filled,
      act: (broker, _, world) => broker.topics.delete('t', world.signal),
      async check(world, old) {
        const would = await world.run(sweepDeletions(readingOnly(world).deps, { dryRun: true }, world.signal));
        const swept = await sweep(world);
        expect(would).toEqual(swept);
        expect(swept).toMatchObject({ failed: 0, complete: true });
        carriedOn += swept.carriedOn;
        const { topics } = await world.run(world.broker().topics.list({ limit: 10 }, world.signal));
        if (topics.length > 0) {
          untouched += 1;
          expect(swept).toEqual(nothing);
          expect(await readValues(world, old.id)).toHaveLength(MESSAGES);
          return;
        }
        expect(await left(world, old)).toEqual([0, 0, 'cleaned']);
        expect(await sweep(world)).toEqual(nothing);
      },
    });
    expect(steps).toBeGreaterThan(8 + MESSAGES);
    expect(carriedOn).toBeGreaterThan(4);
    expect(untouched).toBeGreaterThan(1);
  });

  test('takes nothing of the topic that has the name now, nor of its neighbours', async () => {
    const world = createTestWorld();
    const old = await halfDeleted(world, 't');
    const now = await filled(world, 't');
    const other = await filled(world, 'u');
    expect(await sweep(world)).toEqual({ ...nothing, cleaned: 1 });
    expect(await left(world, old)).toEqual([0, 0, 'cleaned']);
    for (const topic of [now, other]) expect(await readValues(world, topic.id)).toHaveLength(MESSAGES);
    const { created } = await world.run(world.broker().topics.create('t', oneSegment, world.signal));
    expect(created).toBe(false);
  });

  test('takes what a paused PUT has brought back', async () => {
    const world = createTestWorld();
    const old = await halfDeleted(world, 't');
    await sweep(world);
    await world.store.put(batchObjectKey(old.id, minuteOf(0), 'o000000000000000' as ObjectId), [Uint8Array.of(1)], world.signal);
    expect(await sweep(world)).toEqual({ ...nothing, strays: 1 });
    expect(await left(world, old)).toEqual([0, 0, 'cleaned']);
  });

  test('takes uploads too, and what comes of them afterwards', async () => {
    const world = createTestWorld();
    const old = await halfDeleted(world, 't');
    const nowMs = world.clock.nowMs();
    const [upload] = [await stage(world, old, { nowMs, name: 'a' }), await stage(world, old, { nowMs, name: 'b' })];
    const kept = await world.topic(1, 'kept');
    await stage(world, kept, { nowMs, name: 'a' });
    await sweep(world);
    expect([await leftInShort(world, old), await leftInShort(world, kept)]).toEqual(['0 objects', 'staged, 1 objects']);
    // A PUT that was paused, and a broker that was.
    await world.store.put(uploadObjectKey(old.id, upload.upload), [Uint8Array.of(1)], world.signal);
    await world.table.put(uploadKey(old.id, upload.upload), encodeUpload(upload), [], world.signal);
    expect(await world.run(sweepDeletions(readingOnly(world).deps, { dryRun: true }, world.signal))).toEqual({ ...nothing, strays: 2 });
    expect(await sweep(world)).toEqual({ ...nothing, strays: 2 });
    expect(await sweep(world)).toEqual(nothing);
    expect([await leftInShort(world, old), await leftInShort(world, kept)]).toEqual(['0 objects', 'staged, 1 objects']);
  });

  test('takes files, their records, producers’ lines and requests too, and what comes of them within a week; objects always', async () => {
    const world = createTestWorld();
    const old = await halfDeleted(world, 't');
    const kept = await world.topic(1, 'kept');
    const segment = segmentId(old.firstSegment);
    const things = (topic: Topic): readonly Key[] => [
      archiveKey(topic.id, segment),
      fileRecordKey(topic.id, segment, 0),
      pageKey(topic.id, segment, 0),
      lineKey(topic.id, segment, 'p'),
      idempotencyKey(topic.id, 'a'.repeat(64)),
    ];
    const fileOf = (topic: Topic): string =>
      archivedFileKey(topic.name, { topic: topic.id, segment, date: '2027-01-15' as UtcDate, first: 0, last: 9 });
    const putAll = async (topic: Topic): Promise<void> => {
      for (const key of things(topic)) await world.table.put(key, { v: 1 }, [], world.signal);
      await world.store.put(fileOf(topic), [Uint8Array.of(1)], world.signal);
    };
    const leftOf = async (topic: Topic): Promise<unknown[]> => [
      (await world.store.head(fileOf(topic), world.signal)) !== undefined,
      (await Promise.all(things(topic).map((key) => world.table.get(key, world.signal)))).filter((item) => item !== undefined).length,
    ];
    await putAll(old);
    await putAll(kept);
    expect(await sweep(world)).toEqual({ ...nothing, cleaned: 1 });
    expect([await leftOf(old), await leftOf(kept)]).toEqual([
      [false, 0],
      [true, 5],
    ]);
    await world.clock.advance(DELETED_ITEMS_MS - 1);
    await putAll(old);
    expect(await world.run(sweepDeletions(readingOnly(world).deps, { dryRun: true }, world.signal))).toEqual({ ...nothing, strays: 6 });
    expect(await sweep(world)).toEqual({ ...nothing, strays: 6 });
    await world.clock.advance(1);
    await putAll(old);
    expect(await sweep(world)).toEqual({ ...nothing, strays: 1 });
    expect([await leftOf(old), await leftOf(kept)]).toEqual([
      [false, 5],
      [true, 5],
    ]);
  });

  test('goes on behind one that fails, and says so', async () => {
    const world = createTestWorld();
    const topics = [await halfDeleted(world, 'a'), await halfDeleted(world, 'b'), await halfDeleted(world, 'c')];
    const [stuck] = topics as [Topic];
    const broker = world.broker({ store: refusing(world, stuck) });
    expect(await sweep(world, broker)).toEqual({ ...nothing, cleaned: 2, failed: 1 });
    expect(broker.notes.logs).toEqual([{ level: 'warn', message: 'a deletion is left for the next sweep' }]);
    expect(await Promise.all(topics.map(({ id }) => objects(world, id)))).toEqual([MESSAGES, 0, 0]);
    expect(await sweep(world)).toEqual({ ...nothing, cleaned: 1 });
  });

  test('ends with its time, and the next one finds what is left', async () => {
    const world = createTestWorld();
    const old = await halfDeleted(world, 't');
    const slow = interceptStore(world.store, async (call, make, signal) => {
      if (call.op === 'delete') await world.clock.sleep(1_000, signal);
      return make();
    });
    const beganMs = world.clock.monotonicMs();
    expect(await sweep(world, world.broker({ store: slow }), world.clock.deadline(1_500))).toEqual({ ...nothing, complete: false });
    expect(world.clock.monotonicMs() - beganMs).toBe(1_500);
    const some = await objects(world, old.id);
    expect([some > 0, some < MESSAGES]).toEqual([true, true]);
    expect(await sweep(world)).toEqual({ ...nothing, cleaned: 1 });
  });

  test('looks at all deletions, wherever it begins, and however many pages they fill', async () => {
    const world = createTestWorld();
    const topics = [];
    for (const name of ['a', 'b', 'c', 'd']) topics.push(await halfDeleted(world, name));
    const broker = world.broker();
    const table = {
      ...world.table,
      query: (query: Parameters<typeof world.table.query>[0]) => world.table.query({ ...query, limit: 1 }, world.signal),
    };
    // Another beginning each time.
    for (let n = 0; n < 10; n += 1) {
      for (const { id } of topics)
        await world.store.put(batchObjectKey(id, minuteOf(0), 'o000000000000000' as ObjectId), [Uint8Array.of(1)], world.signal);
      const swept = await world.run(sweepDeletions({ ...broker.deps, table }, { dryRun: false }, world.signal));
      expect(swept).toEqual(n === 0 ? { ...nothing, cleaned: 4 } : { ...nothing, strays: 4 });
    }
  });
});
