import type { Clock } from '../../ports/clock.ts';

/** The longest wait that one timer can hold; a longer one would fire at once. */
const TIMER_MS_MAX = 2_147_483_647;

export function createSystemClock(): Clock {
  return {
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    sleep,
    deadline: (ms) => AbortSignal.timeout(Math.min(Math.ceil(ms), TIMER_MS_MAX)),
  };
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(
      () => {
        // A signal outlives many waits: a listener left on it would be a leak.
        signal.removeEventListener('abort', onAbort);
        resolve();
      },
      Math.min(ms, TIMER_MS_MAX),
    );
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
