import type { BatchSpan } from './page.ts';
import type { Room, TakeBounds } from './take-batch.ts';

/** What a page may still take; `isEmpty`: it has nothing yet. */
export type PageProgress = { room: Room; isEmpty: boolean; readonly whole: boolean };
/** The same for one segment's share of it, and what was taken so far, up to offset `next`; `passed`: messages that are quarantined. */
export type PartProgress<S extends BatchSpan> = { room: Room; used: Room; next: number; passed: number; readonly slices: S[] };

export const NO_ROOM: Room = { messages: 0, bytes: 0, batches: 0 };
export const UNBOUNDED: Room = { messages: Infinity, bytes: Infinity, batches: Infinity };

const isFull = (room: Room): boolean => room.messages <= 0 || room.bytes <= 0 || room.batches <= 0;

export const less = (room: Room, used: Room): Room => ({
  messages: room.messages - used.messages,
  bytes: room.bytes - used.bytes,
  batches: room.batches - used.batches,
});

const smaller = (a: Room, b: Room): Room => ({
  messages: Math.min(a.messages, b.messages),
  bytes: Math.min(a.bytes, b.bytes),
  batches: Math.min(a.batches, b.batches),
});

/** Nothing more is to be taken; what the room does not say of a page or a part that has nothing yet. */
export const isDone = (part: PartProgress<BatchSpan>, page: PageProgress): boolean =>
  (!page.isEmpty && isFull(page.room)) || (part.slices.length > 0 && isFull(part.room));

/** For the next batch. The page's first message comes whatever its size, and each part's first one if the page has room for it. */
export function boundsOf(part: PartProgress<BatchSpan>, page: PageProgress): TakeBounds {
  const least = page.isEmpty ? UNBOUNDED : part.slices.length === 0 ? page.room : NO_ROOM;
  return { from: part.next, room: smaller(part.room, page.room), least };
}

/** `bytes`: what it takes of the room. */
export function addSlice<S extends BatchSpan>(
  { part, page }: { readonly part: PartProgress<S>; readonly page: PageProgress },
  slice: S,
  bytes: number,
): void {
  const used = { messages: slice.to - slice.from, bytes, batches: 1 };
  part.slices.push(slice);
  page.room = less(page.room, used);
  page.isEmpty = false;
  part.room = less(part.room, used);
  part.used = { messages: part.used.messages + used.messages, bytes: part.used.bytes + bytes, batches: part.used.batches + 1 };
  part.next = slice.to;
}

/** Up to offset `to`, which nobody is shown. */
export function passOver(part: PartProgress<BatchSpan>, to: number): void {
  part.passed += to - part.next;
  part.next = to;
}
