import { type Entry, entryCount, type Head } from '../model/head.ts';
import { READ_ATTEMPTS_MAX, READ_MESSAGES_MAX, READ_RANGE_BYTES_MAX, TIMESTAMP_STEPS_MAX } from '../model/limits.ts';
import { KelpError } from '../model/errors.ts';
import type { Topic } from '../model/topic.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { type ArchivedFiles, type WantedFile, wantedFile } from './archived-files.ts';
import { startBeyond } from './archived-messages.ts';
import type { BatchDecoder } from './decode-batch.ts';
import { findEntries, type IndexDeps } from './find-entries.ts';
import { findInFile } from './find-in-file.ts';
import type { BatchSlice } from './page.ts';
import { UNBOUNDED } from './part-progress.ts';
import type { BatchReader } from './read-batches.ts';
import { type FindTimestamp, noteDamage, readFrom } from './read-from.ts';

type TimestampDeps = IndexDeps & {
  readonly batches: BatchReader;
  readonly decoder: BatchDecoder;
  readonly files: ArchivedFiles;
  readonly telemetry: Telemetry;
};
type Sought = { readonly head: Head; readonly start: number; readonly timestampMs: number };

/** Offsets `from` to `to` − 1, where the message is if the index is exact; it is not before them. */
type Candidate = { readonly from: number; readonly to: number };

/** Timestamps need not be in order: the lowest offset is the one rule that loses nothing where clocks disagree. */
export const createFindTimestamp =
  (deps: TimestampDeps): FindTimestamp =>
  async (topic, sought, signal) => {
    for (let { start } = sought, attempt = 1; ; attempt += 1) {
      try {
        return await findTimestamp(deps, topic, { ...sought, start }, signal);
      } catch (error) {
        // The start has risen meanwhile: what is left is looked at.
        const later = startBeyond(error);
        if (later === undefined || attempt === READ_ATTEMPTS_MAX) throw error;
        start = later;
      }
    }
  };

async function findTimestamp(deps: TimestampDeps, topic: Topic, sought: Sought, signal: AbortSignal): Promise<number> {
  const { head } = sought;
  const candidate = await lowestCandidate(deps, sought, signal);
  let { from } = candidate;
  while (from < head.tail) {
    const messages = from < candidate.to ? candidate.to - from : READ_MESSAGES_MAX;
    const { entries, files } = await findEntries(deps, topic, { head, from, room: { ...UNBOUNDED, messages } }, signal);
    if (files[0] !== undefined) {
      const file = wantedFile(topic, head.segment, files[0]);
      const offset = await firstInFile(deps, { head, file, from, timestampMs: sought.timestampMs }, signal);
      if (offset !== undefined) return offset;
      from = files[0].last + 1;
      continue;
    }
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

type InFile = { readonly head: Head; readonly file: WantedFile; readonly from: number; readonly timestampMs: number };

/** As {@link findInFile}, with the same patience as a read has. */
async function firstInFile(deps: TimestampDeps, { head, ...sought }: InFile, signal: AbortSignal): Promise<number | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await findInFile(deps, sought, signal);
    } catch (error) {
      if (!(error instanceof KelpError) || error.kind !== 'corrupt') throw error;
      if (attempt === READ_ATTEMPTS_MAX) throw noteDamage(deps, error);
      deps.files.forget(sought.file.key);
      deps.archived.forget(head);
      // Says so where the file is gone because it was cut off.
      await deps.archived.find(head, { from: sought.from, messages: 1 }, signal);
    }
  }
}

/** By halves: records and pages know the highest timestamp of all messages up to their end. */
async function lowestCandidate(deps: TimestampDeps, { head, start, timestampMs }: Sought, signal: AbortSignal): Promise<Candidate> {
  if (timestampMs > head.spilledTimestampMs) return { from: Math.max(start, head.spilled), to: head.tail };
  let low = start;
  let high = head.spilled;
  let to = head.spilled;
  for (let step = 0; step < TIMESTAMP_STEPS_MAX && low < high; step += 1) {
    const stretch = await stretchAt(deps, head, low + Math.floor((high - low) / 2), signal);
    // A hole: looking on from here meets it, and knows what to do.
    if (stretch === undefined) break;
    if (stretch.highestTimestampMs >= timestampMs) {
      high = stretch.first;
      to = stretch.next;
    } else {
      low = stretch.next;
    }
  }
  return { from: low, to };
}

type Stretch = { readonly first: number; readonly next: number; readonly highestTimestampMs: number };

async function stretchAt(deps: TimestampDeps, head: Head, offset: number, signal: AbortSignal): Promise<Stretch | undefined> {
  const record = await deps.archived.recordAt(head, offset, signal);
  return record === undefined ? deps.pages.at(head, offset, signal) : { ...record, next: record.last + 1 };
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
