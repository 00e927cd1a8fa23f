import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { withGrace } from '../../src/state/with-grace.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';

const GRACE_MS = 50;
const REASON = new Error('its time is over');

/** Work that takes so long, for a caller who leaves after a second. */
function started(workMs: number) {
  const clock = createVirtualClock();
  const caller = new AbortController();
  let endedMs = -1;
  const result = withGrace(clock, GRACE_MS, (signal) => clock.sleep(workMs, signal), caller.signal)
    .then(() => 'done')
    .catch((error: unknown) => error)
    .finally(() => (endedMs = clock.monotonicMs()));
  const leave = async (): Promise<void> => {
    await clock.advance(1_000);
    caller.abort(REASON);
    await clock.advance(1_000);
  };
  return { clock, caller, result, leave, endedMs: () => endedMs };
}

test('work that ends within the grace is done', async () => {
  const { clock, result, leave, endedMs, caller } = started(1_000 + GRACE_MS - 1);
  await leave();
  expect([await result, endedMs()]).toEqual(['done', 1_000 + GRACE_MS - 1]);
  expect([getEventListeners(caller.signal, 'abort'), clock.sleeping()]).toEqual([[], 0]);
});

test('longer work ends with it, for its caller’s reason', async () => {
  const { result, leave, endedMs } = started(5_000);
  await leave();
  expect([await result, endedMs()]).toEqual([REASON, 1_000 + GRACE_MS]);
});

test('work that ends before its caller leaves neither timer nor listener', async () => {
  const { clock, result, caller } = started(10);
  await clock.advance(10);
  expect([await result, getEventListeners(caller.signal, 'abort'), clock.sleeping()]).toEqual(['done', [], 0]);
});

test('nothing is begun for a caller who has left', async () => {
  let begun = false;
  const work = async (): Promise<void> => void (begun = true);
  await expect(withGrace(createVirtualClock(), GRACE_MS, work, AbortSignal.abort(REASON))).rejects.toBe(REASON);
  expect(begun).toBe(false);
});
