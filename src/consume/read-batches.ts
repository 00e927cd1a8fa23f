import { KelpError } from '../model/errors.ts';
import type { Entry } from '../model/head.ts';
import type { SegmentId } from '../model/ids.ts';
import { READ_GAP_BYTES_MAX, READ_TOPIC_GAP_BYTES_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { damaged } from './damage.ts';
import type { BatchSlice, BatchSpan } from './page.ts';
import { type WantedFile, wantedFile } from './archived-files.ts';
import type { WrittenRecord } from './file-records.ts';
import { isDone, NO_ROOM, type PageProgress, type PartProgress, passOver } from './part-progress.ts';
import { isWithin, type OffsetRange, passedOver, type Quarantine } from './quarantine.ts';
import type { Room } from './take-batch.ts';
import { type WantedRun, wantedRuns } from './wanted-runs.ts';

/** What is to be read of one segment: from this offset on, as far as the files or the entries and the share go. */
export type Part = {
  readonly segment: SegmentId;
  readonly from: number;
  readonly entries: readonly Entry[];
  readonly files: readonly WrittenRecord[];
  readonly share: Room;
};

/** `isFirst`: the page has nothing yet, so that its first message comes whatever its size. */
export type PartsWanted = { readonly parts: readonly Part[]; readonly room: Room; readonly whole: boolean; readonly isFirst: boolean };

/**
 * What was read, and what it took: all up to offset `next` but what is quarantined. `unchecked`: some of it was uploaded, and not
 * looked at yet. `trouble`: why nothing behind `next` could be read; a read that begins there meets it again.
 */
export type PartRead<S extends BatchSpan = BatchSlice> = {
  readonly slices: readonly S[];
  readonly next: number;
  readonly used: Room;
  readonly unchecked: boolean;
  readonly trouble?: KelpError;
};

export type BatchReader<S extends BatchSpan = BatchSlice> = {
  /** Reads the parts in their order until the room is used up. */
  read(topic: Topic, wanted: PartsWanted, signal: AbortSignal): Promise<PartRead<S>[]>;
};

export type TakeInto<S extends BatchSpan> = {
  readonly topic: string;
  readonly quarantined: readonly OffsetRange[];
  readonly part: PartProgress<S>;
  readonly page: PageProgress;
};

/** How runs are read, of which only some may be wanted in the end. */
export type RunSource<S extends BatchSpan> = {
  /** Begins nothing yet. */
  open(wanted: readonly WantedRun[], gapBytesMax: number, signal: AbortSignal): OpenRuns<S>;
  /** Takes what fits of files. Errors `corrupt`, of missing ones as well. */
  takeFiles(wanted: readonly WantedFile[], into: Pick<TakeInto<S>, 'part' | 'page'>, signal: AbortSignal): Promise<void>;
  /** Something was wrong with what is under this key: whoever looks again shall see what the store has. */
  forget(key: string): void;
};

export type OpenRuns<S extends BatchSpan> = {
  /** Takes what fits of the run with this index; false where the part ends with it. Errors `corrupt`, `object-not-found`. */
  take(index: number, into: TakeInto<S>): Promise<boolean>;
  /** Ends what is still under way and that nobody else reads. */
  readonly end: () => void;
};

type ReaderDeps<S extends BatchSpan> = {
  readonly source: RunSource<S>;
  readonly quarantine: Quarantine;
  readonly telemetry: Telemetry;
};
type Runs<S extends BatchSpan> = {
  readonly runs: readonly WantedRun[];
  /** Index of the first of them among all. */
  readonly first: number;
  readonly open: OpenRuns<S>;
};

export function createBatchReader<S extends BatchSpan>(deps: ReaderDeps<S>): BatchReader<S> {
  return {
    async read(topic, { parts, room, whole, isFirst }, signal) {
      const runs = parts.map((part) => wantedRuns(topic.id, part));
      const gapBytesMax = parts.length > 1 ? READ_TOPIC_GAP_BYTES_MAX : READ_GAP_BYTES_MAX;
      const open = deps.source.open(runs.flat(), gapBytesMax, signal);
      const page: PageProgress = { room, isEmpty: isFirst, whole };
      const reads: PartRead<S>[] = [];
      let first = 0;
      try {
        for (const [index, part] of parts.entries()) {
          const own = { runs: runs[index] ?? [], first, open };
          reads.push(
            await (part.files.length > 0
              ? readFiles(deps, topic, { part, page }, signal)
              : readPart(deps, topic, { part, page, ...own }, signal)),
          );
          first += own.runs.length;
        }
      } finally {
        open.end();
      }
      return reads;
    },
  };
}

async function readPart<S extends BatchSpan>(
  deps: ReaderDeps<S>,
  topic: Topic,
  { part: { from, share }, page, runs, first, open }: Runs<S> & { readonly part: Part; readonly page: PageProgress },
  signal: AbortSignal,
): Promise<PartRead<S>> {
  const part = newPart<S>(from, share);
  let unchecked = false;
  let trouble: KelpError | undefined;
  for (const [index, run] of runs.entries()) {
    if (isDone(part, page)) break;
    try {
      const looked = await look(deps, topic, { run, next: part.next }, signal);
      unchecked ||= !looked.checked;
      const end = run.offset + run.run.count;
      if (isWithin(looked.quarantined, { from: part.next, to: end })) {
        passOver(part, end);
        continue;
      }
      if (!(await open.take(first + index, { topic: topic.name, quarantined: looked.quarantined, part, page }))) break;
    } catch (error) {
      trouble = troubleOf(error, topic, { run, next: part.next });
      deps.source.forget(run.range.key);
      if (run.uploaded !== undefined) deps.quarantine.forget(topic.id, run.uploaded.upload);
      break;
    }
  }
  return partRead(deps, part, { unchecked, ...(trouble === undefined ? {} : { trouble }) });
}

/** Whoever wrote them has left out what is quarantined. */
async function readFiles<S extends BatchSpan>(
  deps: ReaderDeps<S>,
  topic: Topic,
  { part: { segment, from, share, files }, page }: { readonly part: Part; readonly page: PageProgress },
  signal: AbortSignal,
): Promise<PartRead<S>> {
  const part = newPart<S>(from, share);
  const wanted = files.map((record) => wantedFile(topic, segment, record));
  try {
    await deps.source.takeFiles(wanted, { part, page }, signal);
  } catch (error) {
    if (!(error instanceof KelpError) || error.kind !== 'corrupt') throw error;
    for (const { key } of wanted) if (key === error.extra['object']) deps.source.forget(key);
    return partRead(deps, part, { unchecked: false, trouble: error });
  }
  return partRead(deps, part, { unchecked: false });
}

const newPart = <S extends BatchSpan>(from: number, share: Room): PartProgress<S> => ({
  slices: [],
  next: from,
  room: share,
  used: NO_ROOM,
  passed: 0,
});

function partRead<S extends BatchSpan>(
  { telemetry }: ReaderDeps<S>,
  { slices, next, used, passed }: PartProgress<S>,
  found: Pick<PartRead<S>, 'unchecked' | 'trouble'>,
): PartRead<S> {
  if (passed > 0) telemetry.count('kelp.read.quarantined', passed);
  return { slices, next, used, ...found };
}

type Looked = { readonly checked: boolean; readonly quarantined: readonly OffsetRange[] };
const WRITTEN: Looked = { checked: true, quarantined: [] };

/** What was found in a run, if it is a client's own object: brokers write nothing that has to be looked at. */
async function look(
  { quarantine }: { readonly quarantine: Quarantine },
  topic: Topic,
  { run, next }: { readonly run: WantedRun; readonly next: number },
  signal: AbortSignal,
): Promise<Looked> {
  if (run.uploaded === undefined) return WRITTEN;
  const { upload, first } = run.uploaded;
  const findings = await quarantine.of(topic.id, upload, signal);
  if (findings === undefined) throw damaged(placeOf(topic, run, next), 'the item of an upload is missing');
  return { checked: findings.checked, quarantined: passedOver(findings, first) };
}

const placeOf = (topic: Topic, { segment, range, run, offset }: WantedRun, next: number) => ({
  topic: topic.name,
  segment,
  offset: next,
  nextOffset: offset + run.count,
  object: range.key,
});

/** Damage and missing objects are trouble of this part only; anything else ends the read. */
function troubleOf(error: unknown, topic: Topic, { run, next }: { readonly run: WantedRun; readonly next: number }): KelpError {
  if (!(error instanceof KelpError)) throw error;
  if (error.kind === 'corrupt') return error;
  if (error.code !== 'object-not-found') throw error;
  return damaged(placeOf(topic, run, next), 'a stored object is missing', error);
}
