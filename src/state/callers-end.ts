import { KelpError } from '../model/errors.ts';

/**
 * Where nothing failed but the caller's time is over (or the caller has gone), its own reason is the answer: a time-out stays
 * a time-out, and says nothing of stores.
 */
export function throwCallersEnd(signal: AbortSignal): void {
  if (signal.aborted && signal.reason instanceof KelpError) throw signal.reason;
}
