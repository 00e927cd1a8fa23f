import { failedIn, type Sweep } from '../model/sweep-report.ts';
import { SWEEP_MS_MAX } from '../model/upload-limits.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { regularly, type RegularlyDeps } from './regularly.ts';

export type SweepRegularlyDeps = RegularlyDeps & { readonly sweep: Sweep; readonly telemetry: Telemetry };

/** Sweeps as {@link regularly} does. Never rejects: what failed is told, and the next one does it. */
export function sweepRegularly(deps: SweepRegularlyDeps, signal: AbortSignal): Promise<void> {
  return regularly(
    deps,
    async (life) => {
      await sweepOnce(deps, life);
      return 'wait';
    },
    signal,
  );
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
