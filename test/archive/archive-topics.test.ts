import { describe, expect, test } from 'vitest';
import { archiveTopics } from '../../src/archive/archive-topics.ts';
import { fileRecordKey, nameKey, topicKey } from '../../src/format/item-key.ts';
import { encodeName } from '../../src/format/name-item.ts';
import { encodeTopic } from '../../src/format/topic-item.ts';
import { FILES_PER_VISIT_MAX } from '../../src/model/archive-limits.ts';
import { KelpError } from '../../src/model/errors.ts';
import type { SegmentId, TopicId } from '../../src/model/ids.ts';
import type { Topic } from '../../src/model/topic.ts';
import { calm, createLog, createTopic, type Log, textOf } from '../consume/fixture.ts';
import { interceptStore, interceptTable } from '../simulation/intercept.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { type ArchiveWorld, createArchiveWorld, HOUR_MS } from './archive-world.ts';

const HALVES = [
  { lo: 0, hi: 32_767 },
  { lo: 32_768, hi: 65_535 },
];
const forEver = { until: calm() };

/** Segments that are sealed, each with one message, its own number. */
async function sealedSegments(world: ArchiveWorld, log: Log = world.log): Promise<SegmentId[]> {
  const segments: SegmentId[] = [];
  for (const [index, range] of HALVES.entries()) {
    const segment = await log.make(range);
    await log.write(segment, `${index}`);
    await log.seal(segment);
    segments.push(segment);
  }
  return segments;
}

const through = async (world: ArchiveWorld, segments: readonly SegmentId[]): Promise<number[]> =>
  Promise.all(segments.map(async (segment) => (await world.state(segment)).archive.through));

describe('a run', () => {
  test('archives what is due of all topics, and looks at no topic that is being deleted', async () => {
    const world = await createArchiveWorld();
    const segments = await sealedSegments(world);
    const topics = (['b', 'c'] as const).map((name, index) =>
      createTopic({ id: `t${name.repeat(15)}` as TopicId, name, state: index === 0 ? 'active' : 'deleting' }),
    );
    const logs = topics.map((topic) => createLog({ ...world.log, topic }));
    const others: SegmentId[][] = [];
    for (const [index, { tenant, name, id }] of topics.entries()) {
      await world.log.table.put(nameKey(tenant, name), encodeName({ tenant, name, topic: id, nextSegment: 0, version: 1 }), [], calm());
      await world.log.table.put(topicKey(id), encodeTopic(topics[index] as Topic), [], calm());
      others.push(await sealedSegments(world, logs[index]));
    }
    const run = await archiveTopics(world.archiver(), forEver, calm());
    expect(run).toEqual({ archived: 4, held: 0, busy: 0, failed: 0, lagMs: 0, complete: true });
    expect(await through(world, segments)).toEqual([1, 1]);
    const keys = (await world.log.store.list('topics/', { limit: 100 }, calm())).objects.map(({ key }) => key.split('/')[1]);
    expect(new Set(keys)).toEqual(new Set(['orders.taaaaaaaaaaaaaaa', 'b.tbbbbbbbbbbbbbbb']));
    expect(others.flat()).toHaveLength(4);
    expect(await archiveTopics(world.archiver(), forEver, calm())).toMatchObject({ archived: 0, complete: true });
  });

  test('goes on where one segment is damaged, and another one fails', async () => {
    const world = await createArchiveWorld();
    const { log, telemetry } = world;
    const damaged = await log.make(HALVES[0] ?? expect.unreachable());
    const { key } = await log.write(damaged, 'a');
    await log.damage(key, (bytes) => bytes.subarray(0, -1));
    await log.seal(damaged);
    const [one, other] = await sealedSegments(world);
    const store = interceptStore(log.store, (call, make) =>
      call.op === 'put' && call.key.includes(String(one)) ? Promise.reject(new KelpError('invalid', 'store-refused', 'planted')) : make(),
    );
    const run = await archiveTopics(world.archiver({ store }), forEver, calm());
    expect(run).toMatchObject({ archived: 1, held: 1, failed: 1, complete: true });
    expect(await through(world, [damaged, one ?? damaged, other ?? damaged])).toEqual([0, 0, 1]);
    expect(telemetry.logs.map(({ level, message, fields }) => [level, message, fields['segment']])).toContainEqual([
      'warn',
      'messages are left for the next run of the archive',
      one,
    ]);
    expect([telemetry.total('kelp.archive.held'), telemetry.total('kelp.archive.failed')]).toEqual([1, 1]);
  });

  test('tells how old messages are that are held, or that somebody else is at, and up to where', async () => {
    const world = await createArchiveWorld();
    const { log, telemetry } = world;
    const damaged = await log.make(HALVES[0] ?? expect.unreachable());
    const { key } = await log.write(damaged, 'a', 'b');
    let whole = new Uint8Array();
    await log.damage(key, (bytes) => {
      whole = new Uint8Array(bytes);
      return bytes.subarray(0, -1);
    });
    await log.seal(damaged);
    await log.clock.advance(HOUR_MS);
    expect(await archiveTopics(world.archiver(), forEver, calm())).toMatchObject({ held: 1, busy: 0, lagMs: HOUR_MS });
    expect(telemetry.logs.filter(({ level }) => level === 'error').at(-1)?.fields).toMatchObject({ segment: damaged, last: 1 });
    // Its record was put just now.
    await log.clock.advance(1_000);
    expect(await archiveTopics(world.archiver(), forEver, calm())).toMatchObject({ held: 0, busy: 1, lagMs: HOUR_MS + 1_000 });
    await log.damage(key, () => whole);
    await log.clock.advance(HOUR_MS);
    expect(await archiveTopics(world.archiver(), forEver, calm())).toMatchObject({ archived: 1, held: 0, busy: 0, lagMs: 0 });
  });

  test('passes over a topic that is deleted, with its objects, while they are read', async () => {
    const world = await createArchiveWorld();
    const [segment] = await sealedSegments(world);
    let isDeleted = false;
    const store = interceptStore(world.log.store, (call, make) => {
      if (call.op !== 'get' || !call.key.startsWith('log/')) return make();
      isDeleted = true;
      return Promise.reject(new KelpError('not-found', 'object-not-found', 'planted'));
    });
    const table = interceptTable(world.log.table, async (call, make) => {
      const result = await make();
      return isDeleted && call.name === 'get head' ? Object.assign({}, result, { deleted: true }) : result;
    });
    expect(await archiveTopics(world.archiver({ store, table }), forEver, calm())).toMatchObject({ archived: 0, held: 0, failed: 0 });
    expect([isDeleted, await through(world, [segment ?? expect.unreachable()])]).toEqual([true, [0]]);
  });

  test('passes over a topic whose items went while a file of it was written', async () => {
    const world = await createArchiveWorld();
    const [segment] = await sealedSegments(world);
    const { topic, table } = world.log;
    const store = interceptStore(world.log.store, async (call, make) => {
      if (call.op === 'put' && call.key.includes(String(segment))) {
        await table.delete(fileRecordKey(topic.id, segment ?? expect.unreachable(), 0), [], calm());
      }
      return make();
    });
    expect(await archiveTopics(world.archiver({ store }), forEver, calm())).toMatchObject({ archived: 1, held: 0, failed: 0 });
  });

  test('says how old the oldest message is that is in no file', async () => {
    const world = await createArchiveWorld();
    const segment = await world.log.make({ lo: 0, hi: 65_535 });
    await world.log.write(segment, 'a');
    await world.log.clock.advance(HOUR_MS / 2);
    await world.log.write(segment, 'b');
    expect(await archiveTopics(world.archiver(), forEver, calm())).toMatchObject({ archived: 0, lagMs: HOUR_MS / 2 });
  });

  test('ends between two files once its time is over, and the next one goes on', async () => {
    const world = await createArchiveWorld();
    const { log } = world;
    const segment = await log.make({ lo: 0, hi: 65_535 });
    for (const text of ['a', 'b', 'c']) await log.write(segment, text.repeat(100));
    await log.seal(segment);
    const until = new AbortController();
    const store = interceptStore(log.store, (call, make) => {
      if (call.op === 'put') until.abort();
      return make();
    });
    const run = await archiveTopics(world.archiver({ store, fileBytesMax: 150 }), { until: until.signal }, calm());
    expect(run).toMatchObject({ archived: 1, failed: 0, complete: false });
    expect(await through(world, [segment])).toEqual([1]);
    const next = await archiveTopics(world.archiver({ fileBytesMax: 150 }), forEver, calm());
    expect(next).toMatchObject({ archived: 2, complete: true });
  });

  test('begins none of those that wait for their turn by then, and leaves them to anybody', async () => {
    const world = await createArchiveWorld();
    const segments = await sealedSegments(world);
    const until = new AbortController();
    const store = interceptStore(world.log.store, async (call, make) => {
      if (call.op === 'put') {
        // Both have been looked at.
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        until.abort();
      }
      return make();
    });
    const run = await archiveTopics(world.archiver({ store }), { until: until.signal }, calm());
    expect(run).toMatchObject({ archived: 1, busy: 0, failed: 0, complete: false });
    expect(await archiveTopics(world.archiver(), forEver, calm())).toMatchObject({ archived: 1, busy: 0, complete: true });
    expect(await through(world, segments)).toEqual([1, 1]);
  });

  test('ends in the middle of a file with its signal, without an error', async () => {
    const world = await createArchiveWorld();
    await sealedSegments(world);
    const life = new AbortController();
    const store = interceptStore(world.log.store, (call, make) => {
      if (call.op === 'put') life.abort(new Error('over'));
      life.signal.throwIfAborted();
      return make();
    });
    const run = await archiveTopics(world.archiver({ store }), { until: life.signal }, life.signal);
    expect(run).toMatchObject({ archived: 0, failed: 0, complete: false });
    expect(world.telemetry.logs).toEqual([]);
  });

  test('leaves a segment of many files to others for a while, and is not complete', async () => {
    const world = await createArchiveWorld();
    const { log } = world;
    const segment = await log.make({ lo: 0, hi: 65_535 });
    const texts = Array.from({ length: FILES_PER_VISIT_MAX + 3 }, (_, index) => `${index}`.padStart(100, '0'));
    for (const text of texts) await log.write(segment, text);
    await log.seal(segment);
    const archiver = world.archiver({ fileBytesMax: 150 });
    expect(await archiveTopics(archiver, forEver, calm())).toMatchObject({ archived: FILES_PER_VISIT_MAX, complete: false });
    expect(await archiveTopics(archiver, forEver, calm())).toMatchObject({ archived: 3, complete: true });
    expect((await world.archived(segment)).map(textOf)).toEqual(texts);
  });

  test('rejects where the table cannot be listed', async () => {
    const world = await createArchiveWorld();
    const table = interceptTable(world.log.table, (call, make) =>
      call.name === 'query name' ? Promise.reject(new KelpError('unavailable', 'table-unavailable', 'planted')) : make(),
    );
    await expect(archiveTopics(world.archiver({ table }), forEver, calm())).rejects.toMatchObject({ code: 'table-unavailable' });
  });

  test('begins anywhere: two of them look at segments in different orders', async () => {
    const orders = new Set<string>();
    for (const seed of [1, 2, 3, 4]) {
      const world = await createArchiveWorld();
      for (let count = 0; count < 4; count += 1) await sealedSegments(world);
      const written: string[] = [];
      const store = interceptStore(world.log.store, (call, make) => {
        if (call.op === 'put') written.push(call.key.slice(-50));
        return make();
      });
      await archiveTopics({ ...world.archiver({ store }), random: createSeededRandom(seed) }, forEver, calm());
      expect(written).toHaveLength(8);
      orders.add(written.join());
    }
    expect(orders.size).toBeGreaterThan(1);
  });
});
