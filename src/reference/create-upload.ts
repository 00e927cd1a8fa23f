import { topicKey, uploadKey } from '../format/item-key.ts';
import { uploadObjectKey } from '../format/object-key.ts';
import { decodeTopic } from '../format/topic-item.ts';
import { decodeUpload, encodeUpload } from '../format/upload-item.ts';
import { KelpError } from '../model/errors.ts';
import { UPLOAD_ID_RANDOM, uploadId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import { UPLOAD_IDS_MAX, UPLOAD_MS } from '../model/upload-limits.ts';
import type { Upload, UploadContent } from '../model/upload.ts';
import type { PresignedRequest, Presigner } from '../ports/presigner.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { askAgain } from '../state/ask-again.ts';
import { isSameUpload, type StoredUploadsDeps } from '../state/stored-uploads.ts';

export type CreateUploadDeps = StoredUploadsDeps & { readonly presigner: Presigner; readonly telemetry: Telemetry };

/** The item comes before anybody gets the URL: an object without an item is nobody's. */
export async function createUpload(
  deps: CreateUploadDeps,
  topic: Topic,
  content: UploadContent,
  signal: AbortSignal,
): Promise<{ readonly upload: Upload; readonly request: PresignedRequest }> {
  const upload = await putNew(deps, topic, content, signal);
  await checkActive(deps, topic, upload, signal);
  deps.telemetry.count('kelp.uploads.created', 1);
  return { upload, request: deps.presigner.put(uploadObjectKey(topic.id, upload.upload), content, UPLOAD_MS) };
}

async function putNew(deps: CreateUploadDeps, topic: Topic, content: UploadContent, signal: AbortSignal): Promise<Upload> {
  for (let attempt = 0; attempt < UPLOAD_IDS_MAX; attempt += 1) {
    const upload = newUpload(deps, content);
    const absent = [{ op: 'missing' as const, path: ['upload'] }];
    const item = encodeUpload(upload);
    const put = await askAgain(deps, () => deps.table.put(uploadKey(topic.id, upload.upload), item, absent, signal), signal);
    // Refused by our own attempt, whose answer was lost, or by somebody's who has drawn the same id.
    if (put.applied || (put.item !== undefined && isSameUpload(decodeUpload(put.item), upload))) return upload;
  }
  throw new KelpError('unavailable', 'unavailable', 'no free id was found', { retryAfterMs: 1_000 });
}

function newUpload({ clock, random }: CreateUploadDeps, { bytes, sha256, contentType }: UploadContent): Upload {
  const createdMs = clock.nowMs();
  const expiresMs = createdMs + UPLOAD_MS;
  return {
    upload: uploadId(expiresMs, random.base36(UPLOAD_ID_RANDOM)),
    bytes,
    sha256,
    contentType,
    state: 'staged',
    version: 1,
    createdMs,
    expiresMs,
    checked: false,
    quarantined: [],
  };
}

/**
 * A topic's clean-up takes what it finds, so what is made has to be there before the topic is: read as active now, its clean-up
 * is still to come.
 */
async function checkActive(deps: CreateUploadDeps, topic: Topic, { upload, version }: Upload, signal: AbortSignal): Promise<void> {
  const item = await deps.table.get(topicKey(topic.id), signal);
  if (item !== undefined && decodeTopic(item).state === 'active') return;
  const untouched = [{ op: '=' as const, path: ['version'], value: version }];
  await askAgain(deps, () => deps.table.delete(uploadKey(topic.id, upload), untouched, signal), signal);
  throw new KelpError('not-found', 'topic-not-found', `no topic ${topic.name}`);
}
