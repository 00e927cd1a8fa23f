import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { within } from '../../src/state/within.ts';
import { createVirtualClock, settle } from '../simulation/virtual-clock.ts';

const silent = (): Promise<never> => new Promise(() => undefined);

test('work that ends in time gives its result, and leaves no timer and no listener', async () => {
  const clock = createVirtualClock();
  const { signal } = new AbortController();
  expect(await clock.run(within(clock, { ms: 100 }, async () => 7, signal))).toBe(7);
  await expect(within(clock, { ms: 100 }, () => Promise.reject(new Error('its own')), signal)).rejects.toThrow('its own');
  await settle();
  expect([clock.sleeping(), getEventListeners(signal, 'abort').length, clock.monotonicMs()]).toEqual([0, 0, 0]);
});

test('the bound ends the wait, though the work looks at no signal, and tells the work', async () => {
  const clock = createVirtualClock();
  const { signal } = new AbortController();
  let own: AbortSignal | undefined;
  const bounded = within(
    clock,
    { ms: 100 },
    (given) => {
      own = given;
      return silent();
    },
    signal,
  );
  await expect(clock.run(bounded)).rejects.toMatchObject({ name: 'TimeoutError' });
  expect([clock.monotonicMs(), own?.aborted, getEventListeners(signal, 'abort').length]).toEqual([100, true, 0]);
  await expect(clock.run(within(clock, { ms: 5, reason: () => new Error('so') }, silent, signal))).rejects.toThrow('so');
});

test('the caller’s end comes with its own reason; aborted beforehand, nothing begins', async () => {
  const clock = createVirtualClock();
  const caller = new AbortController();
  const reason = new Error('gone');
  const waited = within(clock, { ms: 100 }, silent, caller.signal);
  caller.abort(reason);
  await expect(waited).rejects.toBe(reason);
  let begun = 0;
  const late = within(clock, { ms: 100 }, async () => (begun += 1), caller.signal);
  await expect(late).rejects.toBe(reason);
  await settle();
  expect([begun, clock.sleeping()]).toEqual([0, 0]);
});
