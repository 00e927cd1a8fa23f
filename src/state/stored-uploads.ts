import { uploadKey } from '../format/item-key.ts';
import { decodeUpload, encodeUpload } from '../format/upload-item.ts';
import type { TopicId, UploadId } from '../model/ids.ts';
import type { Upload } from '../model/upload.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { Random } from '../ports/random.ts';
import { askAgain } from './ask-again.ts';

export type StoredUploadsDeps = { readonly table: MetadataTable; readonly clock: Clock; readonly random: Random };

/** A strong read. Undefined: the topic has no such upload. */
export async function readUpload(
  { table }: Pick<StoredUploadsDeps, 'table'>,
  topic: TopicId,
  id: UploadId,
  signal: AbortSignal,
): Promise<Upload | undefined> {
  const item = await table.get(uploadKey(topic, id), signal);
  return item === undefined ? undefined : decodeUpload(item);
}

/** `upload`: what stands there afterwards; undefined: it is gone. */
export type Replaced = { readonly replaced: boolean; readonly upload: Upload | undefined };

/** Puts the upload in place of the version before it, where that still stands there. */
export async function replaceUpload(deps: StoredUploadsDeps, topic: TopicId, upload: Upload, signal: AbortSignal): Promise<Replaced> {
  const item = encodeUpload(upload);
  const condition = [{ op: '=' as const, path: ['version'], value: upload.version - 1 }];
  const result = await askAgain(deps, () => deps.table.put(uploadKey(topic, upload.upload), item, condition, signal), signal);
  if (result.applied) return { replaced: true, upload };
  if (result.item === undefined) return { replaced: false, upload: undefined };
  const found = decodeUpload(result.item);
  // Refused by the effect of an attempt whose answer was lost.
  return { replaced: isSameUpload(found, upload), upload: found };
}

/** In all of its fields: whoever put the one has put the other. */
export const isSameUpload = (a: Upload, b: Upload): boolean => JSON.stringify(encodeUpload(a)) === JSON.stringify(encodeUpload(b));
