import { expect, test } from 'vitest';
import { createLookTimes, type LookTimes } from '../../../src/control/scaling/look-times.ts';
import type { TopicId } from '../../../src/model/ids.ts';
import { FLOOD_MARGIN_MS, NUDGE_MS, QUIET_LOOK_MS_MAX } from '../../../src/model/scaling-limits.ts';

const TICK_MS = 5_000;
const [a, b, c] = ['a', 'b', 'c'] as unknown as [TopicId, TopicId, TopicId];
const QUIET = { isQuiet: true, hasSchedule: false };
const BUSY = { isQuiet: false, hasSchedule: false };

/** Looked at as soon as it is due, with what each look finds; answers the times between the looks. */
function lookedAt(times: LookTimes, found: readonly (typeof QUIET | 'failed')[]): number[] {
  let lastMs = 0;
  return found.map((one) => {
    const { topic, dueMs } = times.next() ?? { topic: a, dueMs: Number.NaN };
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
  const dueMs = times.next()?.dueMs ?? 0;
  times.hasten(a, dueMs - 10_000);
  expect(times.next()).toEqual({ topic: a, dueMs: dueMs - 10_000 });
  times.began(a, dueMs - 10_000);
  times.hasten(a, dueMs - 9_999);
  times.ended(a, QUIET);
  expect(times.next()).toEqual({ topic: a, dueMs: dueMs - 10_000 + NUDGE_MS });
});

test('one that nobody knew is due at once when it is hastened; the one due first comes first', () => {
  const times = timesOf(a, b);
  lookedAt(times, [BUSY, QUIET]);
  times.hasten(c, 1_000);
  expect(times.next()).toEqual({ topic: c, dueMs: 1_000 });
  times.began(c, 1_000);
  expect(times.next()?.topic).toBe(a);
});

test('while it is looked at it is not due; forgotten meanwhile, it does not come back', () => {
  const times = timesOf(a);
  times.began(a, 0);
  expect(times.next()).toBeUndefined();
  times.set([], 0);
  times.ended(a, BUSY);
  expect(times.next()).toBeUndefined();
  times.set([a, b], 7);
  times.forget(a);
  expect(times.next()).toEqual({ topic: b, dueMs: 7 });
  times.clear();
  expect(times.next()).toBeUndefined();
});

test('a new one is due now, and the others when they were', () => {
  const times = timesOf(a);
  lookedAt(times, [BUSY]);
  times.set([a, b], 1_000);
  expect(times.next()).toEqual({ topic: b, dueMs: 1_000 });
  times.set([a], 1_000);
  expect(times.next()).toEqual({ topic: a, dueMs: TICK_MS });
});
