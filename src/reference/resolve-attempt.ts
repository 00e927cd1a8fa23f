import { KelpError } from '../model/errors.ts';
import type { TopicId } from '../model/ids.ts';
import type { Upload } from '../model/upload.ts';
import { type AttemptDeps, readAttemptFate } from '../state/attempt-fate.ts';
import { raiseFloor } from '../state/raise-floor.ts';

/** First offset of the entry that the attempt of an upload has become; undefined: it never lands. */
export type AttemptEnd = number | undefined;

/**
 * U3: ends the attempt of an upload that is being submitted, whoever may be at it: the floor first, so that nothing of it lands any
 * more, then a look whether it had. `dryRun`: as if the floor were there. Errors: `segment-not-found`; `corrupt` where no attempt
 * is recorded; `indefinite` where the index that would show it is gone.
 */
export async function resolveAttempt(
  deps: AttemptDeps,
  { topic, upload, dryRun }: { readonly topic: TopicId; readonly upload: Upload; readonly dryRun: boolean },
  signal: AbortSignal,
): Promise<AttemptEnd> {
  const { attempt } = upload;
  if (attempt === undefined) throw new KelpError('corrupt', 'corrupt', `no attempt is recorded of upload ${upload.upload}`);
  if (!dryRun) {
    const head = await raiseFloor(deps, { topic, segment: attempt.segment, minute: attempt.minute }, signal);
    if (head === undefined) throw new KelpError('not-found', 'segment-not-found', `no segment ${attempt.segment}`);
  }
  const fate = await readAttemptFate(deps, topic, attempt, signal);
  switch (fate.fate) {
    case 'landed':
      return fate.entry.offset;
    case 'dead':
      return undefined;
    case 'open':
      if (dryRun) return undefined;
      throw new Error('a commit below the floor may not land');
    case 'unknown':
      throw new KelpError('indefinite', 'indefinite', `the index of the attempt of upload ${upload.upload} is gone`);
  }
}
