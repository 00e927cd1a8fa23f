import { KelpError } from '../model/errors.ts';
import { entryCount, type Entry, type Head, type ObjectRef, type Run } from '../model/head.ts';
import type { CommitId, SegmentId, TopicId } from '../model/ids.ts';
import type { SegmentRange } from '../model/topic.ts';
import { memberOffsets } from '../protocol/fate.ts';
import type { LineVerdict } from '../protocol/producer-line.ts';
import type { LineAsRead } from '../protocol/variant.ts';
import type { CommitDeps } from './commit-deps.ts';
import { originalOffsets } from './producer-lines.ts';
import type { ProducerStamp } from './request.ts';

/** One request's batches for one segment, as they lie in the group's object. */
export type CommitMember = {
  readonly runs: readonly Run[];
  readonly count: number;
  readonly highestTimestampMs: number;
  /** Messages by 16th of the segment's range. */
  readonly buckets: readonly number[];
  readonly producer?: ProducerStamp;
};

export type CommitRequest = {
  readonly topic: TopicId;
  readonly segment: SegmentId;
  readonly object: ObjectRef;
  readonly members: readonly CommitMember[];
  /** Such a request is a group of its own. */
  readonly matchTail?: number;
  /** The one id, kept where other handlers find it, under which this may land; and the tail as it was before. */
  readonly recorded?: { readonly cid: CommitId; readonly tail: number };
};

/** `sealed`: surely not stored, and never will be in this segment. `again`: surely not stored; it may be sent anew. */
export type MemberOutcome =
  /** `again`: by another handler of the same request, from an object of its own. */
  | { readonly outcome: 'stored'; readonly offset: number; readonly again: boolean }
  | { readonly outcome: 'duplicate'; readonly offsets: readonly (number | null)[] }
  /** `tail`: the segment's, as it was then. */
  | { readonly outcome: 'refused'; readonly error: KelpError; readonly tail: number }
  | { readonly outcome: 'sealed'; readonly successors: readonly SegmentRange[]; readonly deleted: boolean }
  | { readonly outcome: 'again' };

/** `dead`: surely not stored under this id, as a whole: `guard` (a recorded one: record another), `floor` (upload anew). */
export type CommitOutcome =
  /** `head`: as this commit left it, or as it was when it was found there; undefined: nothing was stored. */
  | { readonly outcome: 'done'; readonly members: readonly MemberOutcome[]; readonly head?: Head }
  | { readonly outcome: 'dead'; readonly because: 'guard' | 'floor'; readonly head: Head }
  | { readonly outcome: 'failed'; readonly error: KelpError };

/** Each member judged by a read of the head. */
export type Judged = { readonly verdicts: readonly LineVerdict[]; readonly lines: ReadonlyMap<string, LineAsRead> };

type Judgement = { readonly head: Head; readonly judged: Judged };

export const failedOutcome = (error: KelpError): CommitOutcome => ({ outcome: 'failed', error });

/** Offsets come from the entry that was found, by its own mask; the members that it left out get their verdicts. */
export async function landedOutcome(
  deps: CommitDeps,
  request: CommitRequest,
  landed: Judgement & { readonly entry: Entry },
  signal: AbortSignal,
): Promise<CommitOutcome> {
  const offsets = memberOffsets(
    landed.entry,
    request.members.map((member) => member.count),
  );
  const again = landed.entry.object.id !== request.object.id;
  if (!again) deps.telemetry.count('kelp.publish.messages', entryCount(landed.entry));
  const members = offsets.map(async (offset, index): Promise<MemberOutcome> => {
    return offset === undefined ? refusedMember(deps, request, { ...landed, index }, signal) : { outcome: 'stored', offset, again };
  });
  return { outcome: 'done', members: await Promise.all(members), head: landed.head };
}

/** Nothing was stored, and nothing is in flight. */
export async function refusedOutcome(
  deps: CommitDeps,
  request: CommitRequest,
  judgement: Judgement,
  signal: AbortSignal,
): Promise<CommitOutcome> {
  const members = request.members.map((_, index) => refusedMember(deps, request, { ...judgement, index }, signal));
  return { outcome: 'done', members: await Promise.all(members) };
}

async function refusedMember(
  deps: CommitDeps,
  request: CommitRequest,
  { head, judged, index }: Judgement & { readonly index: number },
  signal: AbortSignal,
): Promise<MemberOutcome> {
  const verdict = judged.verdicts[index] ?? { verdict: 'next' };
  const member = request.members[index];
  if (verdict.verdict === 'duplicate' && member?.producer !== undefined) {
    const { producer, sequence } = member.producer;
    const repeat = { line: judged.lines.get(producer)?.line, sequence, count: member.count };
    return { outcome: 'duplicate', offsets: await originalOffsets(deps.table, head, repeat, signal) };
  }
  // The frozen head says for ever which of a producer's batches landed; all others go to the successors (P1).
  if (head.state === 'sealed') return { outcome: 'sealed', successors: head.successors, deleted: head.deleted };
  const error = verdictError(verdict) ?? tailMismatch(request, head);
  return error === undefined ? { outcome: 'again' } : { outcome: 'refused', error, tail: head.tail };
}

function verdictError(verdict: LineVerdict): KelpError | undefined {
  switch (verdict.verdict) {
    case 'gap':
      return new KelpError('conflict', 'sequence-gap', `the producer's next sequence here is ${verdict.next}`, {
        extra: { expected: verdict.next },
      });
    case 'overlap':
      return new KelpError('conflict', 'sequence-overlap', `the sequence begins below ${verdict.next} and ends above it`, {
        extra: { expected: verdict.next },
      });
    case 'fenced':
      return new KelpError('fenced', 'producer-fenced', `the producer's epoch here is ${verdict.epoch}`, {
        extra: { epoch: verdict.epoch },
      });
    default:
      return undefined;
  }
}

function tailMismatch(request: CommitRequest, head: Head): KelpError | undefined {
  if (request.matchTail === undefined || head.tail === request.matchTail) return undefined;
  return tailMismatchError(head.tail);
}

export function tailMismatchError(tail: number): KelpError {
  return new KelpError('conflict', 'tail-mismatch', `the segment's tail is ${tail}`, { extra: { tail } });
}
