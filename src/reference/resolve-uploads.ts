import { uploadObjectKey } from '../format/object-key.ts';
import type { UploadId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import { uploadDiffers, uploadExpired, uploadMissing, uploadNotFound } from '../model/upload-errors.ts';
import { UPLOADS_PARALLEL_MAX } from '../model/upload-limits.ts';
import type { Reference, Upload } from '../model/upload.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import { inParallel } from '../state/in-parallel.ts';
import { readUpload } from '../state/stored-uploads.ts';

export type ResolveDeps = { readonly table: MetadataTable; readonly store: ObjectStore; readonly clock: Clock };

/** What these uploads of the topic are, each found in the store. */
export async function resolveUploads(
  deps: ResolveDeps,
  topic: Topic,
  ids: readonly UploadId[],
  signal: AbortSignal,
): Promise<ReadonlyMap<UploadId, Reference>> {
  const found = await inParallel(ids, UPLOADS_PARALLEL_MAX, (id) => findWhole(deps, topic, id, signal));
  return new Map(found.map(({ upload, bytes, sha256, contentType }) => [upload, { upload, bytes, sha256, contentType }]));
}

/**
 * An upload of this topic whose bytes are in the store as they were announced. Of one that was submitted, nothing is asked: it was
 * found then, and a repeat of that request has to get as far as its answer.
 */
export async function findWhole(deps: ResolveDeps, topic: Topic, id: UploadId, signal: AbortSignal): Promise<Upload> {
  const upload = await findUpload(deps, topic, id, signal);
  if (upload.state === 'submitted') return upload;
  if (isExpired(upload, deps.clock.nowMs())) throw uploadExpired(id);
  const object = await deps.store.head(uploadObjectKey(topic.id, id), signal);
  if (object === undefined) throw uploadMissing(id);
  if (object.bytes !== upload.bytes || object.sha256 !== upload.sha256) throw uploadDiffers(id);
  return upload;
}

/** Error `upload-not-found`: by the topic's id, so that another topic's is as good as none. */
export async function findUpload(deps: Pick<ResolveDeps, 'table'>, topic: Topic, id: UploadId, signal: AbortSignal): Promise<Upload> {
  const upload = await readUpload(deps, topic.id, id, signal);
  if (upload === undefined) throw uploadNotFound(id);
  return upload;
}

/** One that somebody is submitting may still make it. */
export const isExpired = ({ state, expiresMs }: Upload, nowMs: number): boolean =>
  state === 'expired' || (state === 'staged' && expiresMs <= nowMs);
