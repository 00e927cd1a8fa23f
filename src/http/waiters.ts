import { KelpError } from '../model/errors.ts';
import { WAITERS_MAX } from '../model/limits.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { ReadingDependencies } from './dependencies.ts';

/** Counts readers that wait: each keeps a connection and some memory for as long as it likes. */
export type Waiters = {
  /** Takes a place, or throws `throttled`; the returned function gives it back, once. */
  enter(): () => void;
};

/** What handlers need that let their callers wait. */
export type ReaderDependencies = ReadingDependencies & { readonly waiters: Waiters };

export function createWaiters(telemetry: Telemetry, waitersMax: number = WAITERS_MAX): Waiters {
  let waiting = 0;
  return {
    enter() {
      if (waiting >= waitersMax) {
        throw new KelpError('throttled', 'throttled', 'as many readers wait here as may', { extra: { reason: 'broker' } });
      }
      waiting += 1;
      telemetry.adjust('kelp.http.waiters', 1);
      let inside = true;
      return () => {
        if (!inside) return;
        inside = false;
        waiting -= 1;
        telemetry.adjust('kelp.http.waiters', -1);
      };
    },
  };
}
