import type { Clock } from '../ports/clock.ts';
import { orAbort } from './abortable.ts';

export type Bound = {
  readonly ms: number;
  /** Why it ended, where the time was over; else a TimeoutError. */
  readonly reason?: () => unknown;
};

/**
 * Work with a bound of its own within its caller's time. Ends with the caller's own reason or with the bound's as soon as
 * either is over, whatever the work makes of its signal. Leaves no timer and no listener behind.
 */
export async function within<T>(
  clock: Clock,
  { ms, reason = () => new DOMException(`${ms} ms are over`, 'TimeoutError') }: Bound,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  signal.throwIfAborted();
  const own = new AbortController();
  const timer = new AbortController();
  const onAbort = (): void => own.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  clock.sleep(ms, timer.signal).then(
    () => own.abort(reason()),
    () => undefined, // woken by the end of the work, which is all that can abort it
  );
  try {
    return await orAbort(work(own.signal), own.signal);
  } finally {
    signal.removeEventListener('abort', onAbort);
    timer.abort();
  }
}
