import { stringField } from '../format/item-fields.ts';
import type { TopicId } from '../model/ids.ts';
import { SWEEP_PARALLEL_MAX } from '../model/limits.ts';
import type { Complete, SweptUploads } from '../model/sweep-report.ts';
import { SWEEP_CHECK_BYTES_MAX, SWEEP_CHECK_BYTES_MIN } from '../model/upload-limits.ts';
import type { Upload } from '../model/upload.ts';
import type { Item } from '../ports/metadata-table.ts';
import { everyName, topicOfName } from '../state/every-topic.ts';
import { inParallel } from '../state/in-parallel.ts';
import { checkStored, type CheckStoredDeps } from './check-stored.ts';
import type { SettleDeps } from './settle-upload.ts';
import { sweepTopic, type TopicCounts } from './sweep-topic.ts';

export type SweepUploadsDeps = SettleDeps & CheckStoredDeps;

type Unchecked = { readonly topic: TopicId; readonly upload: Upload };
type UploadsSweep = {
  readonly deps: SweepUploadsDeps;
  readonly dryRun: boolean;
  readonly counts: TopicCounts & { checked: number; quarantined: number };
  readonly unchecked: Unchecked[];
  /** Bytes of batches that may still be looked at. */
  checkBytesLeft: number;
  /** Whether that was not enough. */
  moreToCheck: boolean;
  readonly signal: AbortSignal;
};

/**
 * All topics' uploads: those that nobody has submitted in time go, those in which somebody was stopped while submitting become what
 * they are, objects without an upload go, and batches that nobody has looked at are looked at. Any number of sweeps may run at
 * once. Begins anywhere, so that what one sweep has no time for is not what the next one has none for. Ends with its signal
 * without an error; rejects when the table can't be listed.
 */
export async function sweepUploads(
  deps: SweepUploadsDeps,
  { dryRun }: { readonly dryRun: boolean },
  signal: AbortSignal,
): Promise<SweptUploads & Complete> {
  const counts = { examined: 0, expired: 0, submitted: 0, staged: 0, orphans: 0, checked: 0, quarantined: 0, bytes: 0, failed: 0 };
  const sweep: UploadsSweep = { deps, dryRun, counts, unchecked: [], checkBytesLeft: SWEEP_CHECK_BYTES_MAX, moreToCheck: false, signal };
  try {
    for await (const names of everyName(deps, signal)) {
      await inParallel(names, SWEEP_PARALLEL_MAX, (name) => sweepNamed(sweep, name));
      await checkFound(sweep);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return { ...counts, complete: !signal.aborted && !sweep.moreToCheck };
}

/** Topics that are being deleted are cleaned up as a whole. */
async function sweepNamed(sweep: UploadsSweep, name: Item): Promise<void> {
  const { deps, dryRun, counts, unchecked, signal } = sweep;
  await guarded(sweep, { name: stringField(name, 'sk') }, async () => {
    const topic = await topicOfName(deps, name, signal);
    if (topic === undefined) return;
    const foundUnchecked = (upload: Upload): void => {
      if (sweep.checkBytesLeft <= 0) {
        sweep.moreToCheck = true;
        return;
      }
      sweep.checkBytesLeft -= Math.max(upload.bytes, SWEEP_CHECK_BYTES_MIN);
      unchecked.push({ topic: topic.id, upload });
    };
    await sweepTopic(deps, { topic, dryRun, counts, foundUnchecked }, signal);
  });
}

/** One at a time: each has much of its object in memory. */
async function checkFound(sweep: UploadsSweep): Promise<void> {
  const { deps, dryRun, counts, signal } = sweep;
  for (const { topic, upload } of sweep.unchecked.splice(0)) {
    await guarded(sweep, { topic, upload: upload.upload }, async () => {
      const quarantined = await checkStored(deps, { topic, upload, dryRun }, signal);
      if (quarantined === undefined) return;
      counts.checked += 1;
      counts.quarantined += quarantined;
    });
  }
}

/** What goes wrong with one of them is left to the next sweep: the others have nothing to do with it. */
async function guarded(
  { deps, counts, signal }: UploadsSweep,
  what: Readonly<Record<string, string>>,
  work: () => Promise<void>,
): Promise<void> {
  signal.throwIfAborted();
  try {
    await work();
  } catch (error) {
    signal.throwIfAborted();
    counts.failed += 1;
    deps.telemetry.log('warn', 'uploads are left for the next sweep', { ...what, error });
  }
}
