import type { SettleSubmitting } from '../archive/archive-deps.ts';
import { sweepRetention } from '../archive/retention/sweep-retention.ts';
import { sweepGarbage } from '../garbage/sweep-garbage.ts';
import { GARBAGE_AGE_MS } from '../model/archive-limits.ts';
import type { Complete, SweepReport, SweptGarbage, SweptRetention } from '../model/sweep-report.ts';
import { settleSubmitting } from '../reference/settle-submitting.ts';
import { sweepUploads, type SweepUploadsDeps } from '../reference/sweep-uploads.ts';
import { createHeads } from '../state/heads.ts';
import type { CleanUpDeps } from '../topics/clean-up-topic.ts';
import { sweepDeletions } from '../topics/sweep-deletions.ts';

export type SweepingPorts = {
  /** How long what nobody refers to stays; absent: GARBAGE_AGE_MS. */
  readonly garbageAgeMs?: number;
};
export type SweepDeps = SweepUploadsDeps & CleanUpDeps & SweepingPorts;

type Options = { readonly dryRun: boolean };

/**
 * The clean-up that nobody waits for: what deleted topics have left, uploads, messages that were kept for long enough, and what nobody refers to any
 * more. Any number of them may run at once. Side by side, so that one that takes all of the time leaves some to the others. Ends with its signal
 * without an error; rejects when the table can't be listed. `dryRun`: changes nothing, and says what one would do.
 */
export async function sweep(deps: SweepDeps, options: Options, signal: AbortSignal): Promise<SweepReport> {
  // All of them end before any failure is told: what goes on would have lost its caller.
  const [deletions, uploads, old] = await Promise.allSettled([
    sweepDeletions(deps, options, signal),
    sweepUploads(deps, options, signal),
    sweepOld(deps, options, signal),
  ]);
  const parts = { uploads: endOf(uploads), deletions: endOf(deletions), ...endOf(old) };
  return {
    dryRun: options.dryRun,
    complete: Object.values(parts).every(({ complete }) => complete),
    uploads: counts(parts.uploads),
    deletions: counts(parts.deletions),
    retention: counts(parts.retention),
    garbage: counts(parts.garbage),
  };
}

type Old = { readonly retention: SweptRetention & Complete; readonly garbage: SweptGarbage & Complete };

/** One after the other: what is kept no longer is garbage at once. */
async function sweepOld(deps: SweepDeps, options: Options, signal: AbortSignal): Promise<Old> {
  const { garbageAgeMs = GARBAGE_AGE_MS } = deps;
  const settling: SettleSubmitting = (topic, upTo, ends) => settleSubmitting(deps, topic.id, upTo, ends);
  const retention = await sweepRetention({ ...deps, settleSubmitting: settling }, options, signal);
  // What passes by must not push out what this instance's publishers and readers have seen of theirs.
  const heads = createHeads(deps.table);
  return { retention, garbage: await sweepGarbage({ ...deps, heads, garbageAgeMs }, options, signal) };
}

function endOf<T>(part: PromiseSettledResult<T>): T {
  if (part.status === 'rejected') throw part.reason;
  return part.value;
}

function counts<T extends Complete>({ complete: _complete, ...rest }: T): Omit<T, 'complete'> {
  return rest;
}
