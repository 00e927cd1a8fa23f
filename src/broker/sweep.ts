import type { RetentionDeps } from '../archive/retention/retention-deps.ts';
import { sweepRetention } from '../archive/retention/sweep-retention.ts';
import { sweepGarbage } from '../garbage/sweep-garbage.ts';
import { GARBAGE_AGE_MS } from '../model/archive-limits.ts';
import type { Complete, SweepReport } from '../model/sweep-report.ts';
import { settleSubmitting } from '../reference/settle-submitting.ts';
import { sweepUploads, type SweepUploadsDeps } from '../reference/sweep-uploads.ts';
import type { CleanUpDeps } from '../topics/clean-up-topic.ts';
import { sweepDeletions } from '../topics/sweep-deletions.ts';

/** `garbageAgeMs`: how long what nobody refers to stays; GARBAGE_AGE_MS where nobody says anything. */
export type SweepDeps = SweepUploadsDeps & CleanUpDeps & { readonly garbageAgeMs?: number };

/**
 * The clean-up that nobody waits for: what deleted topics have left, uploads, messages that were kept long enough, and what of other topics
 * nobody refers to any more, which the last sweep may have let go. Any number of them may run at once. Side by side, so that one that takes all
 * of the time leaves some to the others. Ends with its signal without an error; rejects when the table can't be listed. `dryRun`: changes nothing, and says what one would do.
 */
export async function sweep(deps: SweepDeps, { dryRun }: { readonly dryRun: boolean }, signal: AbortSignal): Promise<SweepReport> {
  const { garbageAgeMs = GARBAGE_AGE_MS } = deps;
  const retaining: RetentionDeps = { ...deps, settleSubmitting: (topic, upTo, own) => settleSubmitting(deps, topic.id, upTo, own) };
  // All of them end before any failure is told: what goes on would have lost its caller.
  const [deletions, uploads, retention, garbage] = await Promise.allSettled([
    sweepDeletions(deps, { dryRun }, signal),
    sweepUploads(deps, { dryRun }, signal),
    sweepRetention(retaining, { dryRun }, signal),
    sweepGarbage({ ...deps, garbageAgeMs }, { dryRun }, signal),
  ]);
  const parts = { uploads: endOf(uploads), deletions: endOf(deletions), retention: endOf(retention), garbage: endOf(garbage) };
  return {
    dryRun,
    complete: Object.values(parts).every((part) => part.complete),
    uploads: counts(parts.uploads),
    deletions: counts(parts.deletions),
    retention: counts(parts.retention),
    garbage: counts(parts.garbage),
  };
}

function endOf<T>(part: PromiseSettledResult<T>): T {
  if (part.status === 'rejected') throw part.reason;
  return part.value;
}

function counts<T extends Complete>({ complete: _complete, ...rest }: T): Omit<T, 'complete'> {
  return rest;
}
