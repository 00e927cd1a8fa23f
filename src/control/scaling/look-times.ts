import type { TopicId } from '../../model/ids.ts';
import { FLOOD_MARGIN_MS, NUDGE_MS, QUIET_LOOK_MS_MAX } from '../../model/scaling-limits.ts';

/** When each topic is looked at next: at every tick while something happens in it, else ever more rarely. Times are monotonic. */
export type LookTimes = {
  /** These are all topics there are; a new one is due now. */
  set(topics: readonly TopicId[], nowMs: number): void;
  /** Due no later than NUDGE_MS after the last look. */
  hasten(topic: TopicId, nowMs: number): void;
  /** A look began at `atMs`; until it is noted, the topic is not due. */
  began(topic: TopicId, atMs: number): void;
  /** What a look has found, or that it failed. */
  ended(topic: TopicId, found: { readonly isQuiet: boolean; readonly hasSchedule: boolean } | 'failed'): void;
  forget(topic: TopicId): void;
  /** Of all: somebody else has looked meanwhile. */
  clear(): void;
  /** The topic that is due first, and when; undefined: all are being looked at. */
  next(): { readonly topic: TopicId; readonly dueMs: number } | undefined;
};

type Times = { lookedMs: number; dueMs: number; everyMs: number; isLooking: boolean };

export function createLookTimes(tickMs: number): LookTimes {
  const topics = new Map<TopicId, Times>();
  const timesOf = (topic: TopicId, nowMs: number): Times => {
    const known = topics.get(topic) ?? { lookedMs: -Infinity, dueMs: nowMs, everyMs: tickMs, isLooking: false };
    topics.set(topic, known);
    return known;
  };
  return {
    set(all, nowMs) {
      const there = new Set(all);
      for (const topic of topics.keys()) if (!there.has(topic)) topics.delete(topic);
      for (const topic of all) timesOf(topic, nowMs);
    },
    hasten(topic, nowMs) {
      const times = timesOf(topic, nowMs);
      times.everyMs = tickMs;
      times.dueMs = Math.min(times.dueMs, Math.max(nowMs, times.lookedMs + NUDGE_MS));
    },
    began(topic, atMs) {
      const times = timesOf(topic, atMs);
      times.lookedMs = atMs;
      times.dueMs = Infinity;
      times.isLooking = true;
    },
    ended(topic, found) {
      const times = topics.get(topic);
      if (times === undefined) return;
      times.everyMs = everyMs(times.everyMs, found);
      // Hastened meanwhile, it is due earlier.
      times.dueMs = Math.min(times.dueMs, times.lookedMs + times.everyMs);
      times.isLooking = false;
    },
    forget: (topic) => void topics.delete(topic),
    clear: () => topics.clear(),
    next() {
      let first: { topic: TopicId; dueMs: number } | undefined;
      for (const [topic, { dueMs, isLooking }] of topics) {
        if (!isLooking && dueMs < (first?.dueMs ?? Infinity)) first = { topic, dueMs };
      }
      return first;
    },
  };

  function everyMs(before: number, found: { readonly isQuiet: boolean; readonly hasSchedule: boolean } | 'failed'): number {
    if (found !== 'failed' && !found.isQuiet) return tickMs;
    // An expected flood is to be noticed before its segments have to be there.
    const longestMs = found !== 'failed' && found.hasSchedule ? FLOOD_MARGIN_MS / 2 : QUIET_LOOK_MS_MAX;
    return Math.max(tickMs, Math.min(2 * before, longestMs));
  }
}
