import type { Clock } from '../../ports/clock.ts';

/** Lets through so many a second, counted from its making: never more than that, however they come. */
export type Pace = {
  /** Waits until some may go, and answers how many, up to `max` and to what one second lets through. Ends with the signal. */
  take(max: number, signal: AbortSignal): Promise<number>;
};

/** However slow, a new pace is seen soon. */
const LOOK_MS = 250;

/** `perSecond` is asked again and again: a new one counts from then on. Undefined: as many as there are. */
export function createPace(clock: Clock, perSecond: () => number | undefined): Pace {
  let allowed = 0;
  let atMs = clock.monotonicMs();
  const pass = (rate: number): void => {
    const nowMs = clock.monotonicMs();
    // What wasn't used does not add up to a burst.
    allowed = Math.min(rate, allowed + ((nowMs - atMs) * rate) / 1_000);
    atMs = nowMs;
  };
  return {
    async take(max, signal) {
      for (;;) {
        const rate = perSecond();
        if (rate === undefined) return max;
        pass(rate);
        const wanted = Math.min(max, rate);
        // A rounding must not make it sleep for nothing.
        const missing = wanted - allowed;
        if (missing <= Number.EPSILON * rate) {
          allowed = Math.max(0, allowed - wanted);
          return wanted;
        }
        await clock.sleep(Math.min(LOOK_MS, Math.ceil((missing * 1_000) / rate)), signal);
      }
    },
  };
}
