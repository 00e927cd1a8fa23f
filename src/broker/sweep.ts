import type { SweepReport } from '../model/sweep-report.ts';
import { sweepUploads, type SweepUploadsDeps } from '../reference/sweep-uploads.ts';
import type { CleanUpDeps } from '../topics/clean-up-topic.ts';
import { sweepDeletions } from '../topics/sweep-deletions.ts';

export type SweepDeps = SweepUploadsDeps & CleanUpDeps;

/**
 * The clean-up that nobody waits for: what deleted topics have left, and uploads. Any number of them may run at once. Side by side,
 * so that one that takes all of the time leaves some to the other. Ends with its signal without an error; rejects when the table
 * can't be listed. `dryRun`: changes nothing, and says what one would do.
 */
export async function sweep(deps: SweepDeps, { dryRun }: { readonly dryRun: boolean }, signal: AbortSignal): Promise<SweepReport> {
  const [deletions, uploads] = await Promise.allSettled([sweepDeletions(deps, { dryRun }, signal), sweepUploads(deps, { dryRun }, signal)]);
  if (deletions.status === 'rejected') throw deletions.reason;
  if (uploads.status === 'rejected') throw uploads.reason;
  const { complete: deletionsComplete, ...sweptDeletions } = deletions.value;
  const { complete: uploadsComplete, ...sweptUploads } = uploads.value;
  return { dryRun, complete: deletionsComplete && uploadsComplete, uploads: sweptUploads, deletions: sweptDeletions };
}
