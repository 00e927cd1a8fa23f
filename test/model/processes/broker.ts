import { decodeHead, encodeNewHead } from '../../../src/format/head-item.ts';
import { headKey, pageKey, servedKey } from '../../../src/format/item-key.ts';
import { decodePage, encodePage } from '../../../src/format/page-item.ts';
import { encodeServed } from '../../../src/format/served-item.ts';
import { type BrokerId, type CommitId, minuteOf, type ObjectId, type SegmentId, segmentId, type TopicId } from '../../../src/model/ids.ts';
import { LOAD_BUCKETS, PARTITIONS } from '../../../src/model/limits.ts';
import type { ObjectRef } from '../../../src/model/head.ts';
import { type SegmentRange, TENANT_DEFAULT, type Topic } from '../../../src/model/topic.ts';
import type { Item, Key, MetadataTable } from '../../../src/ports/metadata-table.ts';
import { commitUpdate, killUpdate, type LineChange } from '../../../src/protocol/commit.ts';
import { pageOf, spillUpdate } from '../../../src/protocol/spill.ts';
import { createCommitIds, formatCommitId } from '../../../src/protocol/commit-id.ts';
import { applyUpdate } from '../../../src/adapters/memory/interpreter.ts';
import type { CommitDeps } from '../../../src/publish/commit-deps.ts';
import { createHeads } from '../../../src/state/heads.ts';

// What processes of the model have in common: names, a broker's ports, and heads to begin with.

export const TOPIC = 'topic00000000000' as TopicId;
export const SEGMENT = segmentId(0);
export const WHOLE: SegmentRange = { segment: SEGMENT, lo: 0, hi: PARTITIONS - 1 };

/** A clock stands still at `nowMs`: another broker's may be ahead or behind. */
export type BrokerClock = { readonly instance: string; readonly nowMs: number };

/** A broker whose every wait ends at once, and whose only partner is the table. `known`: heads that it has seen. */
export function brokerDeps(table: MetadataTable, { instance, nowMs }: BrokerClock, known: readonly Item[] = []): CommitDeps {
  const clock = { nowMs: () => nowMs, monotonicMs: () => 0, sleep: async () => {}, deadline: () => new AbortController().signal };
  const random = { base36: (length: number) => instance.repeat(length).slice(0, length), fraction: () => 0 };
  const heads = createHeads(table);
  for (const item of known) heads.offer(decodeHead(item));
  return {
    table,
    heads,
    clock,
    random,
    commitIds: createCommitIds({ clock, random }),
    telemetry: { count: () => {}, adjust: () => {}, record: () => {}, log: () => {} },
    background: { run: () => {} },
    pressure: { throttled: () => {}, queued: () => {}, committed: () => {} },
  };
}

export const NEVER_ABORTED = new AbortController().signal;

/** An open head without messages. */
export function openHead(segment: SegmentId = SEGMENT, options: HeadOptions = {}): Item {
  return { ...newHead(segment, options), state: 'open' };
}

type HeadOptions = {
  readonly lo?: number;
  readonly hi?: number;
  readonly predecessors?: readonly SegmentId[];
  readonly brokers?: readonly BrokerId[];
};

export function newHead(segment: SegmentId, { lo = 0, hi = PARTITIONS - 1, predecessors = [], brokers = [] }: HeadOptions = {}): Item {
  return encodeNewHead({ topic: TOPIC, tenant: TENANT_DEFAULT, range: { segment, lo, hi, brokers }, floor: '', predecessors });
}

/** That a broker serves a segment, as it is noted before the head says so. */
export const servedItem = (broker: BrokerId, segment: SegmentId): readonly [Key, Item] => [
  servedKey(broker, TOPIC, segment),
  encodeServed({ topic: TOPIC, segment }),
];

/** The head after a commit of one message: entries that a scope begins with. */
export function committed(head: Item, object: string, timeMs: number, lines: readonly LineChange[] = []): Item {
  return applied(
    head,
    commitUpdate({
      cid: cidOf(timeMs, 'x'),
      entry: { object: objectRef(object), runs: [{ start: 0, bytes: 1, count: 1 }], highestTimestampMs: 0 },
      count: 1,
      bytes: 1,
      buckets: bucketsOf(1),
      lines,
      victims: [],
      evictions: 0,
    }),
  );
}

/** The page that a spiller makes of this head. */
export function pageItem(head: Item): readonly [Key, Item] {
  const page = pageOf(decodeHead(head));
  if (page === undefined) throw new Error('nothing to spill');
  return [pageKey(TOPIC, SEGMENT, page.first), encodePage(page)];
}

/** The head after a spill, and the page. */
export function spilledItems(head: Item): (readonly [Key, Item])[] {
  const page = pageItem(head);
  return [headItem(applied(head, spillUpdate(decodeHead(head), decodePage(page[1])))), page];
}

/** The head after a kill: its guard is above what may have been committed lately. */
export const killed = (head: Item, timeMs: number): Item => applied(head, killUpdate(cidOf(timeMs, 'x')));

export function applied(item: Item, update: Parameters<typeof applyUpdate>[1]): Item {
  const result = applyUpdate(item, update);
  if (!result.applied) throw new Error('a scope begins with a refused update');
  return result.item;
}

export const cidOf = (timeMs: number, instance: string): CommitId => formatCommitId(timeMs, instance.repeat(8), 1);
export const objectRef = (object: string): ObjectRef => ({ minute: minuteOf(0), id: object as ObjectId });
export const bucketsOf = (count: number): number[] => Array.from({ length: LOAD_BUCKETS }, (_, index) => (index === 0 ? count : 0));
export const headItem = (head: Item, segment: SegmentId = SEGMENT): readonly [Key, Item] => [headKey(TOPIC, segment), head];

/** The topic as it is when all its changes are done. */
export function topicItem(open: readonly SegmentRange[]): Topic {
  return {
    id: TOPIC,
    name: 'topic',
    tenant: TENANT_DEFAULT,
    settings: { partitionKey: 'key', segments: open.length, replicas: 2 },
    state: 'active',
    version: 1,
    firstSegment: 0,
    nextSegment: open.length,
    open,
    changes: [],
    createdMs: 0,
  };
}
