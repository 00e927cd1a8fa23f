import type { Clock } from '../ports/clock.ts';
import { openScope } from './abortable.ts';

/** Wakes one loop before its time. What rings while it is awake is not lost: its next wait ends at once. */
export type Bell = {
  ring(): void;
  /** Until it rings, `ms` are over, or the signal aborts; never rejects. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
};

export function createBell(clock: Clock): Bell {
  let hasRung = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      hasRung = true;
      wake?.();
    },
    async wait(ms, signal) {
      const scope = openScope(signal);
      wake = scope.end;
      if (hasRung) scope.end();
      try {
        await clock.sleep(ms, scope.signal);
      } catch (reason) {
        if (!scope.signal.aborted) throw reason;
      } finally {
        hasRung = false;
        wake = undefined;
        scope.end();
      }
    },
  };
}
