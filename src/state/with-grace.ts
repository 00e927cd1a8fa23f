import type { Clock } from '../ports/clock.ts';

/**
 * Work whose signal ends `ms` after its caller's, for the same reason: what is on its way when the caller's time is over may
 * still be answered. Nothing is begun for a caller whose time is over already. Leaves no timer and no listener behind.
 */
export async function withGrace<T>(
  clock: Pick<Clock, 'sleep'>,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  signal.throwIfAborted();
  const own = new AbortController();
  const over = new AbortController();
  const onAbort = (): void => {
    clock.sleep(ms, over.signal).then(
      () => own.abort(signal.reason),
      () => undefined, // woken by the end of the work, which is all that can abort it
    );
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await work(own.signal);
  } finally {
    signal.removeEventListener('abort', onAbort);
    over.abort();
  }
}
