import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';

export type RegularlyDeps = {
  readonly clock: Clock;
  readonly random: Random;
  /** 0: never. */
  readonly everyMs: number;
};

/**
 * Does something as often as that on average, until the signal aborts; at no time of its own, so that brokers which were started together
 * don't do it together, and the first time before that is over, so that one that is started often does it, too. `work` answers whether to
 * begin anew at once; it never rejects.
 */
export async function regularly(
  { clock, random, everyMs }: RegularlyDeps,
  work: (signal: AbortSignal) => Promise<'again' | 'wait'>,
  signal: AbortSignal,
): Promise<void> {
  if (everyMs === 0) return;
  let waitMs = random.fraction() * everyMs;
  while (await slept(clock, waitMs, signal)) {
    const next = await work(signal);
    waitMs = next === 'again' ? 0 : (0.5 + random.fraction()) * everyMs;
  }
}

/** Whether nothing has ended it. */
async function slept(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(Math.ceil(ms), signal);
    return true;
  } catch (reason) {
    if (!signal.aborted) throw reason;
    return false;
  }
}
