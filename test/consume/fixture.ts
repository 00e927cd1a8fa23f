import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { createAuthenticator } from '../../src/adapters/system/authenticator.ts';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { type ConsumerDeps, createConsumer } from '../../src/consume/create-consumer.ts';
import type { BatchSlice, Consumer, ReadBounds, TopicPage } from '../../src/consume/page.ts';
import { batchObjectHeaderBytes, encodeBatchObjectHeader } from '../../src/format/batch-object.ts';
import { encodeEntryBody } from '../../src/format/entry.ts';
import { decodeHead, encodeNewHead } from '../../src/format/head-item.ts';
import { headKey, pageKey, segmentKey } from '../../src/format/item-key.ts';
import { batchObjectKey } from '../../src/format/object-key.ts';
import { encodePage } from '../../src/format/page-item.ts';
import { encodeBatch } from '../../src/format/record-batch-encode.ts';
import { encodeSegment } from '../../src/format/segment-item.ts';
import type { Head } from '../../src/model/head.ts';
import { minuteOf, type ObjectId, segmentId, segmentNumber, type SegmentId, type TopicId } from '../../src/model/ids.ts';
import type { Bytes, Message, StoredMessage } from '../../src/model/message.ts';
import type { Range, SegmentRange, Topic } from '../../src/model/topic.ts';
import type { MetadataTable, Update } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import type { Telemetry } from '../../src/ports/telemetry.ts';
import { formatCommitId } from '../../src/protocol/commit-id.ts';
import { openUpdate, sealUpdate } from '../../src/protocol/segment-life.ts';
import { pageOf, spillUpdate } from '../../src/protocol/spill.ts';
import { createHeads, type Heads } from '../../src/state/heads.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';

const utf8 = new TextEncoder();
export const EVERYTHING: ReadBounds = { messagesMax: 100_000, bytesMax: 100_000_000, waitMs: 0 };
export const silent: Telemetry = { count: () => undefined, adjust: () => undefined, record: () => undefined, log: () => undefined };
export const compression = createCompression({ codec: 'zstd' });
const plain = createCompression({ codec: 'none' });

/** A signal that nobody aborts. */
export const calm = (): AbortSignal => new AbortController().signal;

export function message(value: string, options: { readonly timestampMs?: number; readonly key?: string } = {}): Message {
  return { key: utf8.encode(options.key ?? 'k'), value: utf8.encode(value), headers: [], timestampMs: options.timestampMs ?? 0 };
}
export const messages = (...values: string[]): Message[] => values.map((value) => message(value));
export const textOf = (stored: StoredMessage): string => new TextDecoder().decode(stored.value ?? undefined);

export type Appended = {
  readonly key: string;
  readonly starts: readonly number[];
  readonly batches: readonly Bytes[];
  readonly head: Head;
};
export type Append = {
  readonly segment: SegmentId;
  /** Each becomes a batch. */
  readonly batches: readonly (readonly Message[])[];
  /** Batches that are in the object and not in the entry: members that were refused. */
  readonly skip?: readonly number[];
  readonly compress?: boolean;
  /** Committed by another instance: this one's heads are not told. */
  readonly elsewhere?: boolean;
};

/** A log whose heads, pages and objects a test writes itself, through the codecs; and readers of it. */
export type Log = {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  readonly clock: ManualClock;
  readonly heads: Heads;
  readonly consumer: Consumer;
  readonly topic: Topic;
  make(range: Range, predecessors?: readonly SegmentId[], state?: 'open' | 'pending'): Promise<SegmentId>;
  open(segment: SegmentId): Promise<void>;
  /** One object and its commits; tells this instance's heads, as a publish does. */
  append(...appends: readonly Append[]): Promise<Appended[]>;
  /** Says the same of one segment with one batch. */
  write(segment: SegmentId, ...values: string[]): Promise<Appended>;
  /** Moves the head's entries to a page; `settle` false: stops between the page and the head. */
  spill(segment: SegmentId, options?: { readonly settle?: boolean }): Promise<void>;
  seal(segment: SegmentId, options?: { readonly successors?: readonly SegmentRange[]; readonly deleted?: boolean }): Promise<void>;
  head(segment: SegmentId): Promise<Head>;
  /** Changes stored bytes of an object. */
  damage(key: string, change: (bytes: Bytes) => Bytes): Promise<void>;
  /** Another instance on the same stores. */
  instance(deps?: Partial<ConsumerDeps>): { readonly heads: Heads; readonly consumer: Consumer };
};

export function createTopic(overrides: Partial<Topic> = {}): Topic {
  return {
    id: 'taaaaaaaaaaaaaaa' as TopicId,
    name: 'orders',
    tenant: 'main',
    settings: { partitionKey: 'key', segments: 1, replicas: 2 },
    state: 'active',
    version: 1,
    firstSegment: 0,
    nextSegment: 0,
    open: [],
    changes: [],
    createdMs: 0,
    ...overrides,
  };
}

export function createLog(options: Partial<ConsumerDeps> & { readonly topic?: Topic } = {}): Log {
  const table = options.table ?? createMemoryTable();
  const store = options.store ?? createMemoryStore();
  const clock = createManualClock();
  const topic = options.topic ?? createTopic();
  const authenticator = options.authenticator ?? createAuthenticator(['secret']);
  const ports = { table, store, clock, compression, telemetry: silent, authenticator };
  const instance: Log['instance'] = (deps) => {
    const heads = createHeads(deps?.table ?? table);
    return { heads, consumer: createConsumer({ ...ports, ...options, ...deps, heads }) };
  };
  const own = instance();
  const writer = createWriter({ table, store, clock, topic, heads: own.heads });
  return { ...ports, ...own, topic, instance, ...writer };
}

type WriterDeps = Pick<Log, 'table' | 'store' | 'clock' | 'topic' | 'heads'>;

function createWriter({ table, store, clock, topic, heads }: WriterDeps) {
  let segments = topic.firstSegment;
  let commits = 0;

  async function update(segment: SegmentId, change: Update, elsewhere = false): Promise<Head> {
    const result = await table.update(headKey(topic.id, segment), change, calm());
    if (!result.applied) throw new Error(`the fixture's update of ${segment} was refused`);
    const after = decodeHead(result.item);
    if (!elsewhere) heads.offer(after);
    return after;
  }

  async function head(segment: SegmentId): Promise<Head> {
    const item = await table.get(headKey(topic.id, segment), calm());
    if (item === undefined) throw new Error(`no head of ${segment}`);
    return decodeHead(item);
  }

  async function open(segment: SegmentId): Promise<void> {
    await update(segment, openUpdate(clock.nowMs()));
  }

  async function append(...appends: readonly Append[]): Promise<Appended[]> {
    commits += 1;
    const id = `o${String(commits).padStart(15, '0')}` as ObjectId;
    const minute = minuteOf(clock.nowMs());
    const body: Bytes[] = [encodeBatchObjectHeader({ topic: topic.id, segments: appends.map(({ segment }) => segment) })];
    let at = batchObjectHeaderBytes(appends.length);
    const laidOut = [];
    for (const each of appends) {
      const batches = await Promise.all(each.batches.map((batch) => encodeBatch(batch, each.compress === true ? compression : plain)));
      const runs: { start: number; bytes: number; count: number }[] = [];
      const starts: number[] = [];
      for (const [index, batch] of batches.entries()) {
        starts.push(at);
        const last = runs.at(-1);
        const count = each.batches[index]?.length ?? 0;
        if (each.skip?.includes(index) === true) {
          // Left out: the next batch begins a run of its own.
        } else if (last !== undefined && last.start + last.bytes === at) {
          last.bytes += batch.length;
          last.count += count;
        } else {
          runs.push({ start: at, bytes: batch.length, count });
        }
        at += batch.length;
      }
      body.push(...batches);
      laidOut.push({ each, runs, starts, batches });
    }
    const key = batchObjectKey(topic.id, minute, id);
    await store.put(key, body, calm());
    const appended: Appended[] = [];
    for (const { each, runs, starts, batches } of laidOut) {
      const cid = formatCommitId(clock.nowMs(), 'instance', commits);
      const kept = each.batches.filter((_, index) => each.skip?.includes(index) !== true).flat();
      const highestTimestampMs = Math.max(...kept.map((one) => one.timestampMs));
      const change: Update = {
        condition: [{ op: '=', path: ['state'], value: 'open' }],
        changes: [
          { op: 'copy', path: ['c', cid], from: ['tail'] },
          { op: 'set', path: ['m', cid], value: encodeEntryBody({ object: { minute, id }, runs, highestTimestampMs }) },
          { op: 'add', path: ['tail'], value: kept.length },
        ],
      };
      const after = await update(each.segment, change, each.elsewhere);
      appended.push({ key, starts, batches, head: after });
    }
    return appended;
  }

  return {
    head,
    open,
    append,
    async make(range: Range, predecessors: readonly SegmentId[] = [], state: 'open' | 'pending' = 'open') {
      const segment = segmentId(segments);
      segments += 1;
      const record = { segment, lo: range.lo, hi: range.hi };
      await table.put(segmentKey(topic.id, segment), encodeSegment({ ...record, predecessors }), [], calm());
      const item = encodeNewHead({ topic: topic.id, tenant: topic.tenant, range: record, floor: '', predecessors });
      await table.put(headKey(topic.id, segment), item, [], calm());
      if (state === 'open') await open(segment);
      return segment;
    },
    async write(segment: SegmentId, ...values: string[]) {
      const [appended] = await append({ segment, batches: [messages(...values)] });
      if (appended === undefined) throw new Error('nothing was appended');
      return appended;
    },
    async spill(segment: SegmentId, { settle = true }: { readonly settle?: boolean } = {}) {
      const before = await head(segment);
      const page = pageOf(before);
      if (page === undefined) throw new Error('nothing to spill');
      await table.put(pageKey(topic.id, segment, page.first), encodePage(page), [], calm());
      if (settle) await update(segment, spillUpdate(before, page));
    },
    async seal(segment: SegmentId, { successors = [], deleted = false }: { successors?: readonly SegmentRange[]; deleted?: boolean } = {}) {
      await update(segment, sealUpdate({ change: `seal ${segmentNumber(segment)}`, successors, deleted }, clock.nowMs()));
    },
    async damage(key: string, change: (bytes: Bytes) => Bytes) {
      const bytes = await store.getRange(key, 0, 1_000_000_000, calm());
      await store.put(key, [change(Uint8Array.from(bytes))], calm());
    },
  };
}

/** All messages of slices, as `segment:offset=value`. */
export async function shown(consumer: Consumer, slices: readonly BatchSlice[]): Promise<string[]> {
  const decoded = await Promise.all(slices.map(async (slice) => ({ slice, stored: await consumer.decode(slice) })));
  return decoded.flatMap(({ slice, stored }) => stored.map((one) => `${slice.segment}:${one.offset}=${textOf(one)}`));
}
export const values = async (consumer: Consumer, slices: readonly BatchSlice[]): Promise<string[]> =>
  (await shown(consumer, slices)).map((text) => text.slice(text.indexOf('=') + 1));

/** A page of the log's topic. */
export const readTopic = (log: Log, cursor: string, bounds = EVERYTHING, consumer: Consumer = log.consumer): Promise<TopicPage> =>
  consumer.readTopic(log.topic, { cursor, ...bounds }, calm());

/** Reads on until a page is empty. */
export async function drain(log: Log, cursor: string, bounds = EVERYTHING, consumer: Consumer = log.consumer) {
  const read: string[] = [];
  let next = cursor;
  for (;;) {
    const page = await readTopic(log, next, bounds, consumer);
    next = page.cursor;
    if (page.slices.length === 0) return { read, cursor: next };
    read.push(...(await shown(consumer, page.slices)));
  }
}
