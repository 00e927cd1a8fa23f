import type { UploadId } from './ids.ts';

/** Bytes in memory that nobody changes any more. */
export type Bytes = Uint8Array;

/** A header's value is bytes; null is 'no value', which differs from an empty one. */
export type Header = { readonly name: string; readonly value: Bytes | null };

/**
 * One message before it is stored. `key` is the resolved partition key. `value` null is a tombstone.
 * The header `kelp-kind` (`json`, `text` or `upload`) says how the value was sent; without it, the value is bytes.
 * `timestampMs`: integer, 0 … 253402300799999.
 */
export type Message = {
  readonly key: Bytes;
  readonly value: Bytes | null;
  readonly headers: readonly Header[];
  readonly timestampMs: number;
  /** What the value is a reference to, of a message that has not been stored yet; before that is looked up, the value is empty. */
  readonly upload?: UploadId;
};

/** A message as it was stored: its address in the segment, and its partition. */
export type StoredMessage = Message & { readonly offset: number; readonly partition: number };

export const KIND_HEADER = 'kelp-kind';
