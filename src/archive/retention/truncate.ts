import { KelpError } from '../../model/errors.ts';
import type { Head } from '../../model/head.ts';
import { type SegmentId, segmentNumber } from '../../model/ids.ts';
import { SWEEP_PARALLEL_MAX } from '../../model/limits.ts';
import type { Topic } from '../../model/topic.ts';
import { readArchive } from '../../state/archives.ts';
import { inParallel } from '../../state/in-parallel.ts';
import { readSegmentRecords } from '../../state/segment-records.ts';
import { advanceStart } from './advance-start.ts';
import type { RetentionDeps, SegmentPlace } from './retention-deps.ts';

/** From where on a segment is to be kept: an offset; or the first message of that time or a later one, by the messages' own timestamps. */
export type TruncateTo =
  | { readonly segment: SegmentId; readonly offset: number }
  /** Without a segment: each of the topic's. */
  | { readonly segment?: SegmentId; readonly timestampMs: number };

export type TruncatedSegment = {
  readonly segment: SegmentId;
  /** Where it is to begin; where it began, and where it begins now or would. */
  readonly offset: number;
  readonly from: number;
  readonly start: number;
  readonly tail: number;
};

/** `segments`: in order of their ids, those that had messages. `complete`: whether the time was enough. */
export type Truncated = { readonly segments: readonly TruncatedSegment[]; readonly complete: boolean };

export type TruncateDeps = RetentionDeps & {
  /** Where a read of the segment from that time on begins. */
  readonly offsetAt: (
    topic: Topic,
    at: { readonly segment: SegmentId; readonly timestampMs: number },
    signal: AbortSignal,
  ) => Promise<number>;
};

type Truncation = { readonly topic: Topic; readonly to: TruncateTo; readonly dryRun: boolean };

/**
 * What was stored before goes, by hand, and never comes back. Asked again it does no more. Ends with its signal without an error; what
 * it has not come to then is missing in the answer. Errors: `segment-not-found`, `topic-replaced`, `topic-not-found`; `beyond-tail` (extra: tail).
 */
export async function truncate(deps: TruncateDeps, { topic, to, dryRun }: Truncation, signal: AbortSignal): Promise<Truncated> {
  const done: TruncatedSegment[] = [];
  const failures: unknown[] = [];
  const work = async (segment: SegmentId): Promise<void> => {
    if (failures.length > 0 || signal.aborted) return;
    const truncated = await truncateSegment(deps, { topic, segment }, { to, dryRun }, signal);
    if (truncated !== undefined) done.push(truncated);
  };
  const noted = (error: unknown): void => void failures.push(error);
  try {
    const segments = to.segment === undefined ? await segmentsOf(deps, topic, signal) : [to.segment];
    // What is under way ends before any failure is told: it would have lost its caller.
    await inParallel(segments, SWEEP_PARALLEL_MAX, (segment) => work(segment).catch(noted));
  } catch (error) {
    noted(error);
  }
  if (failures.length > 0 && !signal.aborted) throw failures[0];
  return { segments: done.toSorted((a, b) => (a.segment < b.segment ? -1 : 1)), complete: !signal.aborted };
}

async function segmentsOf(deps: TruncateDeps, topic: Topic, signal: AbortSignal): Promise<readonly SegmentId[]> {
  return (await readSegmentRecords(deps.table, { topic: topic.id, after: '' }, signal)).map(({ segment }) => segment);
}

/** Undefined: nobody has asked for it by name, and it has nothing that could go. */
async function truncateSegment(
  deps: TruncateDeps,
  place: SegmentPlace,
  { to, dryRun }: Pick<Truncation, 'to' | 'dryRun'>,
  signal: AbortSignal,
): Promise<TruncatedSegment | undefined> {
  const { topic, segment } = place;
  const head = await headOf(deps, place, signal);
  // It is about to be made.
  if (head === undefined && to.segment === undefined) return undefined;
  if (head === undefined) throw new KelpError('not-found', 'segment-not-found', `no segment ${segment}`);
  const { start: from } = await readArchive(deps, head, signal);
  if (from >= head.tail && to.segment === undefined) return undefined;
  const offset = 'offset' in to ? to.offset : await deps.offsetAt(topic, { segment, timestampMs: to.timestampMs }, signal);
  // The time may be that of a message which came since.
  const { tail } = offset > head.tail ? ((await headOf(deps, place, signal)) ?? head) : head;
  if (offset > tail) {
    throw new KelpError('invalid', 'beyond-tail', `offset ${offset} is beyond the tail ${tail}`, { field: 'offset', extra: { tail } });
  }
  const start = dryRun || offset <= from ? Math.max(from, offset) : (await advanceStart(deps, place, offset, signal)).start;
  return { segment, offset, from, start, tail };
}

async function headOf({ heads }: TruncateDeps, { topic, segment }: SegmentPlace, signal: AbortSignal): Promise<Head | undefined> {
  if (segmentNumber(segment) < topic.firstSegment) {
    throw new KelpError('not-found', 'topic-replaced', `segment ${segment} belongs to a deleted topic of this name`);
  }
  const head = await heads.read(topic.id, segment, signal);
  if (head?.deleted === true) throw new KelpError('not-found', 'topic-not-found', 'the topic was deleted');
  return head;
}
