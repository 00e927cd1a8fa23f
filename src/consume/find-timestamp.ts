import { entryCount, type Head } from '../model/head.ts';
import { READ_MESSAGES_MAX, READ_RANGE_BYTES_MAX, TIMESTAMP_STEPS_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import { readPageAt } from '../state/pages.ts';
import { findEntries } from './find-entries.ts';
import type { BatchSlice } from './page.ts';
import { type ReadDeps, readFrom } from './read-from.ts';

type Sought = { readonly head: Head; readonly start: number; readonly timestampMs: number };

const LOOK = { messages: READ_MESSAGES_MAX, bytes: READ_RANGE_BYTES_MAX };

/**
 * The lowest offset from `start` on whose message has this timestamp or a later one, or the head's tail where none has.
 * Timestamps need not be in order: this is the one rule that loses nothing where clocks disagree.
 */
export async function findTimestamp(deps: ReadDeps, topic: Topic, sought: Sought, signal: AbortSignal): Promise<number> {
  const { head } = sought;
  let from = await lowestCandidate(deps, sought, signal);
  while (from < head.tail) {
    const { entries } = await findEntries(deps, topic, { head, from, room: LOOK }, signal);
    const entry = entries.find((candidate) => candidate.highestTimestampMs >= sought.timestampMs);
    if (entry === undefined) {
      const last = entries.at(-1);
      if (last === undefined) return head.tail;
      from = last.offset + entryCount(last);
      continue;
    }
    const read = await readFrom(deps, topic, { head, from: Math.max(from, entry.offset), room: LOOK, whole: true }, signal);
    const offset = await firstAtOrAfter(deps, read.slices, sought.timestampMs);
    if (offset !== undefined) return offset;
    from = read.next;
  }
  return head.tail;
}

/** Where the first page begins that may hold it: a page knows the highest timestamp of all messages up to its end. */
async function lowestCandidate(deps: ReadDeps, { head, start, timestampMs }: Sought, signal: AbortSignal): Promise<number> {
  if (timestampMs > head.spilledTimestampMs) return Math.max(start, head.spilled);
  let low = start;
  let high = head.spilled;
  for (let step = 0; step < TIMESTAMP_STEPS_MAX && low < high; step += 1) {
    const page = await readPageAt(deps.table, head, low + Math.floor((high - low) / 2), signal);
    // A hole: looking on from here meets it, and knows what to do.
    if (page === undefined) return low;
    if (page.highestTimestampMs >= timestampMs) high = page.first;
    else low = page.next;
  }
  return low;
}

/** Inside a batch every message is looked at. */
async function firstAtOrAfter(deps: ReadDeps, slices: readonly BatchSlice[], timestampMs: number): Promise<number | undefined> {
  for (const slice of slices) {
    const messages = await deps.decoder.messages(slice);
    const found = messages.find((message) => message.offset >= slice.from && message.timestampMs >= timestampMs);
    if (found !== undefined) return found.offset;
  }
  return undefined;
}
