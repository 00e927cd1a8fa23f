import type { Clock } from '../../src/ports/clock.ts';

export type ManualClock = Clock & {
  /** Lets time pass, waking sleepers in the order of their times, and lets what they wake run before time goes on. */
  advance(ms: number): Promise<void>;
  /** Sleeps under way. */
  sleeping(): number;
};

/** Time that passes only when a test says so. */
export function createManualClock(startMs = 1_700_000_000_000): ManualClock {
  let nowMs = startMs;
  const sleepers = new Set<{ readonly atMs: number; readonly wake: () => void }>();
  return {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleeping: () => sleepers.size,
    deadline: () => {
      throw new Error('reading makes no deadlines of its own');
    },
    sleep(ms, signal) {
      return new Promise<void>((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason);
          return;
        }
        const onAbort = (): void => {
          sleepers.delete(sleeper);
          reject(signal.reason);
        };
        const sleeper = {
          atMs: nowMs + ms,
          wake: () => {
            sleepers.delete(sleeper);
            signal.removeEventListener('abort', onAbort);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal.addEventListener('abort', onAbort, { once: true });
      });
    },
    async advance(ms) {
      const endMs = nowMs + ms;
      await settled();
      for (;;) {
        const due = [...sleepers].filter((sleeper) => sleeper.atMs <= endMs).toSorted((a, b) => a.atMs - b.atMs)[0];
        if (due === undefined) break;
        nowMs = Math.max(nowMs, due.atMs);
        due.wake();
        await settled();
      }
      nowMs = endMs;
      await settled();
    },
  };
}

/** The same, with deadlines that end by this time. */
export function createDeadlineClock(): ManualClock {
  const time = createManualClock();
  const forEver = new AbortController().signal;
  return {
    ...time,
    deadline(ms) {
      const ended = new AbortController();
      void time.sleep(ms, forEver).then(() => ended.abort(new Error('over')));
      return ended.signal;
    },
  };
}

/** Everything that needs no time has run: memory stores answer in microtasks, and WebCrypto and zlib within a few turns. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}
