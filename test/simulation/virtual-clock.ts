import type { Clock } from '../../src/ports/clock.ts';

/** Time that passes only when it is told to. What waits wakes in order of time, so a test runs the same way each time. */
export type VirtualClock = Clock & {
  /** Passes `ms`, and wakes on the way whatever is due, each with all that follows from it. */
  advance(ms: number): Promise<void>;
  /** Passes time whenever nothing else can go on, until `work` has settled. Rejects if nothing is left that could wake it. */
  run<T>(work: Promise<T>): Promise<T>;
  /** The same time, but a wall clock that is off by `skew.ms`, which may change on the way. */
  skewed(skew: { readonly ms: number }): Clock;
  /** How many sleep now. */
  sleeping(): number;
};

type Timer = { readonly atMs: number; readonly wake: () => void };

const START_MS = 1_800_000_000_000;

export function createVirtualClock(startMs: number = START_MS): VirtualClock {
  const timers: Timer[] = [];
  let elapsedMs = 0;
  let sleeping = 0;

  const add = (ms: number, wake: () => void): Timer => {
    const timer = { atMs: elapsedMs + ms, wake };
    timers.splice(timers.findLastIndex((other) => other.atMs <= timer.atMs) + 1, 0, timer);
    return timer;
  };
  const remove = (timer: Timer): void => {
    const index = timers.indexOf(timer);
    if (index !== -1) timers.splice(index, 1);
  };
  const wakeNext = (): boolean => {
    const timer = timers.shift();
    if (timer === undefined) return false;
    elapsedMs = Math.max(elapsedMs, timer.atMs);
    timer.wake();
    return true;
  };

  function sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const end = (): void => {
        sleeping -= 1;
        signal.removeEventListener('abort', onAbort);
        remove(timer);
      };
      const onAbort = (): void => {
        end();
        reject(signal.reason);
      };
      sleeping += 1;
      const timer = add(ms, () => {
        end();
        resolve();
      });
      signal.addEventListener('abort', onAbort);
    });
  }

  function deadline(ms: number): AbortSignal {
    const controller = new AbortController();
    add(ms, () => controller.abort(new DOMException('the time is over', 'TimeoutError')));
    return controller.signal;
  }

  const clock: VirtualClock = {
    nowMs: () => startMs + Math.floor(elapsedMs),
    monotonicMs: () => elapsedMs,
    sleep,
    deadline,
    sleeping: () => sleeping,
    skewed: (skew) => ({ nowMs: () => clock.nowMs() + skew.ms, monotonicMs: clock.monotonicMs, sleep, deadline }),
    async advance(ms) {
      const endMs = elapsedMs + ms;
      await settle();
      while (timers[0] !== undefined && timers[0].atMs <= endMs) {
        wakeNext();
        await settle();
      }
      elapsedMs = endMs;
    },
    async run(work) {
      let settled = false;
      const note = (): void => void (settled = true);
      work.then(note, note);
      for (;;) {
        await settle();
        if (settled) return work;
        if (!wakeNext()) throw new Error('it waits for something that never comes');
      }
    },
  };
  return clock;
}

/** Resolves once every promise that can go on by itself has. */
export function settle(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
