import { minuteStartMs } from '../model/ids.ts';
import { SUBMITTING_MS_MAX, SWEPT_BEHIND_MS } from '../model/upload-limits.ts';
import type { Upload } from '../model/upload.ts';
import { submitted } from '../protocol/upload-claim.ts';

/**
 * What is to be done next about an upload, of which nobody knows whether somebody is at work on it.
 * `leave`: it is in time. `expire`: nobody has submitted it in time. `resolve`: whoever submitted it may have been stopped on the
 * way. `remove`: it is expired, and what is left of it goes. `check`: its batches were not looked at. `settled`: nothing, ever.
 */
export type UploadPlan = 'leave' | 'expire' | 'resolve' | 'remove' | 'check' | 'settled';

export function planUpload(upload: Upload, nowMs: number): UploadPlan {
  switch (upload.state) {
    case 'staged':
      return upload.expiresMs <= nowMs ? 'expire' : 'leave';
    case 'submitting':
      return isStale(upload, nowMs) ? 'resolve' : 'leave';
    case 'submitted':
      return upload.runs === undefined || upload.checked ? 'settled' : 'check';
    case 'expired':
      return 'remove';
  }
}

/** By its attempt's minute; should that lie in another broker's future, by its own time. */
function isStale({ attempt, expiresMs }: Upload, nowMs: number): boolean {
  const sinceMs = Math.min(expiresMs, attempt === undefined ? expiresMs : minuteStartMs(attempt.minute));
  return sinceMs + SUBMITTING_MS_MAX <= nowMs;
}

/** Only from here on is its object nobody's. */
export const expired = (upload: Upload): Upload => ({ ...upload, state: 'expired', version: upload.version + 1 });

/** Once it is known for good what became of its attempt. `landedAt`: the first offset of its entry; undefined: it never lands. */
export function withAttemptEnded(upload: Upload, landedAt: number | undefined, nowMs: number): Upload {
  if (landedAt !== undefined) return submitted(upload, landedAt);
  if (upload.expiresMs <= nowMs) return expired(upload);
  const { attempt: _attempt, runs: _runs, ...rest } = upload;
  return { ...rest, state: 'staged', version: upload.version + 1 };
}

/**
 * Whether it is settled for good, and nobody makes an upload before it any more: by the clocks of brokers, which differ, or after
 * a long pause, a new one may come to lie before older ones.
 */
export const isBehind = (upload: Upload, nowMs: number): boolean =>
  planUpload(upload, nowMs) === 'settled' && upload.expiresMs + SWEPT_BEHIND_MS <= nowMs;
