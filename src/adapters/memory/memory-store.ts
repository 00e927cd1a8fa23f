import { KelpError } from '../../model/errors.ts';
import type { Bytes } from '../../model/message.ts';
import type { ObjectStore } from '../../ports/object-store.ts';
import { checkKey } from '../s3/check-key.ts';
import { compareText } from './compare.ts';

/** An object store in memory, for tests and simulation. Every call takes effect at once, in the order of the calls. */
export function createMemoryStore(): ObjectStore {
  const objects = new Map<string, Bytes>();
  return {
    async put(key, body, signal) {
      signal.throwIfAborted();
      checkKey(key);
      // A copy: what is stored must not change with the caller's buffers.
      objects.set(key, new Uint8Array(Buffer.concat(body)));
    },
    async getRange(key, start, length, signal) {
      signal.throwIfAborted();
      const object = objects.get(key);
      if (object === undefined) throw new KelpError('not-found', 'object-not-found', `no object ${key}`);
      return object.slice(start, start + length);
    },
    async list(prefix, { after, limit }, signal) {
      signal.throwIfAborted();
      const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && (after === undefined || compareText(key, after) > 0));
      const page = keys.toSorted(compareText).slice(0, limit);
      const last = page.at(-1);
      return {
        objects: page.map((key) => ({ key, bytes: objects.get(key)?.length ?? 0 })),
        ...(keys.length > page.length && last !== undefined ? { next: last } : {}),
      };
    },
    async delete(key, signal) {
      signal.throwIfAborted();
      objects.delete(key);
    },
  };
}
