import { startBeyond } from '../../../src/consume/archived-messages.ts';
import { findEntries, type IndexDeps } from '../../../src/consume/find-entries.ts';
import { readFrom } from '../../../src/consume/read-from.ts';
import { freshHead } from '../../../src/consume/read-head.ts';
import type { Room } from '../../../src/consume/take-batch.ts';
import { KelpError } from '../../../src/model/errors.ts';
import { entryCount, type Head } from '../../../src/model/head.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import type { Process, ProcessState } from '../engine/process.ts';
import { NEVER_ABORTED, SEGMENT, topicItem, WHOLE } from './broker.ts';
import { objectStore } from './objects.ts';
import { readDeps, storedBatches } from './reading.ts';

const TOPIC_READ = topicItem([WHOLE]);

export type ReaderOptions = {
  readonly rounds: number;
  readonly messagesMax: number;
  /** Whether objects have to be there, too. */
  readonly objects?: boolean;
};

/** Reads a segment from its beginning by the product's own walk of head, pages and records, keeping what it has seen of them. */
export function reader(name: string, options: ReaderOptions): Process {
  return { name, start: {}, phases: [(table) => (options.objects === true ? readStored(table, options) : readIndex(table, options))] };
}

/** A reader's place: no message between what it was given may be missing. */
type Place = { next: number; readonly faults: string[] };

async function readIndex(table: MetadataTable, options: ReaderOptions): Promise<ProcessState> {
  const deps = readDeps(table);
  return readRounds(deps, options, async (place, { head, room }) => {
    const { entries } = await findEntries(deps, TOPIC_READ, { head, from: place.next, room }, NEVER_ABORTED);
    for (const entry of entries) {
      // An entry may hold messages that were read before; none may be passed over.
      if (entry.offset > place.next) place.faults.push(`skip: read ${entry.offset} where ${place.next} comes next`);
      place.next = entry.offset + entryCount(entry);
    }
  });
}

async function readStored(table: MetadataTable, options: ReaderOptions): Promise<ProcessState> {
  const deps = { ...readDeps(table), batches: storedBatches(objectStore(table)) };
  return readRounds(deps, options, async (place, { head, room }) => {
    try {
      const { slices, next } = await readFrom(deps, TOPIC_READ, { head, from: place.next, room, whole: false }, NEVER_ABORTED);
      const first = slices[0]?.baseOffset ?? next;
      if (first > place.next) place.faults.push(`skip: read ${first} where ${place.next} comes next`);
      place.next = next;
    } catch (error) {
      const start = startBeyond(error);
      if (start === undefined && !(error instanceof KelpError)) throw error;
      if (start === undefined) place.faults.push(`unreadable: ${place.next}: ${String(error)}`);
      place.next = start ?? place.next;
    }
  });
}

type Read = (place: Place, wanted: { readonly head: Head; readonly room: Room }) => Promise<void>;

async function readRounds(deps: IndexDeps, { rounds, messagesMax }: ReaderOptions, read: Read): Promise<ProcessState> {
  const room = { messages: messagesMax, bytes: 1_000, batches: Infinity };
  const place: Place = { next: 0, faults: [] };
  for (let round = 0; round < rounds; round += 1) {
    const head = await freshHead(deps, TOPIC_READ, SEGMENT, NEVER_ABORTED);
    if (place.next > head.tail) place.faults.push(`tail-back: read to ${place.next}, the tail is ${head.tail}`);
    if (place.next < head.tail) await read(place, { head, room });
  }
  return place;
}
