import { KelpError } from '../model/errors.ts';
import { MOVES_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { Compression } from '../ports/compression.ts';
import type { Hold } from './admit.ts';
import { encodeSlice, type PartOptions } from './encode-slice.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Part, PartOutcome, Submission } from './part.ts';
import type { Placed } from './request.ts';
import { segmentSealed } from '../model/segment-sealed.ts';
import { cut, type Slice, unitCount } from './slice.ts';

export type PlaceDeps = { readonly groups: GroupCommit; readonly compression: Compression };

export type Placement = {
  readonly topic: Topic;
  readonly slices: readonly Slice[];
  readonly options: PartOptions;
  readonly hold: Hold;
  /** Whether what a seal refused may go to the successors: not what a client addressed to this very segment. */
  readonly movable: boolean;
  readonly endsMs?: Submission['endsMs'];
};

/** A slice on its way; `part` is kept where it may be sent again as it is. */
type Job = { readonly slice: Slice; readonly part?: Part };

/**
 * Brings slices into segments: those that a seal refused follow the successors, those behind a floor are uploaded anew.
 * Results stand at their positions. Rejects with the signal's reason if nothing was begun.
 */
export async function placeSlices(deps: PlaceDeps, placement: Placement, signal: AbortSignal): Promise<(Placed | KelpError)[]> {
  const results: (Placed | KelpError)[] = [];
  let jobs: Job[] = placement.slices.map((slice) => ({ slice }));
  for (let move = 0; jobs.length > 0; move += 1) {
    if (move > MOVES_MAX) {
      fail(results, jobs, new KelpError('unavailable', 'unavailable', 'the segments change too fast', { retryAfterMs: 1_000 }));
      break;
    }
    const parts = await Promise.all(jobs.map(async (job) => job.part ?? encodeSlice(deps.compression, job.slice, placement.options)));
    const alone = placement.options.matchTail !== undefined; // its condition is on the whole group
    const { topic, hold, endsMs } = placement;
    const outcomes = await deps.groups.submit({ topic, parts, alone, hold, endsMs }, signal).catch((reason: unknown) => {
      if (move === 0) throw reason;
      return parts.map(() => stopped(reason));
    });
    jobs = jobs.flatMap((job, index) => settle(results, placement, { job, part: parts[index], outcome: outcomes[index] }));
  }
  return results;
}

/** What was begun and surely not stored, for a caller that stopped waiting before it was sent anew. */
function stopped(cause: unknown): PartOutcome {
  return {
    outcome: 'failed',
    error: new KelpError('unavailable', 'unavailable', 'the time ended on the way to the successors', { cause }),
  };
}

/** Writes the results of what is decided; answers the jobs that go on. */
function settle(
  results: (Placed | KelpError)[],
  placement: Placement,
  sent: { readonly job: Job; readonly part: Part | undefined; readonly outcome: PartOutcome | undefined },
): Job[] {
  const { job, part, outcome } = sent;
  const { segment } = job.slice.range;
  switch (outcome?.outcome) {
    case 'stored':
      place(results, job.slice, (index) => ({ segment, offset: outcome.offset + index, duplicate: false }));
      return [];
    case 'duplicate':
      place(results, job.slice, (index) => ({ segment, offset: outcome.offsets[index] ?? null, duplicate: true }));
      return [];
    case 'failed':
    case 'refused':
      fail(results, [job], outcome.error);
      return [];
    case 'sealed':
      return follow(results, placement, { job, sealed: outcome });
    default:
      return [part === undefined ? { slice: job.slice } : { slice: job.slice, part }];
  }
}

function follow(
  results: (Placed | KelpError)[],
  placement: Placement,
  { job, sealed }: { readonly job: Job; readonly sealed: PartOutcome & { readonly outcome: 'sealed' } },
): Job[] {
  if (sealed.deleted) {
    fail(results, [job], new KelpError('not-found', 'topic-not-found', 'the topic was deleted'));
    return [];
  }
  if (!placement.movable || sealed.successors.length === 0) {
    fail(results, [job], segmentSealed(job.slice.range.segment, sealed.successors));
    return [];
  }
  return cut(job.slice, sealed.successors).map((slice) => ({ slice }));
}

/** `indexOf`: the first message's index within the slice, which for batches is not the unit's. */
function place(results: (Placed | KelpError)[], slice: Slice, placed: (messageIndex: number) => Placed): void {
  let messageIndex = 0;
  for (const [index, position] of slice.positions.entries()) {
    results[position] = placed(messageIndex);
    messageIndex += unitCount(slice, index);
  }
}

function fail(results: (Placed | KelpError)[], jobs: readonly Job[], error: KelpError): void {
  for (const { slice } of jobs) for (const position of slice.positions) results[position] = error;
}
