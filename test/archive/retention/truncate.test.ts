import { describe, expect, test } from 'vitest';
import { archiveNext } from '../../../src/archive/archive-segment.ts';
import { advanceStart } from '../../../src/archive/retention/advance-start.ts';
import type { RetentionDeps } from '../../../src/archive/retention/retention-deps.ts';
import { truncate } from '../../../src/archive/retention/truncate.ts';
import { fileRecordSortKey, headKey, pageKey } from '../../../src/format/item-key.ts';
import { encodePage } from '../../../src/format/page-item.ts';
import { DROPPED_ENTRIES_MAX } from '../../../src/model/archive-limits.ts';
import { KelpError } from '../../../src/model/errors.ts';
import type { Entry } from '../../../src/model/head.ts';
import { type CommitId, type Minute, type ObjectId, segmentId } from '../../../src/model/ids.ts';
import { HEAD_ENTRIES_MAX } from '../../../src/model/limits.ts';
import { formatCommitId } from '../../../src/protocol/commit-id.ts';
import { readArchive } from '../../../src/state/archives.ts';
import { message } from '../../publish/requests.ts';
import { interceptTable } from '../../simulation/intercept.ts';
import { createTestWorld } from '../../simulation/test-broker.ts';
import {
  archive,
  archiverOf,
  checkKept,
  commits,
  FILE_AGE_MS,
  placesOf,
  publish,
  retentionDeps,
  type Scene,
  sceneOf,
  truncateOf,
} from './retention-world.ts';

const places = ({ world, topic }: Scene) => placesOf(world, topic);
const upTo = (at: Scene, offset: number) =>
  at.world.run(truncateOf(at.broker, at.topic, { segment: at.segment, offset })).then(({ segments }) => segments[0]);

async function* unreadable(): AsyncGenerator<readonly never[], void, undefined> {
  yield [];
  throw new KelpError('unavailable', 'store-unavailable', 'planted');
}

/** Six messages, of whose file there is the record alone. */
async function begunFile(): Promise<Scene> {
  const at = await sceneOf(createTestWorld());
  await commits(at, 6);
  await at.world.clock.advance(FILE_AGE_MS);
  const stopped = { ...archiverOf(at.broker), messages: { read: () => unreadable() } };
  await expect(at.world.run(archiveNext(stopped, at.topic, at.segment, at.world.signal))).rejects.toThrow('planted');
  return at;
}

/** Commits of one message each, in full pages that were put by hand. */
async function longAgo({ world, topic, segment }: Scene, count: number): Promise<void> {
  const key = headKey(topic.id, segment);
  let guard = '' as CommitId | '';
  for (let first = 0; first < count; first += HEAD_ENTRIES_MAX) {
    const entries = Array.from({ length: Math.min(HEAD_ENTRIES_MAX, count - first) }, (_, n): Entry => {
      const cid = formatCommitId(1_000 + first + n, 'instance', 1);
      const object = { minute: '00000001' as Minute, id: 'oaaaaaaaaaaaaaaa' as ObjectId };
      return { cid, offset: first + n, object, runs: [{ start: 0, bytes: 1, count: 1 }], highestTimestampMs: 0 };
    });
    guard = entries.at(-1)?.cid ?? guard;
    const page = { first, next: first + entries.length, guard, highestTimestampMs: 0, entries };
    await world.table.put(pageKey(topic.id, segment, first), encodePage(page), [], world.signal);
  }
  const head = await world.table.get(key, world.signal);
  await world.table.put(key, { ...head, h: count, tail: count, g: guard, ht: 0, messages: count, bytes: count }, [], world.signal);
}

describe('truncation by hand', () => {
  test('inside of a file that somebody is writing is done once that is there', async () => {
    const at = await begunFile();
    expect(await upTo(at, 3)).toEqual({ segment: at.segment, offset: 3, from: 0, start: 0, tail: 6 });
    await checkKept(at.world, at.topic);
    await at.world.clock.advance(1_000_000);
    await archive({ ...at, broker: at.world.broker() });
    expect(await upTo(at, 3)).toMatchObject({ from: 0, start: 3 });
    expect(await places(at)).toEqual(['3/6/6']);
    await checkKept(at.world, at.topic);
  });

  test('of all of a file that somebody is writing needs nobody to finish it', async () => {
    const at = await begunFile();
    await commits(at, 2);
    expect(await upTo(at, 7)).toMatchObject({ start: 7, tail: 8 });
    expect(await places(at)).toEqual(['7/7/8']);
    await checkKept(at.world, at.topic);
  });

  test('is done at whichever offset, and every byte that went is counted by whole files', async () => {
    for (const asFiles of [false, true]) {
      const at = await sceneOf(createTestWorld());
      for (let first = 0; first < 12; first += 3) await publish(at, [message('a', '1'), message('b', '2'), message('c', '3')]);
      await at.world.clock.advance(FILE_AGE_MS);
      if (asFiles) await archive(at);
      for (let offset = 0; offset <= 12; offset += 1) {
        expect(await upTo(at, offset)).toMatchObject({ start: offset, tail: 12 });
        await checkKept(at.world, at.topic);
      }
      expect(await places(at)).toEqual(['12/12/12']);
    }
  });

  test('of very many commits takes several records, and each is done once it is done', async () => {
    const at = await sceneOf(createTestWorld());
    await longAgo(at, DROPPED_ENTRIES_MAX + 100);
    const killed = at.world.broker({
      table: interceptTable(at.world.table, (call, make) =>
        call.op === 'put' && call.key.sk === fileRecordSortKey(DROPPED_ENTRIES_MAX)
          ? Promise.reject(new KelpError('invalid', 'table-refused', 'planted'))
          : make(),
      ),
    });
    const offset = DROPPED_ENTRIES_MAX + 50;
    await expect(at.world.run(truncateOf(killed, at.topic, { segment: at.segment, offset }))).rejects.toThrow('planted');
    expect(await places(at)).toEqual([`${DROPPED_ENTRIES_MAX}/${DROPPED_ENTRIES_MAX}/${DROPPED_ENTRIES_MAX + 100}`]);
    expect(await upTo({ ...at, broker: at.world.broker() }, offset)).toMatchObject({ from: DROPPED_ENTRIES_MAX, start: offset });
    await checkKept(at.world, at.topic);
  });

  test('settles uploads before what names them leaves the index (U2), once for each record', async () => {
    const at = await begunFile();
    await commits(at, 2);
    const settled: unknown[] = [];
    const settleSubmitting: RetentionDeps['settleSubmitting'] = async (_, { segment, last }, signal) => {
      const { through } = await readArchive(at.broker.deps, { topic: at.topic.id, segment }, signal);
      settled.push({ segment, last, through });
    };
    const place = { topic: at.topic, segment: at.segment };
    await at.world.run(advanceStart({ ...retentionDeps(at.broker), settleSubmitting }, place, 7, at.world.signal));
    expect(settled).toEqual([
      { segment: at.segment, last: 5, through: 0 },
      { segment: at.segment, last: 6, through: 6 },
    ]);
  });

  test('of several segments, one of which fails, ends with its error once the others have ended', async () => {
    const at = await sceneOf(createTestWorld(), {}, 4);
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) await publish(at, [message(key, key)]);
    const before = await at.world.table.get(headKey(at.topic.id, at.segment), at.world.signal);
    await at.world.table.put(headKey(at.topic.id, at.segment), { ...before, v: 99 }, [], at.world.signal);
    let underWay = 0;
    const table = interceptTable(at.world.table, async (call, make, signal) => {
      underWay += 1;
      await at.world.clock.sleep(call.name === 'get head' ? 1 : 10, signal);
      return make().finally(() => (underWay -= 1));
    });
    const ended = truncateOf(at.world.broker({ table }), at.topic, { timestampMs: 2_000_000_000_000 });
    await expect(at.world.run(ended)).rejects.toMatchObject({ kind: 'corrupt' });
    expect(underWay).toBe(0);
  });

  test('ends with its time, and says which segments it has come to', async () => {
    const at = await sceneOf(createTestWorld(), {}, 8);
    for (let key = 0; key < 40; key += 1) await publish(at, [message(`k${key}`, 'v')]);
    const broker = at.world.broker({
      table: interceptTable(at.world.table, (_call, make, signal) => at.world.clock.sleep(10, signal).then(() => make())),
    });
    const deps = {
      ...retentionDeps(broker),
      offsetAt: (...args: Parameters<typeof broker.consumer.offsetAt>) => broker.consumer.offsetAt(...args),
    };
    const wanted = { topic: at.topic, to: { timestampMs: 2_000_000_000_000 }, dryRun: false };
    const { segments, complete } = await at.world.run(truncate(deps, wanted, at.world.clock.deadline(120)));
    expect(complete).toBe(false);
    expect(segments.length).toBeLessThan(8);
    const { segments: rest } = await at.world.run(truncate(deps, wanted, at.world.signal));
    // Those that it had come to have nothing any more.
    expect(rest.length).toBeGreaterThanOrEqual(1);
    for (const place of await places(at)) expect(place).toMatch(/^(\d+)\/\1\/\1$/);
  });

  test('leaves out a segment that is listed and not made yet', async () => {
    const at = await sceneOf(createTestWorld());
    await commits(at, 2);
    await at.world.table.put(
      { pk: `s#${at.topic.id}`, sk: segmentId(7) },
      { v: 1, tenant: 'main', segment: segmentId(7), lo: 0, hi: 9, predecessors: [] },
      [],
      at.world.signal,
    );
    const { segments } = await at.world.run(truncateOf(at.broker, at.topic, { timestampMs: 2_000_000_000_000 }));
    expect(segments.map(({ segment }) => segment)).toEqual([at.segment]);
    const named = truncateOf(at.broker, at.topic, { segment: segmentId(7), offset: 0 });
    await expect(at.world.run(named)).rejects.toMatchObject({ code: 'segment-not-found' });
  });
});
