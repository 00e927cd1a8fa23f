import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { KelpError } from '../../src/model/errors.ts';
import { BACKOFF_MS_MAX, BACKOFF_MS_MIN, THROTTLED_WRITE_ATTEMPTS_MAX, WRITE_ATTEMPTS_MAX } from '../../src/model/limits.ts';
import type { WriteResult } from '../../src/ports/metadata-table.ts';
import { askAgain, askThroughThrottling, isTransient } from '../../src/state/ask-again.ts';
import { backoff } from '../../src/state/retry.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { createVirtualClock, settle, type VirtualClock } from '../simulation/virtual-clock.ts';
import { conflicted, throttled, unanswered, unavailable } from '../simulation/world-faults.ts';

const done: WriteResult = { applied: true, item: {} };

/** Answers with these errors, then `done`; counts its calls. */
function failing(errors: readonly Error[]): { (): Promise<WriteResult>; calls: number } {
  const write = async (): Promise<WriteResult> => {
    const error = errors[write.calls];
    write.calls += 1;
    if (error !== undefined) throw error;
    return done;
  };
  write.calls = 0;
  return write;
}

const depsOf = (clock: VirtualClock) => ({ clock, random: createSeededRandom(1) });

describe('a write is asked again', () => {
  test('after each transient failure: three of them, then success, are four calls', async () => {
    const clock = createVirtualClock();
    const write = failing([throttled(), conflicted(), unanswered()]);
    expect(await clock.run(askAgain(depsOf(clock), write, new AbortController().signal))).toBe(done);
    expect(write.calls).toBe(4);
  });

  test('not after a failure that another try would not change', async () => {
    const clock = createVirtualClock();
    for (const error of [
      new KelpError('invalid', 'table-refused', 'x'),
      new KelpError('corrupt', 'corrupt', 'x'),
      new Error('throttled'),
    ]) {
      const write = failing([error]);
      await expect(clock.run(askAgain(depsOf(clock), write, new AbortController().signal))).rejects.toBe(error);
      expect(write.calls).toBe(1);
    }
  });

  test('no more often than its limit', async () => {
    const clock = createVirtualClock();
    const write = failing(Array.from({ length: 100 }, throttled));
    await expect(clock.run(askAgain(depsOf(clock), write, new AbortController().signal))).rejects.toMatchObject({
      code: 'table-throttled',
    });
    expect(write.calls).toBe(WRITE_ATTEMPTS_MAX);
  });

  test('within its time: a permanent failure ends by the deadline, with the deadline’s own reason or its last error', async () => {
    const clock = createVirtualClock();
    const write = failing(Array.from({ length: 100 }, unavailable));
    await expect(clock.run(askAgain(depsOf(clock), write, clock.deadline(2_000)))).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(clock.monotonicMs()).toBe(2_000);
    expect(write.calls).toBeGreaterThan(1);
  });
});

describe('an abort', () => {
  test('during the backoff ends it at once, with its own reason, and nothing is sent after it', async () => {
    const clock = createVirtualClock();
    const controller = new AbortController();
    const write = failing(Array.from({ length: 100 }, throttled));
    const work = askAgain(depsOf(clock), write, controller.signal);
    await settle();
    const reason = new Error('the caller has gone');
    controller.abort(reason);
    await expect(work).rejects.toBe(reason);
    await clock.advance(60_000);
    expect(write.calls).toBe(1);
  });

  test('is not retried though its reason looks transient', async () => {
    const clock = createVirtualClock();
    const controller = new AbortController();
    const reason = new KelpError('unavailable', 'timeout', 'the time is over');
    const write = async (): Promise<WriteResult> => {
      controller.abort(reason);
      throw reason;
    };
    await expect(clock.run(askAgain(depsOf(clock), write, controller.signal))).rejects.toBe(reason);
  });

  test('leaves no timer and no listener behind, a thousand times', async () => {
    const clock = createVirtualClock();
    const all = new AbortController();
    for (let n = 0; n < 1_000; n += 1) {
      const own = new AbortController();
      const work = askAgain(depsOf(clock), failing([throttled(), throttled()]), AbortSignal.any([all.signal, own.signal]));
      await settle();
      own.abort();
      await expect(work).rejects.toBeInstanceOf(DOMException);
    }
    expect(clock.sleeping()).toBe(0);
    expect(getEventListeners(all.signal, 'abort')).toHaveLength(0);
  });
});

test('backoff doubles from 50 ms to 6 s, with full jitter', async () => {
  const random = createSeededRandom(3);
  for (const attempt of [1, 2, 3, 8, 20]) {
    const capMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (attempt - 1));
    const slept: number[] = [];
    for (let n = 0; n < 200; n += 1) {
      const clock = createVirtualClock();
      await clock.run(backoff({ clock, random }, attempt, new AbortController().signal));
      slept.push(clock.monotonicMs());
    }
    expect(Math.max(...slept)).toBeLessThanOrEqual(capMs);
    expect(Math.max(...slept)).toBeGreaterThan(capMs * 0.9);
    expect(Math.min(...slept)).toBeLessThan(capMs * 0.1);
  }
});

test('what may be asked again is told by its kind', () => {
  expect([throttled(), conflicted(), unavailable(), unanswered()].map(isTransient)).toEqual([true, true, true, true]);
  expect([new KelpError('invalid', 'throttled', 'x'), new Error('throttled'), undefined].map(isTransient)).toEqual([false, false, false]);
});

describe('a write that relieves what the table throttles', () => {
  const { signal } = new AbortController();
  const many = (count: number, error: () => Error): Error[] => Array.from({ length: count }, error);

  test('is asked again soon each time, and in the end not any more', async () => {
    const clock = createVirtualClock();
    const write = failing(many(100, throttled));
    expect(await clock.run(askThroughThrottling(depsOf(clock), write, signal))).toBe(done);
    expect(clock.monotonicMs()).toBeLessThan(100 * BACKOFF_MS_MIN);
    const never = failing(many(THROTTLED_WRITE_ATTEMPTS_MAX + 1, throttled));
    await expect(clock.run(askThroughThrottling(depsOf(clock), never, signal))).rejects.toMatchObject({ kind: 'throttled' });
    expect(never.calls).toBe(THROTTLED_WRITE_ATTEMPTS_MAX);
  });

  test('waits as any other one does for a table that does not answer', async () => {
    const clock = createVirtualClock();
    const write = failing(many(WRITE_ATTEMPTS_MAX, unavailable));
    await expect(clock.run(askThroughThrottling(depsOf(clock), write, signal))).rejects.toMatchObject({ kind: 'unavailable' });
    expect(write.calls).toBe(WRITE_ATTEMPTS_MAX);
    expect(clock.monotonicMs()).toBeGreaterThan(BACKOFF_MS_MAX);
  });
});
