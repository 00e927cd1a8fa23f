import type { Run } from '../model/head.ts';
import type { CommitId } from '../model/ids.ts';
import type { Upload, UploadAttempt } from '../model/upload.ts';
import type { Fate } from './fate.ts';

/** What somebody who wants to submit an upload brings. `claimedBefore`: it was his already, under an attempt that is dead by now. */
export type Claim = { readonly attempt: UploadAttempt; readonly runs?: readonly Run[]; readonly claimedBefore: boolean };

/**
 * `held`: it is ours, and the attempt may be sent. `put`: to be written over the version that was read; then look again.
 * `find-out`: what became of the attempt that stands there decides. `outdated`: our request has another attempt by now.
 */
export type ClaimPlan =
  | { readonly plan: 'held'; readonly upload: Upload }
  | { readonly plan: 'put'; readonly next: Upload }
  | { readonly plan: 'find-out'; readonly upload: Upload; readonly attempt: UploadAttempt }
  | { readonly plan: 'outdated' }
  | { readonly plan: 'missing' | 'expired' }
  | { readonly plan: 'submitted'; readonly attempt: UploadAttempt; readonly offset: number };

/** An upload, the attempt that it names, and what became of that. */
type InTheWay = { readonly upload: Upload; readonly attempt: UploadAttempt; readonly fate: Fate };

/** `kill`: it may land yet, which ours must not wait for. `lost`: it has taken over from us. `outranked`: ours is to be replaced first. */
export type TakeOverPlan =
  | { readonly plan: 'put'; readonly next: Upload }
  | { readonly plan: 'kill' | 'lost' | 'unknown' }
  | { readonly plan: 'outranked'; readonly by: CommitId };

/** U1: an upload is nobody's, or that of one attempt. Everything changes on the version that was read. */
export function planClaim(upload: Upload | undefined, claim: Claim, nowMs: number): ClaimPlan {
  if (upload === undefined) return { plan: 'missing' };
  const { attempt, offset } = upload;
  switch (upload.state) {
    case 'expired':
      return { plan: 'expired' };
    case 'staged':
      return { plan: 'put', next: takeOver(upload, claim, nowMs) };
    case 'submitted':
      if (attempt === undefined || offset === undefined) throw new Error(`upload ${upload.upload} is submitted, and says not where`);
      if (attempt.cid === claim.attempt.cid) return { plan: 'held', upload };
      return isNewer(attempt, claim.attempt) ? { plan: 'outdated' } : { plan: 'submitted', attempt, offset };
    case 'submitting':
      if (attempt === undefined) throw new Error(`upload ${upload.upload} is being submitted by nobody`);
      if (attempt.cid === claim.attempt.cid) return { plan: 'held', upload };
      return isNewer(attempt, claim.attempt) ? { plan: 'outdated' } : { plan: 'find-out', upload, attempt };
  }
}

/**
 * Of two that submit it, nobody waits for the other one: whoever has the older attempt is ended, and the younger one goes on; whoever
 * has lost it once gives up. So one of them wins, also where they meet at several uploads.
 */
export function planTakeOver({ upload, attempt, fate }: InTheWay, claim: Claim, nowMs: number): TakeOverPlan {
  switch (fate.fate) {
    case 'landed':
      return { plan: 'put', next: submitted(upload, fate.entry.offset) };
    case 'dead':
      return { plan: 'put', next: takeOver(upload, claim, nowMs) };
    case 'unknown':
      return { plan: 'unknown' };
    case 'open':
      if (attempt.owner === claim.attempt.owner) return { plan: 'kill' };
      if (claim.claimedBefore) return { plan: 'lost' };
      return attempt.cid < claim.attempt.cid ? { plan: 'kill' } : { plan: 'outranked', by: attempt.cid };
  }
}

/** Once its attempt has landed, in an entry that begins at this offset. */
export function submitted(upload: Upload, entryOffset: number): Upload {
  return { ...upload, state: 'submitted', version: upload.version + 1, offset: entryOffset + (upload.attempt?.delta ?? 0) };
}

/** Nobody's: from now on ours. What is past its time is told so for good, whatever the next one's clock says. */
function takeOver(upload: Upload, { attempt, runs }: Claim, nowMs: number): Upload {
  const version = upload.version + 1;
  const { attempt: _attempt, runs: _runs, ...rest } = upload;
  if (upload.expiresMs <= nowMs) return { ...rest, state: 'expired', version };
  return { ...rest, state: 'submitting', version, attempt, ...(runs === undefined ? {} : { runs }) };
}

/** Both are of one request, whose record has replaced ours. */
const isNewer = (there: UploadAttempt, ours: UploadAttempt): boolean =>
  there.owner === ours.owner && there.recordVersion > ours.recordVersion;
