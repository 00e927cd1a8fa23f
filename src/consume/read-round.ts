import { KelpError } from '../model/errors.ts';
import type { Entry, Head } from '../model/head.ts';
import type { SegmentId } from '../model/ids.ts';
import { READ_PARTS_MAX, READ_ROUNDS_MAX, READ_SEGMENTS_PARALLEL_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import { inParallel } from '../state/in-parallel.ts';
import { startBeyond } from './archived-messages.ts';
import type { CursorState } from './cursor.ts';
import type { WrittenRecord } from './file-records.ts';
import { findEntries } from './find-entries.ts';
import { type Position, replace } from './lineage.ts';
import type { BatchSpan } from './page.ts';
import { less } from './part-progress.ts';
import type { PartRead } from './read-batches.ts';
import type { ReadDeps } from './read-from.ts';
import { freshHead, ofLiving } from './read-head.ts';
import type { Room } from './take-batch.ts';
import { rotated, shareOf, turnBehind } from './turns.ts';

export type RoundWanted = {
  readonly state: CursorState;
  readonly room: Room;
  readonly whole: boolean;
  /** Whether segments at their known tail are looked at anew; not needed right after a wait, whose polls just did. */
  readonly probe: boolean;
};
export type Round<S extends BatchSpan> = {
  readonly slices: readonly S[];
  readonly state: CursorState;
  /** Whether anything was read, or passed over. */
  readonly isFurther: boolean;
  readonly trouble: Trouble | undefined;
};
/** Why nothing could be read of a segment that has something. */
export type Trouble = { readonly segment: SegmentId; readonly error: KelpError };

type Open = Position & { readonly segment: SegmentId };
/** A segment being read, by the newest head known of it. */
type Reading = { readonly position: Open; readonly head: Head | undefined };
type Behind = { readonly position: Open; readonly head: Head };
/** `from`: above the position where what lies between is cut off. */
type Found = Behind & {
  readonly from: number;
  readonly entries: readonly Entry[];
  readonly files: readonly WrittenRecord[];
  readonly error?: KelpError;
};
type Progress<S extends BatchSpan> = {
  state: CursorState;
  readonly slices: S[];
  room: Room;
  isFurther: boolean;
  readonly troubles: Trouble[];
};

/** One look at the segments that are open to the reader, and one page of what they have, shared fairly. */
export async function readRound<S extends BatchSpan>(
  deps: ReadDeps<S>,
  topic: Topic,
  wanted: RoundWanted,
  signal: AbortSignal,
): Promise<Round<S>> {
  const progress: Progress<S> = { state: wanted.state, slices: [], room: wanted.room, isFurther: false, troubles: [] };
  if (wanted.probe) await probe(deps, topic, progress, signal);
  settle(deps, topic, progress);
  for (let round = 0; round < READ_ROUNDS_MAX && hasMuchRoom(progress, wanted.room); round += 1) {
    const behind = behindOf(deps, topic, progress);
    if (behind.length === 0) break;
    await readShares(deps, topic, { behind, progress, whole: wanted.whole }, signal);
  }
  return { slices: progress.slices, state: progress.state, isFurther: progress.isFurther, trouble: progress.troubles[0] };
}

/** Small rests are left: a page needn't be full, and its index would be looked at once more for them. */
const hasMuchRoom = ({ room, slices }: Progress<BatchSpan>, whole: Room): boolean =>
  slices.length === 0 || (room.messages > whole.messages / 4 && room.bytes > whole.bytes / 4 && room.batches >= whole.batches / 4);

export function openOf(positions: readonly Position[]): Open[] {
  return positions.filter((position): position is Open => !position.finished && position.segment !== '');
}

function readings(deps: ReadDeps<BatchSpan>, topic: Topic, positions: readonly Position[]): Reading[] {
  return openOf(positions).map((position) => ({ position, head: deps.heads.known(topic.id, position.segment) }));
}

const isBehind = (reading: Reading): reading is Behind => reading.head !== undefined && reading.position.offset < reading.head.tail;

function behindOf(deps: ReadDeps<BatchSpan>, topic: Topic, { state, troubles }: Progress<BatchSpan>): Behind[] {
  const troubled = new Set(troubles.map((trouble) => trouble.segment));
  return readings(deps, topic, state.positions)
    .filter(isBehind)
    .filter((reading) => !troubled.has(reading.position.segment));
}

/**
 * Strong reads of segments where no news are known: a few in each call, in turn, so that none is forgotten while others are
 * busy; all of them before the answer may be that there is nothing.
 */
async function probe(deps: ReadDeps<BatchSpan>, topic: Topic, progress: Progress<BatchSpan>, signal: AbortSignal): Promise<void> {
  const all = readings(deps, topic, progress.state.positions);
  const quiet = rotated(all, progress.state.probeTurn).filter((reading) => !isBehind(reading));
  let hasNews = quiet.length < all.length;
  do {
    const some = quiet.splice(0, READ_SEGMENTS_PARALLEL_MAX);
    const heads = await inParallel(some, READ_SEGMENTS_PARALLEL_MAX, ({ position }) => freshHead(deps, topic, position.segment, signal));
    progress.state = { ...progress.state, probeTurn: turnBehind(some, progress.state.probeTurn) };
    hasNews ||= some.some(({ position }, index) => position.offset < (heads[index]?.tail ?? 0));
  } while (!hasNews && quiet.length > 0);
}

/** Marks what is read to its sealed end: offset and seal from one state of the head. */
function settle(deps: ReadDeps<BatchSpan>, topic: Topic, progress: Progress<BatchSpan>): void {
  let { positions } = progress.state;
  for (const { position, head } of readings(deps, topic, positions)) {
    if (head === undefined || ofLiving(head).state !== 'sealed' || position.offset < head.tail) continue;
    positions = replace(positions, { ...position, finished: true });
  }
  progress.state = { ...progress.state, positions };
}

/** The next few that are behind read a share each; their index entries are found side by side, their objects together. */
async function readShares<S extends BatchSpan>(
  deps: ReadDeps<S>,
  topic: Topic,
  { behind, progress, whole }: { readonly behind: readonly Behind[]; readonly progress: Progress<S>; readonly whole: boolean },
  signal: AbortSignal,
): Promise<void> {
  const count = Math.min(behind.length, READ_PARTS_MAX, progress.room.messages);
  const share = shareOf(progress.room, count);
  const next = rotated(behind, progress.state.readTurn).slice(0, count);
  const all = await inParallel(next, READ_SEGMENTS_PARALLEL_MAX, (reading) => find(deps, topic, { reading, share }, signal));
  const found = atOnce(all);
  const ownShare = found[0] !== undefined && isInFiles(found[0]) ? progress.room : share;
  const parts = found.map(({ position: { segment }, from, entries, files }) => ({ segment, from, entries, files, share: ownShare }));
  const isFirst = progress.slices.length === 0;
  const reads = await deps.batches.read(topic, { parts, room: progress.room, whole, isFirst }, signal);
  reads.forEach((read, index) => {
    const part = found[index];
    if (part !== undefined) take(progress, part, read);
  });
}

const isInFiles = ({ files }: Found): boolean => files.length > 0;

/**
 * Those that are read together. What is in files comes alone: a row group is unpacked for a page, and of many at once each would be
 * unpacked again for the next few messages.
 */
function atOnce(found: readonly Found[]): readonly Found[] {
  const first = found.findIndex(isInFiles);
  return first === -1 ? found : found.slice(0, Math.max(1, first));
}

/** A hole in one segment's index must not keep the reader from the others; what is cut off is passed over. */
async function find(
  deps: ReadDeps<BatchSpan>,
  topic: Topic,
  { reading, share }: { readonly reading: Behind; readonly share: Room },
  signal: AbortSignal,
): Promise<Found> {
  const { position, head } = reading;
  try {
    const from = position.offset;
    return { position, from, ...(await findEntries(deps, topic, { head, from, room: share }, signal)) };
  } catch (error) {
    const nothing = { position, head, entries: [], files: [] };
    const start = startBeyond(error);
    if (start !== undefined) return { ...nothing, from: start };
    if (!(error instanceof KelpError) || error.kind !== 'corrupt') throw error;
    return { ...nothing, from: position.offset, error };
  }
}

function take<S extends BatchSpan>(progress: Progress<S>, { position, head, error: hole }: Found, read: PartRead<S>): void {
  const error = hole ?? read.trouble;
  if (error !== undefined) progress.troubles.push({ segment: position.segment, error });
  const isFurther = read.next > position.offset;
  // There was no room left: its turn is next.
  if (error === undefined && !isFurther) return;
  const finished = head.state === 'sealed' && read.next === head.tail;
  progress.slices.push(...read.slices);
  progress.isFurther ||= isFurther;
  progress.room = less(progress.room, read.used);
  progress.state = {
    ...progress.state,
    positions: replace(progress.state.positions, { ...position, offset: read.next, finished }),
    readTurn: turnBehind([{ position }], progress.state.readTurn),
  };
}
