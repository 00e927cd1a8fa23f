import { hash } from 'node:crypto';
import { uploadObjectKey } from '../format/object-key.ts';
import { KelpError } from '../model/errors.ts';
import type { TopicId } from '../model/ids.ts';
import type { Bytes } from '../model/message.ts';
import type { Reference } from '../model/upload.ts';
import type { ObjectStore } from '../ports/object-store.ts';

/** A reference never changes what it refers to: other bytes are damage, and none as well. It is answered, for whoever reads several. */
export async function readContent(
  store: ObjectStore,
  topic: TopicId,
  reference: Reference,
  signal: AbortSignal,
): Promise<Bytes | KelpError> {
  const key = uploadObjectKey(topic, reference.upload);
  const content = await readWhole(store, key, reference, signal);
  if (content === undefined) return damaged(key, 'an upload is missing');
  if (content.length !== reference.bytes || hash('sha256', content) !== reference.sha256)
    return damaged(key, 'an upload is not what it was');
  return content;
}

/** Undefined: there is no such object. */
async function readWhole(store: ObjectStore, key: string, { bytes }: Reference, signal: AbortSignal): Promise<Bytes | undefined> {
  // An object without bytes has no range.
  if (bytes === 0) return (await store.head(key, signal)) && new Uint8Array(0);
  try {
    return await store.getRange(key, 0, bytes, signal);
  } catch (error) {
    if (error instanceof KelpError && error.code === 'object-not-found') return undefined;
    throw error;
  }
}

const damaged = (object: string, message: string): KelpError => new KelpError('corrupt', 'corrupt', message, { extra: { object } });
