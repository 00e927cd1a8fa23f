import { KelpError } from '../../model/errors.ts';
import type { Bytes } from '../../model/message.ts';
import type { ObjectStore } from '../../ports/object-store.ts';
import { checkKey } from '../s3/check-key.ts';
import { compareText } from './compare.ts';

type StoredObject = { readonly body: Bytes; readonly sha256: string | undefined };

export type MemoryStore = ObjectStore & {
  /** As a PUT does that has a checksum and `if-none-match: *`. False: there is an object under the key, which stays. */
  create(key: string, body: Bytes, sha256: string): boolean;
};

/** An object store in memory, for tests and simulation. Every call takes effect at once, in the order of the calls. */
export function createMemoryStore(): MemoryStore {
  const objects = new Map<string, StoredObject>();
  return {
    async put(key, body, signal) {
      signal.throwIfAborted();
      checkKey(key);
      // A copy: what is stored must not change with the caller's buffers.
      objects.set(key, { body: new Uint8Array(Buffer.concat(body)), sha256: undefined });
    },
    async getRange(key, start, length, signal) {
      signal.throwIfAborted();
      const object = objects.get(key);
      if (object === undefined) throw new KelpError('not-found', 'object-not-found', `no object ${key}`);
      return object.body.slice(start, start + length);
    },
    async head(key, signal) {
      signal.throwIfAborted();
      checkKey(key);
      const object = objects.get(key);
      return object && { bytes: object.body.length, sha256: object.sha256 };
    },
    async list(prefix, { after, limit }, signal) {
      signal.throwIfAborted();
      const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && (after === undefined || compareText(key, after) > 0));
      const page = keys.toSorted(compareText).slice(0, limit);
      const last = page.at(-1);
      return {
        objects: page.map((key) => ({ key, bytes: objects.get(key)?.body.length ?? 0 })),
        ...(keys.length > page.length && last !== undefined ? { next: last } : {}),
      };
    },
    async delete(key, signal) {
      signal.throwIfAborted();
      objects.delete(key);
    },
    create(key, body, sha256) {
      checkKey(key);
      if (objects.has(key)) return false;
      objects.set(key, { body: body.slice(), sha256 });
      return true;
    },
  };
}
