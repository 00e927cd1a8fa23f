import { KelpError } from '../model/errors.ts';
import type { Entry } from '../model/head.ts';
import type { SegmentId } from '../model/ids.ts';
import { READ_GAP_BYTES_MAX, READ_TOPIC_GAP_BYTES_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import { damaged } from './damage.ts';
import type { ObjectRanges } from './object-ranges.ts';
import type { BatchSlice } from './page.ts';
import { createRangeReader, type RangeReader } from './range-reader.ts';
import type { Room } from './take-batch.ts';
import { isFull, NO_ROOM, type PageProgress, type PartProgress, type TakeDeps, takeRun } from './take-run.ts';
import { type WantedRun, wantedRuns } from './wanted-runs.ts';

/** What is to be read of one segment: from this offset on, as far as the entries and the share go. */
export type Part = { readonly segment: SegmentId; readonly from: number; readonly entries: readonly Entry[]; readonly share: Room };

/** `isFirst`: the page has nothing yet, so that its first message comes whatever its size. */
export type PartsWanted = { readonly parts: readonly Part[]; readonly room: Room; readonly whole: boolean; readonly isFirst: boolean };

/** What was read, and what it took. `trouble`: why nothing behind `next` could be; a read that begins there meets it again. */
export type PartRead = {
  readonly slices: readonly BatchSlice[];
  readonly next: number;
  readonly used: Room;
  readonly trouble?: KelpError;
};

export type BatchReader = {
  /** Reads the parts in their order until the room is used up. Every batch is verified, whichever way its bytes came. */
  read(topic: Topic, wanted: PartsWanted, signal: AbortSignal): Promise<PartRead[]>;
};

type Runs = { readonly runs: readonly WantedRun[]; /** Index of the first of them among all. */ readonly first: number };

export function createBatchReader(deps: TakeDeps & { readonly ranges: ObjectRanges }): BatchReader {
  async function readPart(
    topic: Topic,
    { from, share }: Part,
    { runs, first, reader, page }: Runs & { readonly reader: RangeReader; readonly page: PageProgress },
  ): Promise<PartRead> {
    const part: PartProgress = { slices: [], next: from, room: share, used: NO_ROOM };
    const read = (): PartRead => ({ slices: part.slices, next: part.next, used: part.used });
    for (const [index, run] of runs.entries()) {
      if (isDone(part, page)) break;
      try {
        const bytes = await reader.read(first + index, page.room.bytes);
        if (!(await takeRun(deps, run, { topic: topic.name, bytes, part, page }))) break;
      } catch (error) {
        const trouble = troubleOf(error, topic, { run, next: part.next });
        // Whoever looks again shall see what the store has.
        deps.ranges.forget(run.range.key);
        return { ...read(), trouble };
      }
    }
    return read();
  }

  return {
    async read(topic, { parts, room, whole, isFirst }, signal) {
      const runs = parts.map((part) => wantedRuns(topic.id, part));
      const wanted = runs.flat().map((run) => run.range);
      const gapBytesMax = parts.length > 1 ? READ_TOPIC_GAP_BYTES_MAX : READ_GAP_BYTES_MAX;
      const reader = createRangeReader(deps.ranges, { wanted, gapBytesMax }, signal);
      const page: PageProgress = { room, isEmpty: isFirst, whole };
      const reads: PartRead[] = [];
      let first = 0;
      try {
        for (const [index, part] of parts.entries()) {
          const own = { runs: runs[index] ?? [], first };
          reads.push(await readPart(topic, part, { ...own, reader, page }));
          first += own.runs.length;
        }
      } finally {
        reader.end();
      }
      return reads;
    },
  };
}

const isDone = (part: PartProgress, page: PageProgress): boolean =>
  (!page.isEmpty && isFull(page.room)) || (part.slices.length > 0 && isFull(part.room));

/** Damage and missing objects are trouble of this part only; anything else ends the read. */
function troubleOf(error: unknown, topic: Topic, { run: wanted, next }: { readonly run: WantedRun; readonly next: number }): KelpError {
  const { segment, range, run, offset } = wanted;
  if (!(error instanceof KelpError)) throw error;
  if (error.kind === 'corrupt') return error;
  if (error.code !== 'object-not-found') throw error;
  const where = { topic: topic.name, segment, offset: next, nextOffset: offset + run.count, object: range.key };
  return damaged(where, 'a stored object is missing', error);
}
