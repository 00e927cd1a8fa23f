import type { Bytes } from '../../model/message.ts';
import type { ObjectStore } from '../../ports/object-store.ts';

export type RememberingOptions = {
  readonly bytesMax: number;
  /** By its key; what somebody reads back to see whether the store gives it is not. */
  readonly isRemembered: (key: string) => boolean;
};

type Remembered = { readonly parts: readonly Bytes[]; readonly bytes: number };

/**
 * Keeps the objects that were put last, within `bytesMax`, and answers reads of them from memory: who waits at a tail reads
 * what this instance has just stored. Objects never change, so what was put is what is there. Nothing is copied on the way in.
 */
export function rememberingStore(store: ObjectStore, { bytesMax, isRemembered }: RememberingOptions): ObjectStore {
  const objects = new Map<string, Remembered>();
  let total = 0;

  function forget(key: string): void {
    total -= objects.get(key)?.bytes ?? 0;
    objects.delete(key);
  }

  function remember(key: string, parts: readonly Bytes[]): void {
    forget(key);
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    objects.set(key, { parts, bytes });
    total += bytes;
    for (const oldest of objects.keys()) {
      if (total <= bytesMax) break;
      forget(oldest);
    }
  }

  return {
    head: (key, signal) => store.head(key, signal),
    list: (prefix, page, signal) => store.list(prefix, page, signal),
    async put(key, body, signal) {
      await store.put(key, body, signal);
      // Only once it is there: what was not answered may never have been stored.
      if (isRemembered(key)) remember(key, body);
    },
    async getRange(key, start, length, signal) {
      const object = objects.get(key);
      return object === undefined ? store.getRange(key, start, length, signal) : cutRange(object.parts, start, length);
    },
    delete(key, signal) {
      forget(key);
      return store.delete(key, signal);
    },
  };
}

/** The bytes `[start, start + length)` of the parts; fewer where they end before. A range within one part is not copied. */
function cutRange(parts: readonly Bytes[], start: number, length: number): Bytes {
  const pieces: Bytes[] = [];
  let at = 0;
  for (const part of parts) {
    const from = Math.max(start - at, 0);
    const to = Math.min(start + length - at, part.length);
    if (from < to) pieces.push(part.subarray(from, to));
    at += part.length;
    if (at >= start + length) break;
  }
  const [only] = pieces;
  return only !== undefined && pieces.length === 1 ? only : join(pieces);
}

function join(pieces: readonly Bytes[]): Bytes {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
