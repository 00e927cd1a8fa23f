import { setTimeout as sleep } from 'node:timers/promises';
import { KelpError } from '../../src/model/errors.ts';
import { type Child, lastLogLine } from './processes.ts';

const POLL_MS = 50;
const ATTEMPT_MS = 5_000;

export type Readiness = {
  /** What is being waited for; the error names it. */
  readonly what: string;
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** The process that must come up: its early end ends the wait. */
  readonly child: Child;
};

/** Asks `probe` again until it succeeds. A child that ends, or the time's end, makes one clear error with the last failure in it. */
export async function untilReady(readiness: Readiness, probe: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const { what, waitMs, signal, child } = readiness;
  const end = AbortSignal.timeout(waitMs);
  let last: unknown;
  // Bounded: the time-out ends it.
  while (!end.aborted && child.running()) {
    signal.throwIfAborted();
    try {
      await probe(AbortSignal.any([signal, end, AbortSignal.timeout(ATTEMPT_MS)]));
      return;
    } catch (error) {
      last = error;
    }
    await sleep(POLL_MS, undefined, { signal });
  }
  const why = child.running() ? `is not ready after ${waitMs / 1000} s` : 'ended while starting';
  throw new KelpError('unavailable', 'not-ready', `${what} ${why}: ${lastLogLine(child)} (see ${child.logFile})`, { cause: last });
}
