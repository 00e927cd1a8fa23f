import { uploadKey } from '../format/item-key.ts';
import { uploadObjectKey } from '../format/object-key.ts';
import type { TopicId } from '../model/ids.ts';
import type { Upload } from '../model/upload.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import { askAgain } from '../state/ask-again.ts';
import type { StoredUploadsDeps } from '../state/stored-uploads.ts';

export type RemoveDeps = StoredUploadsDeps & { readonly store: ObjectStore };

/** `removed`: by this call, of several. `bytes`: of an object that was there. */
export type Removed = { readonly removed: boolean; readonly bytes: number };

/**
 * Deletes an expired upload: its object first, since without an item nothing leads to that but a list of all of them. `dryRun`:
 * only looks.
 */
export async function removeUpload(
  deps: RemoveDeps,
  { topic, upload, dryRun }: { readonly topic: TopicId; readonly upload: Upload; readonly dryRun: boolean },
  signal: AbortSignal,
): Promise<Removed> {
  if (upload.state !== 'expired') throw new Error(`upload ${upload.upload} is ${upload.state}, and may be needed`);
  const object = uploadObjectKey(topic, upload.upload);
  const { bytes = 0 } = (await deps.store.head(object, signal)) ?? {};
  if (dryRun) return { removed: true, bytes };
  // Also where there was none: it may have come since.
  await deps.store.delete(object, signal);
  const condition = [{ op: '=' as const, path: ['state'], value: 'expired' }];
  const { applied } = await askAgain(deps, () => deps.table.delete(uploadKey(topic, upload.upload), condition, signal), signal);
  return { removed: applied, bytes: applied ? bytes : 0 };
}
