import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSystemRandom } from '../../../src/adapters/system/random.ts';

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

describe('sleep', () => {
  const clock = createSystemClock();

  test('lasts at least as long as asked', async () => {
    const start = clock.monotonicMs();
    const { signal } = new AbortController();
    await clock.sleep(20, signal);
    expect(clock.monotonicMs() - start).toBeGreaterThanOrEqual(19);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('rejects with the reason of a signal that is aborted already', async () => {
    const reason = new Error('cancelled');
    await expect(clock.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  test('1,000 aborted waits leave no timer and no listener', async () => {
    const before = timers();
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const waits = Promise.allSettled(Array.from({ length: 1_000 }, () => clock.sleep(60_000, controller.signal)));
    expect(timers()).toBe(before + 1_000);
    controller.abort(reason);
    expect((await waits).every((wait) => wait.status === 'rejected' && wait.reason === reason)).toBe(true);
    expect(timers()).toBe(before);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  });

  test('a wait longer than a timer can hold does not end at once', async () => {
    const controller = new AbortController();
    const wait = clock.sleep(2 ** 40, controller.signal).then(
      () => 'slept',
      () => 'aborted',
    );
    await clock.sleep(5, new AbortController().signal);
    controller.abort();
    expect(await wait).toBe('aborted');
  });
});

describe('random', () => {
  const random = createSystemRandom();

  test('base36 uses all 36 digits about equally', () => {
    const text = random.base36(360_000);
    expect(text).toMatch(/^[0-9a-z]{360000}$/);
    const counts = new Map<string, number>();
    for (const digit of text) counts.set(digit, (counts.get(digit) ?? 0) + 1);
    expect(counts.size).toBe(36);
    // 10,000 expected, standard deviation 99: seven of them. Bytes taken as they come would miss by 1,250.
    for (const count of counts.values()) expect(Math.abs(count - 10_000)).toBeLessThan(700);
  });

  test('fractions lie in [0, 1)', () => {
    for (let draw = 0; draw < 1_000; draw++) {
      const fraction = random.fraction();
      expect(fraction >= 0 && fraction < 1).toBe(true);
    }
  });
});
