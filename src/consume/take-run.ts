import type { Bytes } from '../model/message.ts';
import { timeOfCommitMs } from '../protocol/commit-id.ts';
import { damaged } from './damage.ts';
import type { BatchDecoder } from './decode-batch.ts';
import type { BatchSlice } from './page.ts';
import type { SplitRun } from './split-run.ts';
import { type Room, takeMessages, takeWhole } from './take-batch.ts';
import type { WantedRun } from './wanted-runs.ts';

/** What a page may still take; `isEmpty`: it has nothing yet. */
export type PageProgress = { room: Room; isEmpty: boolean; readonly whole: boolean };
/** The same for one segment's share of it, and what was taken so far, up to offset `next`. */
export type PartProgress = { room: Room; used: Room; next: number; readonly slices: BatchSlice[] };

export const NO_ROOM: Room = { messages: 0, bytes: 0 };
const UNBOUNDED: Room = { messages: Infinity, bytes: Infinity };

export const isFull = (room: Room): boolean => room.messages <= 0 || room.bytes <= 0;

export type TakeDeps = { readonly decoder: BatchDecoder; readonly split: SplitRun };

/** Takes what fits of one run, each batch of it verified; false where the part ends with it. Error `corrupt`. */
export async function takeRun(
  deps: TakeDeps,
  wanted: WantedRun,
  {
    topic,
    bytes: runBytes,
    part,
    page,
  }: { readonly topic: string; readonly bytes: Bytes; readonly part: PartProgress; readonly page: PageProgress },
): Promise<boolean> {
  const { decoder, split } = deps;
  const origin = { topic, segment: wanted.segment, object: wanted.range.key };
  for (const { offset, count, bytes } of split(runBytes, { ...wanted.run, offset: wanted.offset })) {
    const end = offset + count;
    if (end <= part.next) continue;
    if (bytes === undefined) throw damaged({ ...origin, offset, nextOffset: end }, 'a stored object is damaged');
    const batch = { bytes, baseOffset: offset, count };
    decoder.note(batch, origin);
    const bounds = { from: part.next, room: smaller(part.room, page.room), least: leastOf(part, page) };
    const taken = await (page.whole ? takeWhole(batch, bounds) : takeMessages(decoder, batch, bounds));
    if (taken.to === part.next) return false;
    const slice = { segment: wanted.segment, ...batch, from: part.next, to: taken.to, committedMs: timeOfCommitMs(wanted.cid) };
    decoder.hold(slice);
    part.slices.push(slice);
    record(part, page, { messages: taken.to - part.next, bytes: taken.bytes });
    part.next = taken.to;
    if (taken.to < end) return false;
  }
  return true;
}

/** The page's first message comes whatever its size, and each part's first one if the page has room for it. */
function leastOf(part: PartProgress, page: PageProgress): Room {
  if (page.isEmpty) return UNBOUNDED;
  return part.slices.length === 0 ? page.room : NO_ROOM;
}

function record(part: PartProgress, page: PageProgress, used: Room): void {
  page.room = less(page.room, used);
  page.isEmpty = false;
  part.room = less(part.room, used);
  part.used = { messages: part.used.messages + used.messages, bytes: part.used.bytes + used.bytes };
}

const less = (room: Room, used: Room): Room => ({ messages: room.messages - used.messages, bytes: room.bytes - used.bytes });
const smaller = (a: Room, b: Room): Room => ({ messages: Math.min(a.messages, b.messages), bytes: Math.min(a.bytes, b.bytes) });
