import { expect, test } from 'vitest';
import { createLookTimes, type LookTimes } from '../../../src/control/scaling/look-times.ts';
import type { TopicId } from '../../../src/model/ids.ts';
import { FLOOD_MARGIN_MS, LOOKS_PER_SECOND_MAX, NUDGE_MS, QUIET_LOOK_MS_MAX } from '../../../src/model/scaling-limits.ts';

const TICK_MS = 5_000;
const [a, b, c] = ['a', 'b', 'c'] as unknown as [TopicId, TopicId, TopicId];
const QUIET = { isQuiet: true, hasSchedule: false };
const BUSY = { isQuiet: false, hasSchedule: false };

/** Looked at as soon as it is due, with what each look finds; answers the times between the looks. */
function lookedAt(times: LookTimes, found: readonly (typeof QUIET | 'failed')[]): number[] {
  let lastMs = 0;
  return found.map((one) => {
    const { topic, dueMs } = times.next(lastMs) ?? { topic: a, dueMs: Number.NaN };
    times.began(topic, dueMs);
    times.ended(topic, one);
    const afterMs = dueMs - lastMs;
    lastMs = dueMs;
    return afterMs;
  });
}

function timesOf(...topics: TopicId[]): LookTimes {
  const times = createLookTimes(TICK_MS);
  times.set(topics, 0);
  return times;
}

test('at every tick while something happens; else ever more rarely, but not for ever', () => {
  expect(lookedAt(timesOf(a), [BUSY, BUSY, QUIET, QUIET, QUIET, QUIET, QUIET, BUSY, BUSY])).toEqual([
    0, 5_000, 5_000, 10_000, 20_000, 40_000, 80_000, 120_000, 5_000,
  ]);
  expect(QUIET_LOOK_MS_MAX).toBe(120_000);
});

test('what fails is tried ever more rarely, too', () => {
  expect(lookedAt(timesOf(a), ['failed', 'failed', 'failed', BUSY, BUSY])).toEqual([0, 10_000, 20_000, 40_000, 5_000]);
});

test('one that expects a flood is looked at before its segments have to be there', () => {
  const waits = lookedAt(
    timesOf(a),
    Array.from({ length: 9 }, () => ({ isQuiet: true, hasSchedule: true })),
  );
  expect(Math.max(...waits)).toBeLessThanOrEqual(FLOOD_MARGIN_MS / 2);
});

test('a tick that is longer than that stays as it is', () => {
  const times = createLookTimes(120_000);
  times.set([a], 0);
  expect(lookedAt(times, [QUIET, QUIET, QUIET])).toEqual([0, 120_000, 120_000]);
});

test('hastened, it is due now, but not sooner after its last look than it may be', () => {
  const times = timesOf(a);
  lookedAt(times, [QUIET, QUIET, QUIET]);
  const dueMs = times.next(0)?.dueMs ?? 0;
  times.hasten(a, dueMs - 10_000);
  expect(times.next(0)).toEqual({ topic: a, dueMs: dueMs - 10_000 });
  times.began(a, dueMs - 10_000);
  times.hasten(a, dueMs - 9_999);
  times.ended(a, QUIET);
  expect(times.next(0)).toEqual({ topic: a, dueMs: dueMs - 10_000 + NUDGE_MS });
});

test('one that nobody knew is due at once when it is hastened; the one due first comes first', () => {
  const times = timesOf(a, b);
  lookedAt(times, [BUSY, QUIET]);
  times.hasten(c, 1_000);
  expect(times.next(0)).toEqual({ topic: c, dueMs: 1_000 });
  times.began(c, 1_000);
  expect(times.next(0)?.topic).toBe(a);
});

test('while it is looked at it is not due; forgotten meanwhile, it does not come back', () => {
  const times = timesOf(a);
  times.began(a, 0);
  expect(times.next(0)).toBeUndefined();
  times.set([], 0);
  times.ended(a, BUSY);
  expect(times.next(0)).toBeUndefined();
  times.set([a, b], 7);
  expect(times.knows(a)).toBe(true);
  times.forget(a);
  expect(times.knows(a)).toBe(false);
  expect(times.next(0)).toEqual({ topic: b, dueMs: 7 });
  times.clear();
  expect(times.next(0)).toBeUndefined();
});

/** Looked at as fast as may be, `perSecond`, with the same found each time; answers how often each was. */
function looks(times: LookTimes, { seconds, found }: { seconds: number; found: (topic: TopicId) => typeof QUIET }): Map<TopicId, number> {
  const count = new Map<TopicId, number>();
  for (let nowMs = 0; nowMs < seconds * 1_000; nowMs += 1_000 / LOOKS_PER_SECOND_MAX) {
    const next = times.next(nowMs);
    if (next === undefined || next.dueMs > nowMs) continue;
    times.began(next.topic, nowMs);
    times.ended(next.topic, found(next.topic));
    count.set(next.topic, (count.get(next.topic) ?? 0) + 1);
  }
  return count;
}

const many = (count: number, name: string): TopicId[] => Array.from({ length: count }, (_, n) => `${name}${n}` as TopicId);
const sumOf = (count: Map<TopicId, number>, topics: readonly TopicId[]): number =>
  topics.reduce((sum, topic) => sum + (count.get(topic) ?? 0), 0);

test('of all that are overdue, hastened ones come first, then used ones: however long quiet ones are overdue', () => {
  const [quiet, used, one] = [many(9_000, 'q'), many(50, 'u'), 'h' as TopicId];
  const times = timesOf(...quiet, ...used, one);
  const found = (topic: TopicId): typeof QUIET => (topic.startsWith('u') ? BUSY : QUIET);
  // Each once, so that it is known which are used.
  for (const topic of [...used, ...quiet, one]) {
    times.began(topic, -QUIET_LOOK_MS_MAX);
    times.ended(topic, found(topic));
  }
  times.hasten(one, 0);
  const first = looks(times, { seconds: 0.06, found });
  expect(first.get(one)).toBe(1);
  const count = looks(times, { seconds: 60, found });
  // At each tick, and the quiet ones have all of the rest.
  expect(sumOf(count, used)).toBeGreaterThanOrEqual((50 * 60_000) / TICK_MS - 50);
  expect(sumOf(count, quiet)).toBeGreaterThan(2_000);
});

test('where more are hastened and used than can be looked at, each kind still has its part', () => {
  const [quiet, used, hastened] = [many(1_000, 'q'), many(1_000, 'u'), many(1_000, 'h')];
  const times = timesOf(...quiet, ...used, ...hastened);
  for (const topic of used) {
    times.began(topic, -TICK_MS);
    times.ended(topic, BUSY);
  }
  const count = looks(times, {
    seconds: 20,
    found(topic) {
      for (const one of hastened) times.hasten(one, 0);
      return topic.startsWith('u') ? BUSY : QUIET;
    },
  });
  expect([hastened, used, quiet].map((topics) => sumOf(count, topics))).toEqual([500, 250, 250].map((part) => expect.closeTo(part, -2)));
});

test('of a new term, quiet topics are not due again before all of them have been looked at', () => {
  const all = many(2_000, 'q');
  const times = timesOf(...all);
  const count = looks(times, { seconds: 40, found: () => QUIET });
  expect(count.size).toBeGreaterThanOrEqual(1_990);
  // One that comes later is not one of many.
  times.set([...all, a], 0);
  expect(times.next(1e9)?.topic).toBe(a);
  times.clear();
  times.set([b, a], 0);
  times.began(b, 0);
  times.ended(b, BUSY);
  expect(times.next(TICK_MS)?.topic).toBe(b);
});

test('one that expects a flood is looked at in time, however many quiet ones are overdue', () => {
  const times = timesOf(...many(4_000, 'q'), a);
  times.began(a, 0);
  times.ended(a, { isQuiet: true, hasSchedule: true });
  const count = looks(times, { seconds: 65, found: (topic) => ({ isQuiet: true, hasSchedule: topic === a }) });
  expect(count.get(a)).toBe(2);
});

test('a new one is due now, and the others when they were', () => {
  const times = timesOf(a);
  lookedAt(times, [BUSY]);
  times.set([a, b], 1_000);
  expect(times.next(0)).toEqual({ topic: b, dueMs: 1_000 });
  times.set([a], 1_000);
  expect(times.next(0)).toEqual({ topic: a, dueMs: TICK_MS });
});
