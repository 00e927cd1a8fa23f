import type { Bytes } from '../model/message.ts';

/**
 * Immutable objects under keys of `[0-9a-z/._=-]`. Guarantees: read-after-write and list-after-write; a PUT is seen whole or
 * not at all. What a lost answer did is unknown: the object may be there, and may appear later.
 *
 * Errors (KelpError): `not-found`/`object-not-found`; `throttled`/`store-throttled` (503 SlowDown, 429) and
 * `unavailable`/`store-unavailable` (other 5xx, refused connections) for reads; for `put`, anything but a clear refusal is
 * `indefinite`/`store-indefinite`; `invalid`/`store-refused` for a 4xx; the signal's own reason after an abort.
 * One call is one attempt: retries are the caller's.
 */
export type ObjectStore = {
  /** Stores `body` (its parts one after the other). Keys are unique by construction: nobody overwrites. */
  put(key: string, body: readonly Bytes[], signal: AbortSignal): Promise<void>;
  /** The bytes `[start, start + length)`; fewer come back only when the object ends before. */
  getRange(key: string, start: number, length: number, signal: AbortSignal): Promise<Bytes>;
  /** What there is under the key; undefined: nothing. Nobody has to send the bytes for it. */
  head(key: string, signal: AbortSignal): Promise<ObjectHead | undefined>;
  /** A page of keys with this prefix, in the store's own order, at most `limit`. */
  list(prefix: string, page: { readonly after?: string; readonly limit: number }, signal: AbortSignal): Promise<ObjectPage>;
  /** Deletes; a missing object is fine. */
  delete(key: string, signal: AbortSignal): Promise<void>;
};

/**
 * `sha256`: 64 hexadecimal digits, of an object that was put with that checksum; undefined: the store doesn't know it, or hands the
 * object out under a Content-Encoding, by which readers get other bytes.
 */
export type ObjectHead = { readonly bytes: number; readonly sha256: string | undefined };

export type ObjectPage = {
  readonly objects: readonly { readonly key: string; readonly bytes: number }[];
  /** Where the next page begins; absent at the end. */
  readonly next?: string;
};
