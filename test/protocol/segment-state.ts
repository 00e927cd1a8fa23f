import { applyUpdate } from '../../src/adapters/memory/interpreter.ts';
import { encodeNewHead } from '../../src/format/head-item.ts';
import { type Entry, entryCount, type Head, type Page } from '../../src/model/head.ts';
import { type CommitId, type Minute, type ObjectId, segmentId, type TopicId } from '../../src/model/ids.ts';
import { LOAD_BUCKETS, PARTITIONS } from '../../src/model/limits.ts';
import type { Item, Update } from '../../src/ports/metadata-table.ts';
import type { Commit } from '../../src/protocol/commit.ts';
import { openUpdate } from '../../src/protocol/segment-life.ts';

// Heads made by the protocol's own updates on the table's own meaning, for tests that need one in a certain state.

export const TOPIC = 't000000000000001' as TopicId;
export const SEGMENT = segmentId(0);
/** When heads of these tests were opened. */
export const OPENED_MS = 5_000_000;
export const MINUTE = '00000100' as Minute;

/** `5a` is minted at millisecond 5 by instance a. */
export function cid(name: string): CommitId {
  const time = Number.parseInt(name, 10);
  return (time.toString(36).padStart(9, '0') + name.replace(/^\d+/, '').padStart(8, '0') + '00001') as CommitId;
}

export function newHead(floor: Minute | '' = ''): Item {
  const range = { segment: SEGMENT, lo: 0, hi: PARTITIONS - 1 };
  return { ...encodeNewHead({ topic: TOPIC, tenant: 'main', range, floor, predecessors: [] }), pk: 'h', sk: 'head' };
}

export function openHead(floor: Minute | '' = ''): Item {
  return applied(newHead(floor), openUpdate(OPENED_MS));
}

/** The item after an update that must apply. */
export function applied(item: Item, update: Update): Item {
  const result = applyUpdate(item, update);
  if (!result.applied) throw new Error(`refused: ${JSON.stringify(update.condition)}`);
  return result.item;
}

export const isApplied = (item: Item, update: Update): boolean => applyUpdate(item, update).applied;

/** A plain commit of `count` messages of 10 bytes. */
export function commitOf(id: CommitId, count = 1, more: Partial<Commit> = {}): Commit {
  return {
    cid: id,
    entry: { object: objectOf(id), runs: [{ start: 36, bytes: 10 * count, count }], highestTimestampMs: 1_000 },
    count,
    bytes: 10 * count,
    buckets: Array.from({ length: LOAD_BUCKETS }, (_, bucket) => (bucket === 0 ? count : 0)),
    lines: [],
    victims: [],
    evictions: 0,
    ...more,
  };
}

export const objectOf = (id: CommitId) => ({ minute: MINUTE, id: `o${id.slice(0, 15)}` as ObjectId });

/** All entries of a segment, pages first; throws where they leave a hole. */
export function indexOf(head: Head, pages: readonly Page[]): Entry[] {
  const entries = [...pages.filter((page) => page.first < head.spilled).flatMap((page) => page.entries), ...head.entries];
  let next = 0;
  for (const entry of entries) {
    if (entry.offset !== next) throw new Error(`an entry at ${entry.offset} where ${next} comes next`);
    next += entryCount(entry);
  }
  if (next !== head.tail) throw new Error(`the index ends at ${next}, the tail is ${head.tail}`);
  return entries;
}
