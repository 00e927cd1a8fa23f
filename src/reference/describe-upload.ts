import type { UploadId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import type { Upload } from '../model/upload.ts';
import { findUpload, isExpired, type ResolveDeps } from './resolve-uploads.ts';

/** The upload as it stands; one whose time is over is `expired`, whether a sweep has said so yet or not. */
export async function describeUpload(
  deps: Pick<ResolveDeps, 'table' | 'clock'>,
  topic: Topic,
  id: UploadId,
  signal: AbortSignal,
): Promise<Upload> {
  const upload = await findUpload(deps, topic, id, signal);
  return isExpired(upload, deps.clock.nowMs()) ? { ...upload, state: 'expired' } : upload;
}
