import { BACKOFF_MS_MAX, BACKOFF_MS_MIN } from '../model/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';

/** Sleeps before attempt `attempt` (1 = the second try): exponential with full jitter, ended by the signal. */
export async function backoff(
  deps: { readonly clock: Clock; readonly random: Random },
  attempt: number,
  signal: AbortSignal,
): Promise<void> {
  const capMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (attempt - 1));
  await deps.clock.sleep(Math.ceil(capMs * deps.random.fraction()), signal);
}
