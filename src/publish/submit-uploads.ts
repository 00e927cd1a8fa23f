import type { RecordedPart } from '../format/idempotency-item.ts';
import { KelpError } from '../model/errors.ts';
import type { TopicId, UploadId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import { UPLOADS_PARALLEL_MAX } from '../model/upload-limits.ts';
import type { Upload } from '../model/upload.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { submitted } from '../protocol/upload-claim.ts';
import type { AttemptDeps } from '../state/attempt-fate.ts';
import { inParallel } from '../state/in-parallel.ts';
import { replaceUpload } from '../state/stored-uploads.ts';
import { type AttemptOutcome, type Claimant, claimUploads, type Wanted } from './claim-uploads.ts';
import { uploadRuns } from './encode-slice.ts';
import type { PublishContent } from './request.ts';
import type { Slice } from './slice.ts';

export type SubmitDeps = AttemptDeps & {
  readonly telemetry: Telemetry;
  /** Told of each upload that says by now that it was submitted as record batches: nobody has looked at these. */
  readonly batchesSubmitted?: (topic: TopicId, upload: UploadId) => void;
};
export type Outcomes = Map<RecordedPart, AttemptOutcome>;
/** The uploads that a part's attempt has. */
export type HeldUploads = Map<RecordedPart, readonly Upload[]>;

type Request = { readonly topic: Topic; readonly claimant: Claimant; readonly recordVersion: number };
type Parts = {
  readonly parts: readonly { readonly slice: Slice; readonly part: RecordedPart }[];
  readonly held: HeldUploads;
  readonly outcomes: Outcomes;
};

/** The uploads that a request names, each with the messages before it. */
export function uploadsIn(content: PublishContent): readonly { readonly upload: UploadId; readonly delta: number }[] {
  if (content.kind === 'uploaded') return [{ upload: content.upload, delta: 0 }];
  if (content.kind === 'batches') return [];
  return content.messages.flatMap(({ upload }, delta) => (upload === undefined ? [] : [{ upload, delta }]));
}

/** Claims the uploads of each part; one that doesn't get all of them has an outcome, and is not to be sent. Never rejects. */
export async function claimParts(deps: SubmitDeps, request: Request, { parts, held, outcomes }: Parts, signal: AbortSignal): Promise<void> {
  const { topic, claimant, recordVersion } = request;
  const parallelMax = Math.max(1, Math.floor(UPLOADS_PARALLEL_MAX / Math.max(1, parts.length)));
  await inParallel(parts, UPLOADS_PARALLEL_MAX, async ({ slice: { content }, part }) => {
    const { range, cid, tail, minute } = part;
    const uploads = uploadsIn(content);
    if (uploads.length === 0) return;
    if (minute === undefined) throw new Error('an attempt with uploads has a minute');
    const runs = content.kind === 'uploaded' ? { runs: uploadRuns(content.batches) } : {};
    const wanted: Wanted = {
      topic: topic.id,
      attempt: { segment: range.segment, cid, tail, minute, recordVersion },
      uploads,
      parallelMax,
      ...runs,
    };
    try {
      const claims = await claimUploads(deps, wanted, claimant, signal);
      const outcome = claims.held === undefined ? claims.outcome : landedBefore(claims.held);
      if (outcome !== undefined) outcomes.set(part, outcome);
      if (claims.held !== undefined) held.set(part, claims.held);
    } catch (error) {
      outcomes.set(part, { outcome: 'failed', error: notSent(deps, error, signal) });
    }
  });
}

/** One of them says that this very attempt has landed: it is not sent again. */
function landedBefore(uploads: readonly Upload[]): AttemptOutcome | undefined {
  const told = uploads.find(({ state }) => state === 'submitted');
  if (told?.offset === undefined || told.attempt === undefined) return undefined;
  return { outcome: 'stored', offset: told.offset - told.attempt.delta, again: true };
}

/** The attempt was not sent by this handler: whatever was not answered is no unknown outcome of the messages. */
function notSent({ telemetry }: SubmitDeps, error: unknown, signal: AbortSignal): KelpError {
  if (signal.aborted && signal.reason instanceof KelpError) return signal.reason;
  if (error instanceof KelpError && error.kind !== 'indefinite') return error;
  if (!(error instanceof KelpError) && !signal.aborted)
    telemetry.log('error', 'claiming uploads failed unexpectedly', { error: String(error) });
  return new KelpError('unavailable', 'unavailable', 'the table does not answer', { cause: error, retryAfterMs: 1_000 });
}

/**
 * What has landed is said in its uploads, before the answer. Where that fails, whoever meets one of them finds it out: another
 * claim, or a sweep.
 */
export async function submittedParts(
  deps: SubmitDeps,
  topic: TopicId,
  { held, outcomes }: { readonly held: HeldUploads; readonly outcomes: Outcomes },
  signal: AbortSignal,
): Promise<void> {
  const landed = [...held].flatMap(([part, uploads]) => {
    const outcome = outcomes.get(part);
    return outcome?.outcome === 'stored'
      ? uploads.filter(({ state }) => state === 'submitting').map((upload) => submitted(upload, outcome.offset))
      : [];
  });
  try {
    await inParallel(landed, UPLOADS_PARALLEL_MAX, async (upload) => {
      await replaceUpload(deps, topic, upload, signal);
      if (upload.runs !== undefined) deps.batchesSubmitted?.(topic, upload.upload);
    });
  } catch (error) {
    deps.telemetry.log('warn', 'uploads are stored, and do not say so yet', { error: String(error) });
  }
}
