import { decodeBatch } from '../format/record-batch-decode.ts';
import { KelpError } from '../model/errors.ts';
import { READ_DECODED_BYTES_MAX } from '../model/limits.ts';
import type { Bytes, StoredMessage } from '../model/message.ts';
import type { Compression } from '../ports/compression.ts';
import { type Damage, damaged } from './damage.ts';

/** Where a verified batch came from: what an error about it names. */
export type BatchOrigin = Pick<Damage, 'topic' | 'segment' | 'object'>;
export type PlacedBatch = { readonly bytes: Bytes; readonly baseOffset: number; readonly count: number };

/** Decodes batches, each once for as long as a page shows it, or somebody is in the middle of it. */
export type BatchDecoder = {
  /** Remembers where the batch came from. */
  note(batch: PlacedBatch, origin: BatchOrigin): void;
  /** Keeps what was decoded of this batch's bytes for as long as somebody has `batch`: a page is measured, and then shown. */
  hold(batch: PlacedBatch): void;
  /** The same of a batch whose messages are there. */
  give(batch: PlacedBatch, messages: readonly StoredMessage[]): void;
  /** Error `corrupt` where a batch with a right checksum holds what no publish lets through. */
  messages(batch: PlacedBatch): Promise<readonly StoredMessage[]>;
};

type Messages = Promise<readonly StoredMessage[]>;

/** `bytesMax`: of what was decoded last and nobody holds. */
export function createBatchDecoder(compression: Compression, bytesMax = READ_DECODED_BYTES_MAX): BatchDecoder {
  const origins = new WeakMap<Bytes, BatchOrigin>();
  const held = new WeakMap<PlacedBatch, Messages>();
  const recent = createRecent(bytesMax);

  async function decode({ bytes, baseOffset, count }: PlacedBatch): Messages {
    try {
      return await decodeBatch(bytes, baseOffset, compression);
    } catch (error) {
      const origin = origins.get(bytes);
      if (!(error instanceof KelpError) || error.kind !== 'invalid' || origin === undefined) throw error;
      const where = { ...origin, offset: baseOffset, nextOffset: baseOffset + count };
      throw damaged(where, 'a stored batch does not decode', error);
    }
  }

  return {
    note: (batch, origin) => origins.set(batch.bytes, origin),
    hold(batch) {
      const messages = recent.get(batch.bytes);
      if (messages !== undefined) held.set(batch, messages);
    },
    give: (batch, messages) => held.set(batch, Promise.resolve(messages)),
    messages(batch) {
      const known = held.get(batch) ?? recent.get(batch.bytes);
      if (known !== undefined) return known;
      const messages = decode(batch);
      recent.add(batch.bytes, messages);
      return messages;
    },
  };
}

/** A message's own objects, besides its bytes. */
const MESSAGE_OBJECTS_BYTES = 256;

/** What was decoded last, within a bound: small pages of a large batch would decode it for each of them. */
function createRecent(bytesMax: number) {
  const entries = new Map<Bytes, { readonly messages: Messages; bytes: number }>();
  let total = 0;

  function drop(key: Bytes): void {
    total -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  }

  function settle(key: Bytes, messages: readonly StoredMessage[]): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    const bytes = messages.reduce((sum, { value }) => sum + (value?.length ?? 0) + MESSAGE_OBJECTS_BYTES, key.length);
    total += bytes - entry.bytes;
    entry.bytes = bytes;
    for (const oldest of entries.keys()) {
      // The newest stays whatever its size: the page that it is for holds it next.
      if (total <= bytesMax || entries.size === 1) return;
      drop(oldest);
    }
  }

  return {
    get(key: Bytes): Messages | undefined {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.messages;
    },
    add(key: Bytes, messages: Messages): void {
      entries.set(key, { messages, bytes: 0 });
      messages.then(
        (decoded) => settle(key, decoded),
        // Whoever asked gets the failure.
        () => drop(key),
      );
    },
  };
}
