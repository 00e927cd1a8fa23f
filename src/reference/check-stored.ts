import type { TopicId } from '../model/ids.ts';
import type { Upload } from '../model/upload.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { replaceUpload, type StoredUploadsDeps } from '../state/stored-uploads.ts';
import { type CheckDeps, checkUpload } from './check-upload.ts';

export type CheckStoredDeps = CheckDeps & StoredUploadsDeps & { readonly telemetry: Telemetry };

/**
 * Looks at the batches of an upload, and notes in its item what readers have to pass over. Answers how many messages that are;
 * undefined: it has changed meanwhile, and was left as it is. `dryRun`: only looks. Errors as of {@link checkUpload}.
 */
export async function checkStored(
  deps: CheckStoredDeps,
  { topic, upload, dryRun }: { readonly topic: TopicId; readonly upload: Upload; readonly dryRun: boolean },
  signal: AbortSignal,
): Promise<number | undefined> {
  const quarantined = await checkUpload(deps, { topic, upload }, signal);
  const messages = quarantined.reduce((sum, { count }) => sum + count, 0);
  if (dryRun) return messages;
  const checked: Upload = { ...upload, version: upload.version + 1, checked: true, quarantined };
  const { replaced } = await replaceUpload(deps, topic, checked, signal);
  if (!replaced) return undefined;
  deps.telemetry.count('kelp.uploads.checked', 1);
  if (messages > 0) {
    deps.telemetry.count('kelp.uploads.quarantined', messages);
    deps.telemetry.log('warn', 'uploaded batches are not what they must be: readers pass over them', {
      topic,
      upload: upload.upload,
      messages,
    });
  }
  return messages;
}
