import { readBatchHeader } from '../format/record-batch-header.ts';
import type { StoredMessage } from '../model/message.ts';
import type { BatchDecoder, PlacedBatch } from './decode-batch.ts';

/** What a page may still take. Batches count where they are not read: each costs a look of its own. */
export type Room = { readonly messages: number; readonly bytes: number; readonly batches: number };
/** Offsets `from` to `to` − 1, and what they cost; `to` = `from`: no room. */
export type Taken = { readonly to: number; readonly bytes: number };

export type TakeBounds = {
  readonly from: number;
  readonly room: Room;
  /** Room for at least one message (or one whole batch), where nothing fits `room`. */
  readonly least: Room;
};

/**
 * How much of a batch, from offset `from` on, fits the room. Counts what the messages hold, not what the store does, so that
 * a page of well compressed batches stays small in memory, too.
 */
export async function takeMessages(decoder: BatchDecoder, batch: PlacedBatch, { from, room, least }: TakeBounds): Promise<Taken> {
  const end = Math.min(batch.baseOffset + batch.count, from + Math.max(room.messages, Math.min(least.messages, 1)));
  const stored = batch.bytes.length;
  // Uncompressed, the messages are surely smaller than the batch: no need to look.
  if (stored <= room.bytes && readBatchHeader(batch.bytes).codec === 'none') return { to: end, bytes: stored };
  const messages = await decoder.messages(batch);
  let to = from;
  let bytes = 0;
  for (const message of messages.slice(from - batch.baseOffset, end - batch.baseOffset)) {
    const size = messageBytes(message);
    if (bytes + size > room.bytes && (to > from || size > least.bytes)) break;
    bytes += size;
    to += 1;
  }
  return { to, bytes };
}

/** The same for whoever hands out batches as they are stored: whole ones, counted as stored. */
export function takeWhole(
  { baseOffset, count, bytes }: { readonly baseOffset: number; readonly count: number; readonly bytes: number },
  { from, room, least }: TakeBounds,
): Taken {
  const end = baseOffset + count;
  const fits = (into: Room): boolean => end - from <= into.messages && bytes <= into.bytes && into.batches >= 1;
  return fits(room) || fits(least) ? { to: end, bytes } : { to: from, bytes: 0 };
}

const HEADER_MARKS_BYTES = 2;

function messageBytes({ key, value, headers }: StoredMessage): number {
  let bytes = key.length + (value?.length ?? 0);
  for (const header of headers) bytes += header.name.length + (header.value?.length ?? 0) + HEADER_MARKS_BYTES;
  return bytes;
}
