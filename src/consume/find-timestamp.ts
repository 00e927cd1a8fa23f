import { type Entry, entryCount, type Head } from '../model/head.ts';
import { READ_MESSAGES_MAX, READ_RANGE_BYTES_MAX, TIMESTAMP_STEPS_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { BatchDecoder } from './decode-batch.ts';
import { findEntries, type IndexDeps } from './find-entries.ts';
import type { BatchSlice } from './page.ts';
import { UNBOUNDED } from './part-progress.ts';
import type { BatchReader } from './read-batches.ts';
import { type FindTimestamp, readFrom } from './read-from.ts';

type TimestampDeps = IndexDeps & { readonly batches: BatchReader; readonly decoder: BatchDecoder; readonly telemetry: Telemetry };
type Sought = { readonly head: Head; readonly start: number; readonly timestampMs: number };

/** Offsets `from` to `to` − 1, where the message is if the index is exact; it is not before them. */
type Candidate = { readonly from: number; readonly to: number };

/** Timestamps need not be in order: the lowest offset is the one rule that loses nothing where clocks disagree. */
export const createFindTimestamp =
  (deps: TimestampDeps): FindTimestamp =>
  (topic, sought, signal) =>
    findTimestamp(deps, topic, sought, signal);

async function findTimestamp(deps: TimestampDeps, topic: Topic, sought: Sought, signal: AbortSignal): Promise<number> {
  const { head } = sought;
  const candidate = await lowestCandidate(deps, sought, signal);
  let { from } = candidate;
  while (from < head.tail) {
    const messages = from < candidate.to ? candidate.to - from : READ_MESSAGES_MAX;
    const { entries } = await findEntries(deps, topic, { head, from, room: { ...UNBOUNDED, messages } }, signal);
    const entry = entries.find((one) => one.highestTimestampMs >= sought.timestampMs);
    if (entry === undefined) {
      from = entries.reduce((end, one) => Math.max(end, endOf(one)), from);
      continue;
    }
    from = Math.max(from, entry.offset);
    // Piece by piece: an entry that was uploaded may be far larger than what anybody should hold.
    const room = { ...UNBOUNDED, messages: endOf(entry) - from, bytes: READ_RANGE_BYTES_MAX };
    const read = await readFrom(deps, topic, { head, from, room, whole: true }, signal);
    const offset = await firstAtOrAfter(deps, read.slices, sought.timestampMs);
    if (offset !== undefined) return offset;
    from = read.next;
  }
  return head.tail;
}

const endOf = (entry: Entry): number => entry.offset + entryCount(entry);

/** By halves: a page knows the highest timestamp of all messages up to its end. */
async function lowestCandidate(deps: TimestampDeps, { head, start, timestampMs }: Sought, signal: AbortSignal): Promise<Candidate> {
  if (timestampMs > head.spilledTimestampMs) return { from: Math.max(start, head.spilled), to: head.tail };
  let low = start;
  let high = head.spilled;
  let to = head.spilled;
  for (let step = 0; step < TIMESTAMP_STEPS_MAX && low < high; step += 1) {
    const page = await deps.pages.at(head, low + Math.floor((high - low) / 2), signal);
    // A hole: looking on from here meets it, and knows what to do.
    if (page === undefined) break;
    if (page.highestTimestampMs >= timestampMs) {
      high = page.first;
      to = page.next;
    } else {
      low = page.next;
    }
  }
  return { from: low, to };
}

/** Inside a batch every message is looked at. */
async function firstAtOrAfter(deps: TimestampDeps, slices: readonly BatchSlice[], timestampMs: number): Promise<number | undefined> {
  for (const slice of slices) {
    const messages = await deps.decoder.messages(slice);
    const found = messages.find((message) => message.offset >= slice.from && message.timestampMs >= timestampMs);
    if (found !== undefined) return found.offset;
  }
  return undefined;
}
