import { uploadKey } from '../format/item-key.ts';
import { uploadObjectKey } from '../format/object-key.ts';
import type { Upload } from '../model/upload.ts';
import { askAgain } from '../state/ask-again.ts';
import type { GarbageDeps, TopicWork } from './topic-work.ts';

/** Deletes an upload that no message needs any more: its object first, since without an item nothing leads to that but a list of all of them. */
export async function removeUpload(deps: GarbageDeps, work: TopicWork, upload: Upload, signal: AbortSignal): Promise<void> {
  const { topic, dryRun, counts } = work;
  // U2: that was written before anything of it left the index.
  if (upload.state !== 'submitted') throw new Error(`upload ${upload.upload} is ${upload.state}, and may be needed`);
  if (!dryRun) {
    await deps.store.delete(uploadObjectKey(topic.id, upload.upload), signal);
    const condition = [{ op: '=' as const, path: ['state'], value: 'submitted' }];
    const { applied } = await askAgain(deps, () => deps.table.delete(uploadKey(topic.id, upload.upload), condition, signal), signal);
    if (!applied) return;
  }
  counts.uploads += 1;
  counts.bytes += upload.bytes;
}
