import type { Archive } from '../model/archive.ts';
import { type Entry, entryCount, type Head, type ObjectRef, type Page } from '../model/head.ts';
import type { CommitId } from '../model/ids.ts';
import { HEAD_ENTRIES_MAX } from '../model/limits.ts';

/** A commit id that was sent. `tail`: the segment's tail as read before the first send. */
export type SentCommit = {
  readonly cid: CommitId;
  readonly object: ObjectRef;
  readonly tail: number;
  /** Recorded where other handlers find it: an entry under this id is ours whatever object it names. */
  readonly recorded: boolean;
  /** An upload's item names it (U2): had it landed in what was archived since, the item would say so, and be another one. */
  readonly named?: boolean;
};

/**
 * `dead`: absent, and it can never land: its id is at or below the guard, or another instance's entry stands under it;
 * the segment is sealed; or its object is of a minute below the floor. `open`: absent from this read, but it may land yet.
 * `unknown`: pages are missing, so absence can't be proved.
 */
export type Fate =
  | { readonly fate: 'landed'; readonly entry: Entry }
  | { readonly fate: 'dead'; readonly because: 'guard' | 'sealed' | 'floor'; readonly head: Head }
  | { readonly fate: 'open'; readonly head: Head }
  | { readonly fate: 'unknown' };

/** What to do next: read the page that holds `offset`, or, where there is none, how far the segment is archived; or stop. */
export type FateStep =
  | { readonly step: 'done'; readonly fate: Fate }
  | { readonly step: 'read-page' | 'read-archive'; readonly offset: number; readonly walk: Walk };

type Walk = {
  readonly sent: SentCommit;
  readonly head: Head;
  /** Entries seen since the first page whose guard covers the id; undefined: no such page yet. */
  readonly seenBeyond: number | undefined;
};

/**
 * A4: the head first, by a strong read, then the pages. Guard, state, floor and spill count are those of this same read:
 * an entry that leaves the head later goes to a page that is read later.
 */
export function fateFromHead(sent: SentCommit, head: Head): FateStep {
  const entry = head.entries.find((candidate) => candidate.cid === sent.cid);
  if (entry !== undefined) return done(found(sent, entry, head));
  // Only the spill takes entries out, and it lifts the guard to them: an id above the guard was never spilled.
  if (sent.cid > head.guard) return done(absent(sent, head));
  return nextPage({ sent, head, seenBeyond: undefined }, sent.tail);
}

/** `page`: the one that holds `offset`, which was asked for; undefined where there is none. */
export function fateFromPage(walk: Walk, offset: number, page: Page | undefined): FateStep {
  if (page === undefined) return { step: 'read-archive', offset, walk };
  const entry = page.entries.find((candidate) => candidate.cid === walk.sent.cid);
  if (entry !== undefined) return done(found(walk.sent, entry, walk.head));
  const covered = walk.seenBeyond !== undefined || page.guard >= walk.sent.cid;
  const seenBeyond = covered ? (walk.seenBeyond ?? 0) + page.entries.length : undefined;
  // W1: when that page was put, at most HEAD_ENTRIES_MAX entries were in the head; ours would be one of them.
  if (seenBeyond !== undefined && seenBeyond >= HEAD_ENTRIES_MAX) return done(absent(walk.sent, walk.head));
  return nextPage({ ...walk, seenBeyond }, page.next);
}

/**
 * A5: read after the pages, of which one that should hold `offset` is gone. What was archived says of each id above its highest one that it
 * is not in there; of others nobody knows any more, but of those that an upload's item names.
 */
export function fateFromArchive(walk: Walk, offset: number, { through, guard }: Archive): FateStep {
  if (offset >= through) return done({ fate: 'unknown' });
  if (walk.sent.cid <= guard && walk.sent.named !== true) return done({ fate: 'unknown' });
  return nextPage(walk, through);
}

function nextPage(walk: Walk, offset: number): FateStep {
  if (offset >= walk.head.spilled) return done(absent(walk.sent, walk.head));
  return { step: 'read-page', offset, walk };
}

const done = (fate: Fate): FateStep => ({ step: 'done', fate });

/** A3: another instance's entry under the same id is not ours, and keeps ours from landing for ever. */
function found(sent: SentCommit, entry: Entry, head: Head): Fate {
  if (sent.recorded || sameObject(entry.object, sent.object)) return { fate: 'landed', entry };
  return { fate: 'dead', because: 'guard', head };
}

const sameObject = (a: ObjectRef, b: ObjectRef): boolean => a.id === b.id && a.minute === b.minute;

function absent(sent: SentCommit, head: Head): Fate {
  if (head.state === 'sealed') return { fate: 'dead', because: 'sealed', head };
  if (sent.cid <= head.guard) return { fate: 'dead', because: 'guard', head };
  if (sent.object.minute < head.floor) return { fate: 'dead', because: 'floor', head };
  return { fate: 'open', head };
}

/** Offset of each member of a group that landed under this entry, by the entry's own mask (A7); undefined: not in it. */
export function memberOffsets(entry: Entry, counts: readonly number[]): (number | undefined)[] {
  let offset = entry.offset;
  const offsets = counts.map((count, member) => {
    if (!isMember(entry, member)) return undefined;
    const first = offset;
    offset += count;
    return first;
  });
  if (offset !== entry.offset + entryCount(entry)) throw new Error(`entry ${entry.cid} does not have the messages of its members`);
  return offsets;
}

function isMember(entry: Entry, member: number): boolean {
  if (entry.mask === undefined) return true;
  return (((entry.mask[member >> 3] ?? 0) >> (member & 7)) & 1) === 1;
}

/** The mask of the members that are in; undefined where all are. */
export function memberMask(included: readonly boolean[]): Uint8Array | undefined {
  if (included.every(Boolean)) return undefined;
  const mask = new Uint8Array((included.length + 7) >> 3);
  for (const [member, isIn] of included.entries()) {
    if (isIn) mask[member >> 3] = (mask[member >> 3] ?? 0) | (1 << (member & 7));
  }
  return mask;
}
