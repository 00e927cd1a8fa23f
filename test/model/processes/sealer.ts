import { headKey } from '../../../src/format/item-key.ts';
import type { SegmentId } from '../../../src/model/ids.ts';
import type { SegmentRange } from '../../../src/model/topic.ts';
import { openUpdate, sealUpdate } from '../../../src/protocol/segment-life.ts';
import { askAgain, isTransient } from '../../../src/state/ask-again.ts';
import type { Phase, Process } from '../engine/process.ts';
import { brokerDeps, NEVER_ABORTED, SEGMENT, TOPIC } from './broker.ts';

/** Steps 3 and 4 of a change whose children are there, pending: the shortest way to a seal. The whole is in leader.ts. */
export function sealer(name: string, children: readonly SegmentRange[], parents: readonly SegmentId[] = [SEGMENT]): Process {
  const seal = sealUpdate({ change: 'c1', successors: children, deleted: false }, 0);
  const steps = [
    ...parents.map((segment) => ({ segment, update: seal })),
    ...children.map(({ segment }) => ({ segment, update: openUpdate(0) })),
  ];
  const phases = steps.map(({ segment, update }): Phase => async (table, state) => {
    // What was not answered may not have happened: nothing goes on from there.
    if (state['ended'] === true) return state;
    const deps = brokerDeps(table, { instance: 's', nowMs: 0 });
    try {
      await askAgain(deps, () => table.update(headKey(TOPIC, segment), update, NEVER_ABORTED), NEVER_ABORTED);
      return state;
    } catch (error) {
      if (!isTransient(error)) throw error;
      return { ended: true };
    }
  });
  return { name, start: {}, phases };
}
