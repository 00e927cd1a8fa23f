import { KelpError } from '../model/errors.ts';
import type { Clock } from '../ports/clock.ts';

/** A reason made once: without one, each abort makes an error with a stack, which a small publish would feel. */
const ANSWERED = new Error('the request was answered');

/** How long one request may take. Its signal aborts when the time is over or the caller has gone, whichever is first. */
export type Deadline = {
  readonly signal: AbortSignal;
  remainingMs(): number;
  /** The request was answered: leaves no timer and no listener. */
  end(): void;
};

export function startDeadline(clock: Clock, timeoutMs: number, caller: AbortSignal): Deadline {
  const request = new AbortController();
  const timer = new AbortController();
  const endsMs = clock.monotonicMs() + timeoutMs;
  const onCallerGone = (): void => request.abort(cancelled(caller.reason));
  if (caller.aborted) onCallerGone();
  else caller.addEventListener('abort', onCallerGone, { once: true });
  clock.sleep(timeoutMs, timer.signal).then(
    () => request.abort(timedOut()),
    // The only reason for a sleep to end early is `end` below.
    () => undefined,
  );
  return {
    signal: request.signal,
    remainingMs: () => endsMs - clock.monotonicMs(),
    end: () => {
      caller.removeEventListener('abort', onCallerGone);
      timer.abort(ANSWERED);
    },
  };
}

export const timedOut = (): KelpError => new KelpError('unavailable', 'timeout', 'the request was not done within its time');

/** A reason of its own: nothing tries a cancelled request again, and nobody mistakes it for a slow store. */
export const cancelled = (cause?: unknown): KelpError => new KelpError('unavailable', 'cancelled', 'the caller has gone', { cause });
