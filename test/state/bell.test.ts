import { expect, test } from 'vitest';
import { createBell } from '../../src/state/bell.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';

const { signal } = new AbortController();

test('it wakes who waits, at once; else the time does', async () => {
  const clock = createVirtualClock();
  const bell = createBell(clock);
  const waited = bell.wait(1_000, signal);
  bell.ring();
  await waited;
  expect(clock.monotonicMs()).toBe(0);
  await clock.run(bell.wait(1_000, signal));
  expect(clock.monotonicMs()).toBe(1_000);
});

test('what rang while nobody waited ends the next wait, and only that one', async () => {
  const clock = createVirtualClock();
  const bell = createBell(clock);
  bell.ring();
  bell.ring();
  await clock.run(bell.wait(1_000, signal));
  expect(clock.monotonicMs()).toBe(0);
  await clock.run(bell.wait(1_000, signal));
  expect(clock.monotonicMs()).toBe(1_000);
});

test('it ends with the signal, without an error, and leaves no sleeper behind', async () => {
  const clock = createVirtualClock();
  const bell = createBell(clock);
  const ends = new AbortController();
  const waited = bell.wait(1_000, ends.signal);
  ends.abort(new Error('over'));
  await waited;
  await bell.wait(1_000, ends.signal);
  expect([clock.monotonicMs(), clock.sleeping()]).toEqual([0, 0]);
});
