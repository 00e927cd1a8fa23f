import { KelpError } from '../model/errors.ts';
import type { Run } from '../model/head.ts';
import type { CommitId, TopicId, UploadId } from '../model/ids.ts';
import type { Upload, UploadAttempt } from '../model/upload.ts';
import type { Claim } from '../protocol/upload-claim.ts';
import { type AttemptDeps, endAttempt } from '../state/attempt-fate.ts';
import { inParallel } from '../state/in-parallel.ts';
import { type Claimed, claimUpload, type Wish } from './claim-upload.ts';
import type { PartOutcome } from './part.ts';

/** Whose the uploads of a request become. `had`: those that this handler has claimed so far. */
export type Claimant = { readonly owner: string; readonly had: Set<UploadId> };

/** The uploads that one attempt is to commit, each with the messages of its entry before it. */
export type Wanted = {
  readonly topic: TopicId;
  readonly attempt: Omit<UploadAttempt, 'owner' | 'delta'>;
  readonly uploads: readonly { readonly upload: UploadId; readonly delta: number }[];
  readonly parallelMax: number;
  /** Of record batches. */
  readonly runs?: readonly Run[];
};

/** `barred`: one of its uploads is not to be had, for good and whoever asks: nothing of it was stored, or will be. */
export type AttemptOutcome = PartOutcome | { readonly outcome: 'barred'; readonly error: KelpError };

/** Either all uploads, and the attempt may be sent; or what becomes of it instead. */
export type Claims = { readonly held: readonly Upload[] } | { readonly held: undefined; readonly outcome: AttemptOutcome };

type Held = Claimed & { readonly claimed: 'held' };
type Refused = Exclude<Claimed, { readonly claimed: 'held' | 'contended' }>;

/**
 * U1: an attempt is sent only once each upload in it names it. First those that nobody else has, side by side; then of the others one,
 * and again: who takes one away has all that nobody disputes by then, so that of two requests one wins. With an attempt that is ended
 * all of its uploads are free, so there are as many rounds as there are requests in the way, not as uploads.
 */
export async function claimUploads(deps: AttemptDeps, wanted: Wanted, claimant: Claimant, signal: AbortSignal): Promise<Claims> {
  const { topic } = wanted;
  const uploads = wanted.uploads.toSorted((a, b) => (a.upload < b.upload ? -1 : 1));
  let wishes = uploads.map((one): Wish => ({ topic, upload: one.upload, claim: claimOf(wanted, claimant, one), mayTakeOver: false }));
  const held: Upload[] = [];
  const keep = (claimed: readonly Claimed[]): Refused | undefined => {
    for (const { upload } of claimed.filter(isHeld)) {
      claimant.had.add(upload.upload);
      held.push(upload);
    }
    return claimed.find(isRefused);
  };
  for (;;) {
    const claimed = await inParallel(wishes, wanted.parallelMax, (wish) => claimUpload(deps, wish, signal));
    const [next, ...others] = wishes.filter((_, index) => claimed[index]?.claimed === 'contended');
    const refused = keep(claimed) ?? (next && keep([await claimUpload(deps, { ...next, mayTakeOver: true }, signal)]));
    if (refused !== undefined) return { held: undefined, outcome: await outcomeOf(deps, wanted, refused, signal) };
    if (next === undefined) break;
    wishes = others;
  }
  if (held.length < uploads.length) throw new Error('an upload was left to somebody else');
  return { held };
}

const isHeld = (one: Claimed): one is Held => one.claimed === 'held';
const isRefused = (one: Claimed): one is Refused => one.claimed !== 'held' && one.claimed !== 'contended';

function claimOf({ attempt, runs }: Wanted, { owner, had }: Claimant, { upload, delta }: Wanted['uploads'][number]): Claim {
  return { attempt: { ...attempt, owner, delta }, claimedBefore: had.has(upload), ...(runs === undefined ? {} : { runs }) };
}

async function outcomeOf(deps: AttemptDeps, wanted: Wanted, refused: Refused, signal: AbortSignal): Promise<AttemptOutcome> {
  switch (refused.claimed) {
    case 'barred':
      return { outcome: 'barred', error: refused.error };
    case 'lost':
    case 'unknown':
      return { outcome: 'failed', error: refused.error };
    case 'outdated':
      return { outcome: 'again' };
    case 'outranked':
      return giveWay(deps, wanted, refused.by, signal);
  }
}

/** Ours is ended before another one is recorded in its place: others may send it, if they have all of its uploads. */
async function giveWay(deps: AttemptDeps, wanted: Wanted, by: CommitId, signal: AbortSignal): Promise<AttemptOutcome> {
  const fate = await endAttempt(deps, wanted.topic, wanted.attempt, signal);
  switch (fate.fate) {
    case 'landed':
      return { outcome: 'stored', offset: fate.entry.offset, again: true };
    case 'dead':
      return { outcome: 'dead', because: 'guard', guard: by, tail: fate.head.tail };
    default:
      return { outcome: 'failed', error: new KelpError('indefinite', 'indefinite', 'the index of this commit is gone') };
  }
}
