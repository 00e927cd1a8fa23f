import type { SegmentId } from '../../../src/model/ids.ts';
import { commitBatch } from '../../../src/publish/commit-batch.ts';
import type { Phase, Process } from '../engine/process.ts';
import { brokerDeps, NEVER_ABORTED } from './broker.ts';
import { commitRequest, outcomeOf, type Publication, resultsOf, withResults } from './publisher.ts';

/** A sender of two messages of one key, the second one after the first was acked, each to a broker that knows another segment. */
export function learner({
  name,
  first,
  second,
}: {
  readonly name: string;
  readonly first: SegmentId;
  readonly second: SegmentId;
}): Process {
  const send =
    (message: string, segment: SegmentId): Phase =>
    async (table, state) => {
      const isFirst = state.results === undefined;
      if (!isFirst && state.results?.[0]?.result !== 'acked') return state;
      const publication: Publication = { name, instance: message, nowMs: 5, object: `o${message}`, members: [{ message }], segment };
      const outcome = await outcomeOf(commitBatch(brokerDeps(table, publication), commitRequest(publication), NEVER_ABORTED));
      return withResults(state, resultsOf(publication, outcome));
    };
  return { name, start: {}, phases: [send('a', first), send('b', second)] };
}
