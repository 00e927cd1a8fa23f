import { KelpError } from '../model/errors.ts';
import { WAITERS_MAX } from '../model/limits.ts';

/** Counts readers that wait: each keeps a connection and some memory for as long as it likes. */
export type Waiters = {
  /** Takes a place, or throws `throttled`; the returned function gives it back, once. */
  enter(): () => void;
};

export function createWaiters(waitersMax: number = WAITERS_MAX): Waiters {
  let waiting = 0;
  return {
    enter() {
      if (waiting >= waitersMax) {
        throw new KelpError('throttled', 'throttled', 'as many readers wait here as may', { extra: { reason: 'broker' } });
      }
      waiting += 1;
      let inside = true;
      return () => {
        if (inside) waiting -= 1;
        inside = false;
      };
    },
  };
}
