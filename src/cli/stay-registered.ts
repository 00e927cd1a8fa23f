import type { FunctionHandler } from '../http/function-handler.ts';
import { FLEET_REGISTERED_MS, FUNCTION_BACKGROUND_MS_MAX } from '../model/function-limits.ts';
import type { Background } from '../ports/background.ts';
import type { Clock } from '../ports/clock.ts';

export type StayingDeps = {
  readonly clock: Clock;
  readonly background: Background;
  /** Registers, or looks whether that still stands. */
  readonly register: (signal: AbortSignal) => Promise<void>;
};

/**
 * Registers as the instance starts, and looks behind the first invocation of each FLEET_REGISTERED_MS whether that still stands:
 * nothing else of a function runs. By the wall clock, since the other one may stand while the instance is frozen.
 */
export function stayRegistered(handler: FunctionHandler, { clock, background, register }: StayingDeps): FunctionHandler {
  let askedMs = clock.nowMs();
  const ask = (): void => background.run('register', FUNCTION_BACKGROUND_MS_MAX, register);
  ask();
  return (event, context) => {
    const nowMs = clock.nowMs();
    // A clock that was set back says nothing of how long ago it was.
    if (nowMs < askedMs || nowMs - askedMs >= FLEET_REGISTERED_MS) {
      askedMs = nowMs;
      ask();
    }
    return handler(event, context);
  };
}
