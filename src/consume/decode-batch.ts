import { decodeBatch } from '../format/record-batch-decode.ts';
import { KelpError } from '../model/errors.ts';
import type { Bytes, StoredMessage } from '../model/message.ts';
import type { Compression } from '../ports/compression.ts';
import { type Damage, damaged } from './damage.ts';

/** Where a verified batch came from: what an error about it names. */
export type BatchOrigin = Pick<Damage, 'topic' | 'segment' | 'object'>;
export type PlacedBatch = { readonly bytes: Bytes; readonly baseOffset: number; readonly count: number };

/** Decodes batches, each once for as long as somebody holds it: a page is measured by its messages, and then shown. */
export type BatchDecoder = {
  /** Remembers where the batch came from. */
  note(batch: PlacedBatch, origin: BatchOrigin): void;
  /** Error `corrupt` where a batch with a right checksum holds what no publish lets through. */
  messages(batch: PlacedBatch): Promise<readonly StoredMessage[]>;
};

export function createBatchDecoder(compression: Compression): BatchDecoder {
  const origins = new WeakMap<Bytes, BatchOrigin>();
  const decoded = new WeakMap<Bytes, Promise<readonly StoredMessage[]>>();

  async function decode({ bytes, baseOffset, count }: PlacedBatch): Promise<readonly StoredMessage[]> {
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
    messages(batch) {
      const known = decoded.get(batch.bytes);
      if (known !== undefined) return known;
      const messages = decode(batch);
      decoded.set(batch.bytes, messages);
      return messages;
    },
  };
}
