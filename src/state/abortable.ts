/**
 * `promise`, or the signal's own reason as soon as it aborts. What others share goes on without this caller; no listener is
 * left on the signal, which may outlive many waits.
 */
export function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) {
      // Somebody else may still wait for it; its failure is theirs.
      promise.catch(() => undefined);
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const done = (): void => signal.removeEventListener('abort', onAbort);
    promise.then(resolve, reject).finally(done);
  });
}

export type Scope = { readonly signal: AbortSignal; /** Ends everything that runs under the scope's signal. */ readonly end: () => void };

/** A signal that ends with the caller's, or earlier. `end` must be called: it takes the listener off the caller's signal. */
export function openScope(signal: AbortSignal): Scope {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    end() {
      signal.removeEventListener('abort', onAbort);
      controller.abort();
    },
  };
}
