import { KelpError } from '../model/errors.ts';
import type { CommitId, TopicId, UploadId } from '../model/ids.ts';
import { CLAIM_LOOKS_MAX } from '../model/limits.ts';
import { uploadExpired, uploadInUse, uploadNotFound, uploadSubmitted } from '../model/upload-errors.ts';
import type { Upload } from '../model/upload.ts';
import { type Claim, type ClaimPlan, planClaim, planTakeOver } from '../protocol/upload-claim.ts';
import { type AttemptDeps, endAttempt, readAttemptFate } from '../state/attempt-fate.ts';
import { readUpload, replaceUpload } from '../state/stored-uploads.ts';

export type Wish = {
  readonly topic: TopicId;
  readonly upload: UploadId;
  readonly claim: Claim;
  /** Whether an attempt of somebody else may be ended for it. */
  readonly mayTakeOver: boolean;
};

/**
 * `contended`: somebody else's attempt stands there that may land yet, and was left alone. `barred`: for good, whoever asks for it. `lost`: another
 * request has it now. `unknown`: nobody can tell any more what became of it. `outdated`: this one has another attempt by now. `outranked`: to be replaced by a younger attempt than `by`.
 */
export type Claimed =
  | { readonly claimed: 'held'; readonly upload: Upload }
  | { readonly claimed: 'contended' }
  | { readonly claimed: 'outdated' }
  | { readonly claimed: 'barred' | 'lost' | 'unknown'; readonly error: KelpError }
  | { readonly claimed: 'outranked'; readonly by: CommitId };

/** U1: makes an upload ours. Nobody waits for somebody else: what is in the way has landed, or is ended. */
export async function claimUpload(deps: AttemptDeps, wish: Wish, signal: AbortSignal): Promise<Claimed> {
  let upload = await readUpload(deps, wish.topic, wish.upload, signal);
  for (let look = 0; look < CLAIM_LOOKS_MAX; look += 1) {
    const plan = planClaim(upload, wish.claim, deps.clock.nowMs());
    const next = plan.plan === 'find-out' ? await takeOver(deps, wish, plan, signal) : decided(wish.upload, plan);
    if ('claimed' in next) return next;
    ({ upload } = await replaceUpload(deps, wish.topic, next.put, signal));
  }
  return { claimed: 'lost', error: uploadInUse(wish.upload) };
}

type Put = { readonly put: Upload };

function decided(upload: UploadId, plan: Exclude<ClaimPlan, { readonly plan: 'find-out' }>): Claimed | Put {
  switch (plan.plan) {
    case 'held':
      return { claimed: 'held', upload: plan.upload };
    case 'put':
      return { put: plan.next };
    case 'outdated':
      return { claimed: 'outdated' };
    case 'missing':
      return { claimed: 'barred', error: uploadNotFound(upload) };
    case 'expired':
      return { claimed: 'barred', error: uploadExpired(upload) };
    case 'submitted':
      return { claimed: 'barred', error: uploadSubmitted(upload, { segment: plan.attempt.segment, offset: plan.offset }) };
  }
}

/** Behind an attempt of somebody else, or of ours that is dead by now. */
async function takeOver(
  deps: AttemptDeps,
  { topic, claim, mayTakeOver }: Wish,
  { upload, attempt }: ClaimPlan & { readonly plan: 'find-out' },
  signal: AbortSignal,
): Promise<Claimed | Put> {
  const fate = await readAttemptFate(deps, topic, attempt, signal);
  if (fate.fate === 'open' && !mayTakeOver && attempt.owner !== claim.attempt.owner) return { claimed: 'contended' };
  let plan = planTakeOver({ upload, attempt, fate }, claim, deps.clock.nowMs());
  if (plan.plan === 'kill')
    plan = planTakeOver({ upload, attempt, fate: await endAttempt(deps, topic, attempt, signal) }, claim, deps.clock.nowMs());
  switch (plan.plan) {
    case 'put':
      return { put: plan.next };
    case 'outranked':
      return { claimed: 'outranked', by: plan.by };
    case 'lost':
      return { claimed: 'lost', error: uploadInUse(upload.upload) };
    case 'unknown':
      return { claimed: 'unknown', error: new KelpError('indefinite', 'indefinite', `the index of upload ${upload.upload} is gone`) };
    case 'kill':
      throw new Error('an attempt that was ended may land');
  }
}
