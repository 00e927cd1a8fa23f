import { backoffMs } from '../model/backoff.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';

/** Sleeps before attempt `attempt` (1 = the second try): exponential with full jitter, ended by the signal. */
export async function backoff(
  deps: { readonly clock: Clock; readonly random: Random },
  attempt: number,
  signal: AbortSignal,
): Promise<void> {
  await deps.clock.sleep(Math.ceil(backoffMs(attempt, deps.random.fraction())), signal);
}

/** The same for a loop that looks at the signal itself: its end cuts the sleep short, and needs no second report. */
export async function backoffUnlessAborted(
  deps: { readonly clock: Clock; readonly random: Random },
  attempt: number,
  signal: AbortSignal,
): Promise<void> {
  await backoff(deps, attempt, signal).catch((reason: unknown) => {
    if (!signal.aborted) throw reason;
  });
}
