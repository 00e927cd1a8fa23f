import type { TopicId, UploadId } from '../model/ids.ts';
import { CHECKS_MS_MAX, CHECKS_QUEUED_MAX } from '../model/upload-limits.ts';
import type { Background } from '../ports/background.ts';
import { readUpload } from '../state/stored-uploads.ts';
import { checkStored, type CheckStoredDeps } from './check-stored.ts';
import { planUpload } from './plan-upload.ts';

/** Looks at uploaded batches soon after they were submitted, one upload at a time. */
export type Checker = {
  /** In the background. Beyond CHECKS_QUEUED_MAX, and what goes wrong, is left to the sweep. */
  offer(topic: TopicId, upload: UploadId): void;
  /** Whatever is left is the sweep's. */
  stop(): void;
};

export type CheckerDeps = CheckStoredDeps & { readonly background: Background };

type Offered = { readonly topic: TopicId; readonly upload: UploadId };

export function createChecker(deps: CheckerDeps): Checker {
  const offered: Offered[] = [];
  const stopping = new AbortController();
  let working = false;

  function work(): void {
    working = true;
    deps.background.run('check uploads', CHECKS_MS_MAX, async (signal) => {
      const own = AbortSignal.any([signal, stopping.signal]);
      for (let next = offered.shift(); next !== undefined; next = own.aborted ? undefined : offered.shift()) await check(deps, next, own);
      working = false;
      // Its time was over.
      if (offered.length > 0 && !stopping.signal.aborted) work();
    });
  }

  return {
    offer(topic, upload) {
      if (stopping.signal.aborted || offered.length >= CHECKS_QUEUED_MAX) return;
      offered.push({ topic, upload });
      if (!working) work();
    },
    stop() {
      offered.length = 0;
      stopping.abort(new Error('the broker is stopping'));
    },
  };
}

async function check(deps: CheckerDeps, { topic, upload: id }: Offered, signal: AbortSignal): Promise<void> {
  try {
    const upload = await readUpload(deps, topic, id, signal);
    if (upload === undefined || planUpload(upload, deps.clock.nowMs()) !== 'check') return;
    await checkStored(deps, { topic, upload, dryRun: false }, signal);
  } catch (error) {
    if (!signal.aborted) deps.telemetry.log('warn', 'an upload is left for the next sweep', { topic, upload: id, error });
  }
}
