import type { ArchiveRun } from '../archive/archive-topics.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { Archiving } from './create-archiving.ts';
import { regularly, type RegularlyDeps } from './regularly.ts';

export type ArchiveRegularlyDeps = RegularlyDeps & Archiving & { readonly telemetry: Telemetry };

/**
 * Archives what is due as often as that on average, until the signal aborts, and goes on at once where one run leaves something. Never
 * rejects: what failed is told, and the next run does it.
 */
export async function archiveRegularly(deps: ArchiveRegularlyDeps, signal: AbortSignal): Promise<void> {
  const lag = createLag(deps.telemetry);
  await regularly(
    deps,
    async (life) => {
      const run = await archiveOnce(deps, life);
      if (run !== undefined) lag(run.lagMs);
      return run !== undefined && !run.complete ? 'again' : 'wait';
    },
    signal,
  );
}

async function archiveOnce({ archive, telemetry }: ArchiveRegularlyDeps, signal: AbortSignal): Promise<ArchiveRun | undefined> {
  try {
    const run = await archive({ until: signal }, signal);
    const isWrong = run.held + run.failed > 0;
    if (isWrong || run.archived > 0) telemetry.log(isWrong ? 'warn' : 'info', 'archived', run);
    return run;
  } catch (error) {
    telemetry.count('kelp.archive.failed', 1);
    telemetry.log('warn', 'archiving failed', { error });
    return undefined;
  }
}

/** How long ago the oldest message was committed that is in no file, as something that goes up and down. */
function createLag(telemetry: Telemetry): (lagMs: number) => void {
  let told = 0;
  return (lagMs) => {
    const seconds = Math.round(lagMs / 1000);
    telemetry.adjust('kelp.archive.lag.seconds', seconds - told);
    told = seconds;
  };
}
