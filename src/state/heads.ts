import { decodeHead } from '../format/head-item.ts';
import { headKey } from '../format/item-key.ts';
import type { Head } from '../model/head.ts';
import type { SegmentId, TopicId } from '../model/ids.ts';
import { HEADS_KNOWN_MAX } from '../model/limits.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';

/**
 * The heads that this instance has seen lately, newest state of each. A known head may be old, never wrong: tails, spills
 * and seals only go forward. Publishes offer what their commits returned, which is what wakes waiting readers at once.
 */
export type Heads = {
  /** A strong read; undefined if the segment has no head. Never older than what this instance has seen. */
  read(topic: TopicId, segment: SegmentId, signal: AbortSignal): Promise<Head | undefined>;
  /** The newest state seen, if any, without a read. */
  known(topic: TopicId, segment: SegmentId): Head | undefined;
  /** Takes a state that a write returned. */
  offer(head: Head): void;
  /** Calls `listener` on each newer state until the returned function is called. */
  subscribe(topic: TopicId, segment: SegmentId, listener: (head: Head) => void): () => void;
};

export function createHeads(table: MetadataTable): Heads {
  const heads = new Map<string, Head>();
  const listeners = new Map<string, Set<(head: Head) => void>>();
  const offer = (head: Head): void => {
    const key = nameOf(head.topic, head.segment);
    const before = heads.get(key);
    if (before !== undefined && !isNewer(head, before)) return;
    remember(heads, key, head);
    for (const listener of listeners.get(key) ?? []) listener(head);
  };
  return {
    known: (topic, segment) => heads.get(nameOf(topic, segment)),
    offer,
    async read(topic, segment, signal) {
      const item = await table.get(headKey(topic, segment), signal);
      if (item === undefined) return undefined;
      const head = decodeHead(item);
      offer(head);
      // A read that was not strong after all would let the tail go back, and hide a commit of our own.
      const seen = heads.get(nameOf(topic, segment));
      return seen !== undefined && isNewer(seen, head) ? seen : head;
    },
    subscribe(topic, segment, listener) {
      const key = nameOf(topic, segment);
      const set = listeners.get(key) ?? new Set();
      listeners.set(key, set.add(listener));
      return () => {
        set.delete(listener);
        if (set.size === 0 && listeners.get(key) === set) listeners.delete(key);
      };
    },
  };
}

const nameOf = (topic: TopicId, segment: SegmentId): string => `${topic}/${segment}`;

const STATE_ORDER = { pending: 0, open: 1, sealed: 2 } as const;

/** Answers of concurrent writes arrive in any order; each of these only ever grows. */
function isNewer(head: Head, before: Head): boolean {
  const parts = [
    head.tail - before.tail,
    head.spilled - before.spilled,
    STATE_ORDER[head.state] - STATE_ORDER[before.state],
    head.evictions - before.evictions,
    head.brokers.length - before.brokers.length,
    compare(head.guard, before.guard),
    compare(head.floor, before.floor),
  ];
  return parts.every((part) => part >= 0) && parts.some((part) => part > 0);
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Keeps the map bounded: the one that was written longest ago goes. */
function remember(heads: Map<string, Head>, key: string, head: Head): void {
  heads.delete(key);
  heads.set(key, head);
  if (heads.size <= HEADS_KNOWN_MAX) return;
  const oldest = heads.keys().next();
  if (oldest.done !== true) heads.delete(oldest.value);
}
