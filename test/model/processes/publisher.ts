import { KelpError } from '../../../src/model/errors.ts';
import type { SegmentId } from '../../../src/model/ids.ts';
import type { Item } from '../../../src/ports/metadata-table.ts';
import { commitBatch } from '../../../src/publish/commit-batch.ts';
import type { CommitMember, CommitOutcome, CommitRequest, MemberOutcome } from '../../../src/publish/commit-outcome.ts';
import type { ProducerStamp } from '../../../src/publish/request.ts';
import type { Process, ProcessState, Result } from '../engine/process.ts';
import { bucketsOf, type BrokerClock, brokerDeps, objectRef, SEGMENT, TOPIC } from './broker.ts';

/** One request of a group: a message (or several, in one batch). */
export type Member = { readonly message: string; readonly count?: number; readonly producer?: ProducerStamp };

export type Publication = BrokerClock & {
  readonly name: string;
  readonly object: string;
  readonly members: readonly Member[];
  readonly segment?: SegmentId;
  readonly matchTail?: number;
  readonly recorded?: CommitRequest['recorded'];
  /** Heads that the broker has seen before; without any it reads the head first. */
  readonly known?: readonly Item[];
  /** Sent after all earlier ones of its line were acked: it can't be a gap. */
  readonly finalGap?: boolean;
};

/** A broker that commits one group by the product's own steps, and tells each member's caller what came of it. */
export function publisher(publication: Publication, mayBegin?: Process['mayBegin']): Process {
  return {
    name: publication.name,
    start: {},
    phases: [
      async (table, _state, signal) => {
        const deps = brokerDeps(table, publication, publication.known);
        const results = resultsOf(publication, await outcomeOf(commitBatch(deps, commitRequest(publication), signal)));
        const gap = publication.finalGap === true ? results.find((result) => result.code === 'sequence-gap') : undefined;
        return { results, ...(gap === undefined ? {} : { faults: [`false-gap: ${gap.message} was sent after all before it were acked`] }) };
      },
    ],
    mayFail: true,
    ...(mayBegin === undefined ? {} : { mayBegin }),
  };
}

/** What commitBatch throws is an outcome as well: its caller answers with it, as store-group does. */
export async function outcomeOf(committing: Promise<CommitOutcome>): Promise<CommitOutcome> {
  return committing.catch((error: unknown) => ({ outcome: 'failed', error: asIndefinite(error) }));
}

/** Only what KelpError says is known. An error of the code itself must not pass for one. */
export function asIndefinite(error: unknown): KelpError {
  if (error instanceof KelpError) return error;
  if (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError) throw error;
  return new KelpError('indefinite', 'indefinite', 'storing the messages failed', { cause: error });
}

export function commitRequest({ object, members, segment = SEGMENT, matchTail, recorded }: Publication): CommitRequest {
  let start = 0;
  const placed = members.map((member): CommitMember => {
    const count = member.count ?? 1;
    start += count;
    return {
      runs: [{ start: start - count, bytes: count, count }],
      count,
      highestTimestampMs: 0,
      buckets: bucketsOf(count),
      ...(member.producer === undefined ? {} : { producer: member.producer }),
    };
  });
  return {
    topic: TOPIC,
    segment,
    object: objectRef(object),
    members: placed,
    ...(matchTail === undefined ? {} : { matchTail }),
    ...(recorded === undefined ? {} : { recorded }),
  };
}

export function resultsOf(publication: Pick<Publication, 'members' | 'object' | 'segment'>, outcome: CommitOutcome): Result[] {
  const { members, object, segment = SEGMENT } = publication;
  return members.map(({ message }, index) => {
    const result =
      outcome.outcome === 'done' ? memberResult(outcome.members[index]) : { result: wholeResult(outcome), code: codeOf(outcome) };
    return { message, segment, ...result, ...(result.result === 'refused' ? { objects: [object] } : {}) };
  });
}

function memberResult(outcome: MemberOutcome | undefined): Pick<Result, 'result' | 'code' | 'offset'> {
  switch (outcome?.outcome) {
    case 'stored':
      return { result: 'acked', offset: outcome.offset };
    case 'duplicate': {
      const [offset = null] = outcome.offsets;
      return { result: 'duplicate', ...(offset === null ? {} : { offset }) };
    }
    case 'refused':
      return { result: 'refused', code: outcome.error.code };
    default:
      // `sealed` and `again` say that it is not stored, and may be sent anew.
      return { result: 'refused', code: outcome?.outcome ?? 'missing' };
  }
}

const wholeResult = (outcome: CommitOutcome): 'refused' | 'unknown' =>
  outcome.outcome === 'failed' && outcome.error.kind === 'indefinite' ? 'unknown' : 'refused';
const codeOf = (outcome: CommitOutcome): string => (outcome.outcome === 'failed' ? outcome.error.code : outcome.outcome);

/** Adds results to those of earlier phases. */
export const withResults = (state: ProcessState, results: readonly Result[]): ProcessState => ({
  ...state,
  results: [...(state.results ?? []), ...results],
});
