import type { ReaderDependencies } from './waiters.ts';

/**
 * A read that may wait: takes one of the bounded places, and when the process begins to stop, is asked again without
 * waiting, so that its reader gets an answer and goes elsewhere.
 */
export async function whileWaiting<T>(
  { stopping, waiters }: ReaderDependencies,
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
  read: (waitMs: number, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (waitMs === 0 || stopping.aborted) return read(0, signal);
  const leave = waiters.enter();
  const either = eitherSignal(signal, stopping);
  try {
    return await read(waitMs, either.signal);
  } catch (error) {
    if (!stopping.aborted || signal.aborted) throw error;
    return await read(0, signal);
  } finally {
    either.end();
    leave();
  }
}

/** Aborts with the first of the two. `end` takes the listeners off again: one of the signals may live as long as the process. */
export function eitherSignal(a: AbortSignal, b: AbortSignal): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const onA = (): void => controller.abort(a.reason);
  const onB = (): void => controller.abort(b.reason);
  if (a.aborted) onA();
  if (b.aborted) onB();
  a.addEventListener('abort', onA, { once: true });
  b.addEventListener('abort', onB, { once: true });
  return {
    signal: controller.signal,
    end: () => {
      a.removeEventListener('abort', onA);
      b.removeEventListener('abort', onB);
    },
  };
}
