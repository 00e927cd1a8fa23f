import type { TopicId } from '../model/ids.ts';
import { SWEEP_STEPS_MAX } from '../model/upload-limits.ts';
import type { Upload } from '../model/upload.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { AttemptDeps } from '../state/attempt-fate.ts';
import { replaceUpload } from '../state/stored-uploads.ts';
import { expired, planUpload, withAttemptEnded } from './plan-upload.ts';
import { type RemoveDeps, removeUpload } from './remove-upload.ts';
import { resolveAttempt } from './resolve-attempt.ts';

export type SettleDeps = AttemptDeps & RemoveDeps & { readonly telemetry: Telemetry };

/** What this call has done, of several at a time. */
export type SettledCounts = { expired: number; submitted: number; staged: number; bytes: number };

export type Settling = { readonly topic: TopicId; readonly dryRun: boolean; readonly counts: SettledCounts };

/**
 * Brings an upload as far as it goes without anybody's doing, each step on the version before it: whoever is faster is right, and
 * where that one leaves it is where the next step begins. Answers it as it is then; undefined: it is gone. `dryRun`: as if.
 */
export async function settleUpload(deps: SettleDeps, settling: Settling, read: Upload, signal: AbortSignal): Promise<Upload | undefined> {
  let upload: Upload | undefined = read;
  for (let step = 0; step < SWEEP_STEPS_MAX && upload !== undefined; step += 1) {
    switch (planUpload(upload, deps.clock.nowMs())) {
      case 'expire':
        upload = await write(deps, settling, expired(upload), signal);
        break;
      case 'resolve':
        upload = await resolve(deps, settling, upload, signal);
        break;
      case 'remove':
        return remove(deps, settling, upload, signal);
      default:
        return upload;
    }
  }
  return upload;
}

async function resolve(deps: SettleDeps, settling: Settling, upload: Upload, signal: AbortSignal): Promise<Upload | undefined> {
  const landedAt = await resolveAttempt(deps, { ...settling, upload }, signal);
  return write(deps, settling, withAttemptEnded(upload, landedAt, deps.clock.nowMs()), signal);
}

/** What stands there afterwards. */
async function write(
  deps: SettleDeps,
  { topic, dryRun, counts }: Settling,
  next: Upload,
  signal: AbortSignal,
): Promise<Upload | undefined> {
  const { replaced, upload } = dryRun ? { replaced: true, upload: next } : await replaceUpload(deps, topic, next, signal);
  if (replaced && (next.state === 'submitted' || next.state === 'staged')) counts[next.state] += 1;
  return upload;
}

async function remove(deps: SettleDeps, { topic, dryRun, counts }: Settling, upload: Upload, signal: AbortSignal): Promise<undefined> {
  const { removed, bytes } = await removeUpload(deps, { topic, upload, dryRun }, signal);
  if (!removed) return;
  counts.expired += 1;
  counts.bytes += bytes;
  if (!dryRun) deps.telemetry.count('kelp.uploads.expired', 1);
}
