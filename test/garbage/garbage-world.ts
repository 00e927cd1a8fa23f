import {
  archivedFilesPrefix,
  batchObjectKey,
  batchObjectPrefix,
  entryObjectKey,
  uploadObjectsPrefix,
} from '../../src/format/object-key.ts';
import { headKey, linesPartition, pagesPartition, requestsPartitions, topicKey, uploadsPartition } from '../../src/format/item-key.ts';
import { decodeHead } from '../../src/format/head-item.ts';
import { decodeTopic } from '../../src/format/topic-item.ts';
import { decodePage } from '../../src/format/page-item.ts';
import { sweepGarbage } from '../../src/garbage/sweep-garbage.ts';
import type { FileRecord } from '../../src/model/archive.ts';
import { dateOf } from '../../src/model/archived-file.ts';
import { minuteOf, type ObjectId, type SegmentId } from '../../src/model/ids.ts';
import { LINE_KEPT_MS } from '../../src/model/garbage-limits.ts';
import { HEAD_ENTRIES_SPILL } from '../../src/model/limits.ts';
import type { Complete, SweptGarbage } from '../../src/model/sweep-report.ts';
import { segmentsOf, type Topic } from '../../src/model/topic.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { droppedUpdate, writtenUpdate } from '../../src/protocol/archive.ts';
import { putFileRecord, raiseThrough, readArchive, updateFileRecord } from '../../src/state/archives.ts';
import { spill } from '../../src/state/spill.ts';
import type { Stores } from '../simulation/read-log.ts';
import { firstSegment, publishOf } from '../publish/requests.ts';
import { createTestWorld, type TestWorld } from '../simulation/test-broker.ts';
import { interceptStore, type StoreCall, interceptTable, type TableCall } from '../simulation/intercept.ts';

/** What stores list at a time; tests have less. */
const ALL = 1_000;

/** Commits that a head has when it is spilled, and so its page. */
export const PAGE = HEAD_ENTRIES_SPILL;

/** A topic of one segment. */
export async function scene(): Promise<{ readonly world: TestWorld; readonly topic: Topic; readonly segment: SegmentId }> {
  const world = createTestWorld();
  const topic = await world.topic();
  return { world, topic, segment: firstSegment(topic) };
}

export const NOTHING: SweptGarbage & Complete = {
  neverCommitted: 0,
  archived: 0,
  files: 0,
  uploads: 0,
  pages: 0,
  lines: 0,
  requests: 0,
  bytes: 0,
  failed: 0,
  complete: true,
};

/** So far ahead that whatever is there now is of a minute that is over. */
export const SOON_MS = 120_000;
/** So far that a sealed segment's lines go, too. */
export const LATE_MS = 2 * LINE_KEPT_MS;

export type SweepOptions = {
  /** Of the sweeper's wall clock. */
  readonly aheadMs?: number;
  readonly ageMs?: number;
  readonly dryRun?: boolean;
  readonly stores?: Partial<Stores>;
  readonly clock?: Clock;
};

/** A sweep by somebody who has seen nothing yet. Not run: it goes on when time does. */
export function sweepOf(world: TestWorld, options: SweepOptions = {}): Promise<SweptGarbage & Complete> {
  const { aheadMs = SOON_MS, ageMs = 0, dryRun = false, stores = {} } = options;
  const { deps } = world.broker({ clock: options.clock ?? world.clock.skewed({ ms: aheadMs }), ...stores });
  return sweepGarbage({ ...deps, garbageAgeMs: ageMs }, { dryRun }, world.signal);
}

export const sweep = (world: TestWorld, options?: SweepOptions): Promise<SweptGarbage & Complete> => world.run(sweepOf(world, options));

/** As many messages, each a commit of its own, to the segment of the key; in the background as well. */
export async function fill(world: TestWorld, topic: Topic, count: number, key = 'a', broker = world.broker()): Promise<void> {
  for (let n = 0; n < count; n += 1) await world.run(broker.publisher.publish(topic, publishOf([[key, `${key}${n}`]]), world.signal));
  await world.run(broker.notes.idle());
}

/** All that is in the head leaves it. */
export async function spillAll(world: TestWorld, topic: Topic, segment: SegmentId): Promise<void> {
  const { deps } = world.broker();
  const head = await deps.heads.read(topic.id, segment, world.signal);
  if (head !== undefined) await world.run(spill(deps, head, world.signal));
}

/** The offsets from where the segment's archive ends to `last` are archived, or dropped, as whoever does that says it. The file is not made. */
export async function archive(
  world: TestWorld,
  topic: Topic,
  { segment, last, state = 'written' }: { readonly segment: SegmentId; readonly last: number; readonly state?: 'written' | 'dropped' },
): Promise<FileRecord> {
  const { deps } = world.broker();
  const place = { topic: topic.id, segment };
  const before = await readArchive(deps, place, world.signal);
  const pages = await world.table.query({ pk: pagesPartition(topic.id, segment), from: 'p', to: 'q', limit: ALL }, world.signal);
  const cids = pages.items.flatMap((item) =>
    decodePage(item)
      .entries.filter(({ offset }) => offset <= last)
      .map(({ cid }) => cid),
  );
  const record: FileRecord = {
    first: before.through,
    last,
    state: 'planned',
    date: dateOf(world.clock.nowMs()),
    guard: cids.toSorted().at(-1) ?? '',
    highestTimestampMs: 0,
    bytes: before.bytes,
    columns: [],
    atMs: world.clock.nowMs(),
  };
  await putFileRecord(deps, place, record, world.signal);
  const nowMs = world.clock.nowMs();
  const file = { rows: last + 1 - before.through, misfits: 0, bytes: 1, footerBytes: 1 };
  const update = state === 'written' ? writtenUpdate(file, nowMs) : droppedUpdate(nowMs);
  const ended = await updateFileRecord(deps, place, { first: record.first, update }, world.signal);
  await raiseThrough(deps, place, ended, world.signal);
  return ended;
}

type Looking = Pick<TestWorld, 'table' | 'store' | 'signal'>;

/** What there is of a topic besides heads and records, by its kind. */
export async function left({ table, store, signal }: Looking, topic: Topic, segments: readonly SegmentId[]) {
  const objects = async (prefix: string): Promise<number> => (await store.list(prefix, { limit: ALL }, signal)).objects.length;
  const items = async (pk: string, range: { readonly from?: string; readonly to?: string } = {}): Promise<number> =>
    (await table.query({ pk, ...range, limit: ALL }, signal)).items.length;
  const sum = async (counts: readonly Promise<number>[]): Promise<number> => (await Promise.all(counts)).reduce((a, b) => a + b, 0);
  return {
    objects: await objects(batchObjectPrefix(topic.id)),
    payloads: await objects(uploadObjectsPrefix(topic.id)),
    files: await objects(archivedFilesPrefix(topic.name, topic.id)),
    pages: await sum(segments.map((segment) => items(pagesPartition(topic.id, segment), { from: 'p', to: 'q' }))),
    lines: await sum(segments.map((segment) => items(linesPartition(topic.id, segment)))),
    requests: await sum(requestsPartitions(topic.id).map((pk) => items(pk))),
    uploads: await items(uploadsPartition(topic.id), { from: 'u' }),
  };
}

/** Keys of batch objects that no head and no page names. Rejects where one that they name is not there. */
export async function unreferenced({ table, store, signal }: Looking, topic: Topic): Promise<string[]> {
  const named = new Set<string>();
  const item = await table.get(topicKey(topic.id), signal);
  for (const segment of item === undefined ? [] : segmentsOf(decodeTopic(item))) {
    const head = await table.get(headKey(topic.id, segment), signal);
    const pages = await table.query({ pk: pagesPartition(topic.id, segment), from: 'p', to: 'q', limit: ALL }, signal);
    const entries = [...(head === undefined ? [] : decodeHead(head).entries), ...pages.items.flatMap((page) => decodePage(page).entries)];
    for (const { object } of entries) named.add(entryObjectKey(topic.id, object));
  }
  for (const key of named) if ((await store.head(key, signal)) === undefined) throw new Error(`${key} is gone, and referenced`);
  const { objects } = await store.list(batchObjectPrefix(topic.id), { limit: ALL }, signal);
  return objects.map(({ key }) => key).filter((key) => !named.has(key));
}

/** Stores of somebody who stands still at one call, before it takes effect or after. */
type Pausing = Stores & {
  /** Once he does; never where there are not so many calls. */
  readonly paused: Promise<void>;
  readonly goOn: () => void;
};

function pausing(stores: Stores, at: { readonly call: number; readonly done: boolean }): Pausing {
  const { promise: paused, resolve: pause } = Promise.withResolvers<void>();
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
  let calls = 0;
  const around = async <R>(_call: TableCall | StoreCall, make: () => Promise<R>): Promise<R> => {
    calls += 1;
    if (calls !== at.call) return make();
    const made = at.done ? await make().then((answer) => ({ answer })) : undefined;
    pause();
    await goesOn;
    return made === undefined ? make() : made.answer;
  };
  return { table: interceptTable(stores.table, around), store: interceptStore(stores.store, around), paused, goOn };
}

/**
 * `act` by somebody who stands still at his first call of a store, at his second and so on, before it takes effect and after; `meanwhile` happens
 * then, as a whole. Then he goes on, and `check` looks. Answers how many calls there were.
 */
export async function pauseAtEveryCall<T>(scenario: {
  readonly prepare: () => Promise<{ readonly world: TestWorld } & T>;
  readonly act: (stores: Stores, there: { readonly world: TestWorld } & T) => Promise<unknown>;
  readonly meanwhile: (there: { readonly world: TestWorld } & T) => Promise<unknown>;
  readonly check: (there: { readonly world: TestWorld } & T) => Promise<void>;
}): Promise<number> {
  for (let call = 1; ; call += 1) {
    for (const done of [false, true]) {
      const there = await scenario.prepare();
      const { world } = there;
      const stores = pausing(world, { call, done });
      const acting = scenario.act(stores, there);
      const ended = acting.then(() => 'ended' as const);
      const first = await world.run(Promise.race([ended, stores.paused.then(() => 'paused' as const)]));
      if (first === 'ended') return call - 1;
      const where = `paused ${done ? 'after' : 'before'} call ${call}`;
      try {
        await scenario.meanwhile(there);
        stores.goOn();
        await world.run(acting);
        await scenario.check(there);
      } catch (cause) {
        throw new Error(where, { cause });
      }
    }
  }
}

/** An object that nobody has committed, stored so long ago. Answers its key. */
export async function putOrphan(world: TestWorld, topic: Topic, agoMs = 0, bytes = 1): Promise<string> {
  const key = batchObjectKey(topic.id, minuteOf(world.clock.nowMs() - agoMs), `o${world.random.base36(15)}` as ObjectId);
  await world.store.put(key, [new Uint8Array(bytes)], world.signal);
  return key;
}

/** A dry run, which can't write, says the same as the sweep after it. */
export async function sweepAsSaid(world: TestWorld, options: SweepOptions = {}): Promise<SweptGarbage & Complete> {
  const table = interceptTable(world.table, (call, make) => {
    if (call.op !== 'get' && call.op !== 'query') throw new Error(`a dry sweep has done ${call.name}`);
    return make();
  });
  const store = interceptStore(world.store, (call, make) => {
    if (call.op === 'put' || call.op === 'delete') throw new Error(`a dry sweep has done ${call.op} ${call.key}`);
    return make();
  });
  const would = await sweep(world, { ...options, dryRun: true, stores: { table, store } });
  const swept = await sweep(world, options);
  if (JSON.stringify(swept) !== JSON.stringify(would))
    throw new Error(`it did ${JSON.stringify(swept)}, and would do ${JSON.stringify(would)}`);
  return swept;
}
