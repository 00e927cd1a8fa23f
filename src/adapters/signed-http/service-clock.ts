import type { Clock } from '../../ports/clock.ts';

/** A service's time, which signatures go by: this machine's, until an answer has told that it is far off. */
export type ServiceClock = Pick<Clock, 'nowMs'> & {
  /** Takes the time that an answer's `Date` tells; false: it is as good as the same. */
  correct(date: string | undefined): boolean;
};

/** Smaller differences are never refused, so they are not the reason for a refusal. */
const SKEW_MS_MIN = 60_000;

export function createServiceClock(clock: Pick<Clock, 'nowMs'>): ServiceClock {
  let offsetMs = 0;
  return {
    nowMs: () => clock.nowMs() + offsetMs,
    correct(date) {
      const differenceMs = timeOf(date) - clock.nowMs();
      if (!(Math.abs(differenceMs - offsetMs) >= SKEW_MS_MIN)) return false;
      offsetMs = differenceMs;
      return true;
    },
  };
}

/** NaN where the header says nothing. */
function timeOf(header: string | undefined): number {
  return new Date(header ?? '').getTime();
}
