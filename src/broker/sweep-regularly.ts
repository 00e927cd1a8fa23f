import { failedIn, type Sweep } from '../model/sweep-report.ts';
import { SWEEP_MS_MAX } from '../model/upload-limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Telemetry } from '../ports/telemetry.ts';

export type SweepRegularlyDeps = {
  readonly sweep: Sweep;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  /** 0: never. */
  readonly everyMs: number;
};

/**
 * Sweeps as often as that on average, until the signal aborts; at no time of their own, so that brokers which were started together
 * don't sweep together, and the first time before that is over, so that one that is started often sweeps, too. Never rejects: what
 * failed is told, and the next one does it.
 */
export async function sweepRegularly(deps: SweepRegularlyDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, everyMs } = deps;
  if (everyMs === 0) return;
  let waitMs = random.fraction() * everyMs;
  while (await slept(clock, waitMs, signal)) {
    await sweepOnce(deps, signal);
    waitMs = (0.5 + random.fraction()) * everyMs;
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

async function sweepOnce({ sweep, clock, telemetry }: SweepRegularlyDeps, signal: AbortSignal): Promise<void> {
  try {
    const report = await sweep({ dryRun: false }, AbortSignal.any([signal, clock.deadline(SWEEP_MS_MAX)]));
    const hasFailed = failedIn(report) > 0;
    telemetry.log(hasFailed ? 'warn' : 'info', 'swept', report);
  } catch (error) {
    telemetry.count('kelp.sweeps.failed', 1);
    telemetry.log('warn', 'sweeping failed', { error });
  }
}
