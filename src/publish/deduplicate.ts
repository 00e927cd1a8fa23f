import type { IdempotencyRecord, RecordedPart } from '../format/idempotency-item.ts';
import { KelpError } from '../model/errors.ts';
import { MOVES_MAX } from '../model/limits.ts';
import type { SegmentRange, Topic } from '../model/topic.ts';
import type { Hold } from './admit.ts';
import { tailMismatchError } from './commit-outcome.ts';
import type { PartOptions } from './encode-slice.ts';
import type { AttemptOutcome, Claimant } from './claim-uploads.ts';
import type { Placed } from './request.ts';
import { type AttemptPlace, newAttempt, type RecordDeps, type RequestRecord } from './request-record.ts';
import { segmentSealed } from '../model/segment-sealed.ts';
import { changesTooFast, type Recorded, type SendDeps, sendParts } from './send-parts.ts';
import { cut, type Slice, unitCount } from './slice.ts';

export type DeduplicateDeps = SendDeps & RecordDeps;

/**
 * A request with an Idempotency-Key, or with uploads, or both. `whole`: its content as one slice for all partitions; `ranges`:
 * the open ones now. `claimant`: where there are uploads.
 */
export type RecordedRequest = {
  readonly topic: Topic;
  readonly record: RequestRecord;
  readonly claimant?: Claimant;
  readonly whole: Slice;
  readonly ranges: readonly SegmentRange[];
  readonly options: PartOptions;
  readonly hold: Hold;
};

/**
 * What this handler knows. `decided`: what became of attempts, by their ids, so that none is sent twice. `unknown`: of those that it has
 * sent, and that may have landed.
 */
type Progress = {
  readonly request: RecordedRequest;
  readonly results: (Placed | KelpError)[];
  readonly decided: Map<string, readonly RecordedPart[]>;
  readonly unknown: Map<string, KelpError>;
};

/**
 * I1: a record says which attempts, one for each segment, may land; every handler of this request, now or in a repeat,
 * commits under these ids, each with an object of its own. An attempt is replaced on the record's version, and only once it
 * is dead. Error `conflict`/`key-reused`: another request had this key. What was sent is in the results, never thrown.
 */
export async function publishOnce(deps: DeduplicateDeps, request: RecordedRequest, signal: AbortSignal): Promise<(Placed | KelpError)[]> {
  const ranges = cut(request.whole, request.ranges).map((slice) => slice.range);
  const first = await Promise.all(ranges.map((range) => newAttempt(deps, placeOf(request, { range, partitions: range }), signal)));
  let record = await request.record.open(first, signal);
  const progress: Progress = { request, results: [], decided: new Map(), unknown: new Map() };
  for (let move = 0; move <= MOVES_MAX; move += 1) {
    const parts = await decideParts(deps, progress, record, signal);
    const fresh = parts.filter((part) => !record.parts.includes(part));
    if (fresh.length === 0) return progress.results;
    const open = fresh.filter((part) => part.offset === undefined);
    const next: IdempotencyRecord = { ...record, version: record.version + 1, parts };
    try {
      const other = await request.record.replace(next, signal);
      // What is stored is stored, recorded or not: its id leads to it.
      if (open.length === 0 || (other === undefined && open.every((part) => part.refusedAtTail !== undefined))) return progress.results;
      record = other ?? next;
    } catch (error) {
      failAll(progress, parts, failure(request, error));
      return progress.results;
    }
  }
  failAll(progress, record.parts, failure(request, changesTooFast()));
  return progress.results;
}

/** The parts as they are to be recorded next: as they are, with what became of them, or with attempts in place of a dead one. */
async function decideParts(
  deps: DeduplicateDeps,
  progress: Progress,
  record: IdempotencyRecord,
  signal: AbortSignal,
): Promise<RecordedPart[]> {
  const all = withSlices(progress.request, record.parts);
  const open = all.filter(({ part }) => !isDecided(part) && !progress.decided.has(part.cid));
  const outcomes = await sendParts(deps, { ...progress.request, recordVersion: record.version }, open, signal);
  const decided = all.map(async (recorded): Promise<readonly RecordedPart[]> => {
    const outcome = outcomes.get(recorded.part);
    if (outcome === undefined) return progress.decided.get(recorded.part.cid) ?? [answer(progress, recorded)];
    const next = await settle(deps, progress, { ...recorded, outcome }, signal);
    if (next[0] !== recorded.part) progress.decided.set(recorded.part.cid, next);
    return next;
  });
  return (await Promise.all(decided)).flat();
}

const isDecided = (part: RecordedPart): boolean => part.offset !== undefined || part.refusedAtTail !== undefined;

/** Parts stand in the order of their first message, ranges to cut by in that of their partitions. */
function withSlices(request: RecordedRequest, parts: readonly RecordedPart[]): Recorded[] {
  const ranges = new Map(parts.map((part) => [part, { segment: part.range.segment, ...part.partitions }]));
  const sorted = [...ranges.values()].toSorted((a, b) => a.lo - b.lo);
  const slices = new Map(cut(request.whole, sorted).map((slice) => [slice.range, slice]));
  return parts.map((part) => {
    const slice = slices.get(ranges.get(part) ?? part.range);
    if (slice === undefined) throw new Error(`nothing of the request is for segment ${part.range.segment}`);
    return { slice: { ...slice, range: part.range }, part };
  });
}

/** As the record says. */
function answer(progress: Progress, recorded: Recorded): RecordedPart {
  const { offset, refusedAtTail = 0 } = recorded.part;
  if (offset === undefined) fail(progress, recorded, tailMismatchError(refusedAtTail));
  else place(progress, recorded, { offset, again: true });
  return recorded.part;
}

/** What is recorded next for this part: as it is, what became of it, or new attempts in place of a dead one. */
async function settle(
  deps: DeduplicateDeps,
  progress: Progress,
  sent: Recorded & { readonly outcome: AttemptOutcome },
  signal: AbortSignal,
): Promise<readonly RecordedPart[]> {
  try {
    return await settleSent(deps, progress, sent, signal);
  } catch (error) {
    // Other parts may be stored by now: this one's end is no end of the request.
    return [fail(progress, sent, failure(progress.request, error))];
  }
}

async function settleSent(
  deps: DeduplicateDeps,
  progress: Progress,
  sent: Recorded & { readonly outcome: AttemptOutcome },
  signal: AbortSignal,
): Promise<readonly RecordedPart[]> {
  const { slice, part, outcome } = sent;
  const { request } = progress;
  switch (outcome.outcome) {
    case 'stored':
      return [place(progress, sent, { offset: outcome.offset, again: outcome.again })];
    case 'failed':
      return [failUnknown(progress, sent, failure(request, outcome.error))];
    case 'barred':
      return [fail(progress, sent, outcome.error)];
    case 'refused':
      // Recorded before it is answered: another handler would go on with a new attempt, and store what was refused.
      return [{ ...fail(progress, sent, outcome.error), refusedAtTail: outcome.tail }];
    case 'sealed':
      if (outcome.deleted) return [fail(progress, sent, new KelpError('not-found', 'topic-not-found', 'the topic was deleted'))];
      if (!isMovable(request, outcome.successors)) {
        return [fail(progress, sent, segmentSealed(slice.range.segment, outcome.successors))];
      }
      return Promise.all(
        cut(slice, outcome.successors).map(({ range }) => {
          const partitions = { lo: Math.max(range.lo, part.partitions.lo), hi: Math.min(range.hi, part.partitions.hi) };
          return newAttempt(deps, placeOf(request, { range, partitions }), signal);
        }),
      );
    case 'duplicate':
      throw new Error('a recorded request has no producer');
    default:
      return [await newAttempt(deps, placeOf(request, part, outcome.outcome === 'dead' ? outcome.guard : ''), signal)];
  }
}

function placeOf(
  { topic, claimant }: RecordedRequest,
  { range, partitions }: Pick<AttemptPlace, 'range' | 'partitions'>,
  above: AttemptPlace['above'] = '',
): AttemptPlace {
  return { topic: topic.id, range, partitions, pinned: claimant !== undefined, above };
}

function isMovable({ options, whole }: RecordedRequest, successors: readonly SegmentRange[]): boolean {
  return successors.length > 0 && options.matchTail === undefined && whole.content.kind === 'messages';
}

/**
 * Once a record is put where others find it, nobody is alone: a repeat may have adopted it, and go on where this handler stops.
 * What it does is not known here, whatever became of our own attempt.
 */
function failure({ record }: RecordedRequest, error: unknown): KelpError {
  if (error instanceof KelpError && (error.kind === 'indefinite' || !record.shared)) return error;
  if (!record.shared) return new KelpError('unavailable', 'unavailable', 'storing the messages failed', { cause: error });
  return new KelpError('indefinite', 'indefinite', 'the outcome is not known yet; ask again under the same key', { cause: error });
}

type Place = { readonly offset: number; readonly again: boolean };

/** `again`: it was stored before. What this handler stored itself stays an answer of its own. */
function place({ results }: Progress, { slice, part }: Recorded, { offset, again }: Place): RecordedPart {
  let next = offset;
  for (const [index, position] of slice.positions.entries()) {
    const isKnown = results[position] !== undefined && !(results[position] instanceof KelpError);
    if (!isKnown) results[position] = { segment: part.range.segment, offset: next, duplicate: again };
    next += unitCount(slice, index);
  }
  return { ...part, offset };
}

function fail({ results }: Progress, { slice, part }: Recorded, error: KelpError): RecordedPart {
  for (const position of slice.positions) results[position] = error;
  return part;
}

/** That an attempt was not sent this time does not say that it never was. */
function failUnknown(progress: Progress, sent: Recorded, error: KelpError): RecordedPart {
  const { unknown } = progress;
  const { cid } = sent.part;
  if (error.kind === 'indefinite') unknown.set(cid, error);
  return fail(progress, sent, unknown.get(cid) ?? error);
}

/** All parts, since only together they have room for the whole request: those that the record has decided as it says. */
function failAll(progress: Progress, parts: readonly RecordedPart[], error: KelpError): void {
  for (const recorded of withSlices(progress.request, parts)) {
    const { offset, refusedAtTail } = recorded.part;
    // Another handler may have decided it while this one was on its way.
    if (offset !== undefined) place(progress, recorded, { offset, again: true });
    else if (refusedAtTail !== undefined) fail(progress, recorded, tailMismatchError(refusedAtTail));
    else failUnknown(progress, recorded, error);
  }
}
