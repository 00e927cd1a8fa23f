import type { TopicId } from '../../model/ids.ts';
import { FLOOD_MARGIN_MS, LOOKS_PER_SECOND_MAX, NUDGE_MS, QUIET_LOOK_MS_MAX } from '../../model/scaling-limits.ts';

/** When each topic is looked at next: at every tick while something happens in it, else ever more rarely. Times are monotonic. */
export type LookTimes = {
  /** These are all topics there are; a new one is due now. */
  set(topics: readonly TopicId[], nowMs: number): void;
  /** Whether anybody has listed or hastened it, and no look has found that it is gone. */
  knows(topic: TopicId): boolean;
  /** Due no later than NUDGE_MS after the last look. */
  hasten(topic: TopicId, nowMs: number): void;
  /** A look began at `atMs`; until it is noted, the topic is not due. */
  began(topic: TopicId, atMs: number): void;
  /** What a look has found, or that it failed. */
  ended(topic: TopicId, found: Found): void;
  forget(topic: TopicId): void;
  /** Of all: somebody else has looked meanwhile. */
  clear(): void;
  /**
   * Of those that are due, the one whose turn it is; where none is, the one that is due first, and when. Undefined: all are being
   * looked at. Where more are due than can be looked at, half of the looks are for hastened topics, a quarter for used ones, and a
   * quarter for quiet ones; what one kind leaves is for the others, in this order.
   */
  next(nowMs: number): { readonly topic: TopicId; readonly dueMs: number } | undefined;
};

type Found = { readonly isQuiet: boolean; readonly hasSchedule: boolean } | 'failed';
type Kind = 'hastened' | 'used' | 'quiet';
type Times = { lookedMs: number; dueMs: number; everyMs: number; isLooking: boolean; kind: Kind };
type Due = { readonly topic: TopicId; readonly dueMs: number };

/** Which kind comes first, look by look. */
const TURNS: readonly Kind[] = ['hastened', 'used', 'hastened', 'quiet'];
const KINDS: readonly Kind[] = ['hastened', 'used', 'quiet'];

export function createLookTimes(tickMs: number): LookTimes {
  const topics = new Map<TopicId, Times>();
  let hasListed = false;
  let turn = 0;
  const timesOf = (topic: TopicId, nowMs: number, kind: Kind): Times => {
    const known = topics.get(topic) ?? { lookedMs: -Infinity, dueMs: nowMs, everyMs: tickMs, isLooking: false, kind };
    topics.set(topic, known);
    return known;
  };
  return {
    set(all, nowMs) {
      const there = new Set(all);
      for (const topic of topics.keys()) if (!there.has(topic)) topics.delete(topic);
      // Of those that a new leader finds most are quiet; one that comes later is there to be used.
      for (const topic of all) timesOf(topic, nowMs, hasListed ? 'used' : 'quiet');
      hasListed = true;
    },
    knows: (topic) => topics.has(topic),
    hasten(topic, nowMs) {
      const times = timesOf(topic, nowMs, 'hastened');
      times.kind = 'hastened';
      times.everyMs = tickMs;
      times.dueMs = Math.min(times.dueMs, Math.max(nowMs, times.lookedMs + NUDGE_MS));
    },
    began(topic, atMs) {
      const times = timesOf(topic, atMs, 'used');
      if (!times.isLooking) turn += 1;
      times.lookedMs = atMs;
      times.dueMs = Infinity;
      times.isLooking = true;
      times.kind = 'used';
    },
    ended(topic, found) {
      const times = topics.get(topic);
      if (times === undefined) return;
      times.everyMs = everyMs(times.everyMs, found, { tickMs, topics: topics.size });
      // Hastened meanwhile, it is due earlier.
      times.dueMs = Math.min(times.dueMs, times.lookedMs + times.everyMs);
      times.isLooking = false;
      // An expected flood waits for nobody.
      const isQuiet = found === 'failed' || (found.isQuiet && !found.hasSchedule);
      if (times.kind !== 'hastened') times.kind = isQuiet ? 'quiet' : 'used';
    },
    forget: (topic) => void topics.delete(topic),
    clear() {
      topics.clear();
      hasListed = false;
    },
    next(nowMs) {
      const first = firstOfEach(topics);
      const isDue = (kind: Kind): boolean => (first[kind]?.dueMs ?? Infinity) <= nowMs;
      const kind = [TURNS[turn % TURNS.length] ?? 'hastened', ...KINDS].find(isDue);
      if (kind !== undefined) return first[kind];
      return KINDS.flatMap((one) => first[one] ?? []).toSorted((a, b) => a.dueMs - b.dueMs)[0];
    },
  };
}

function firstOfEach(topics: ReadonlyMap<TopicId, Times>): { readonly [kind in Kind]?: Due } {
  const first: { [kind in Kind]?: Due } = {};
  for (const [topic, { dueMs, isLooking, kind }] of topics) {
    if (!isLooking && dueMs < (first[kind]?.dueMs ?? Infinity)) first[kind] = { topic, dueMs };
  }
  return first;
}

function everyMs(beforeMs: number, found: Found, { tickMs, topics }: { readonly tickMs: number; readonly topics: number }): number {
  if (found !== 'failed' && !found.isQuiet) return tickMs;
  // An expected flood is to be noticed before its segments have to be there.
  const longestMs = found !== 'failed' && found.hasSchedule ? FLOOD_MARGIN_MS / 2 : QUIET_LOOK_MS_MAX;
  // More often than all of them can be looked at, quiet ones would only be overdue.
  const roundMs = (topics * 1_000) / LOOKS_PER_SECOND_MAX;
  return Math.max(tickMs, Math.min(Math.max(2 * beforeMs, roundMs), longestMs));
}
