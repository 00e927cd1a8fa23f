import { isTransient } from '../../../src/state/ask-again.ts';
import type { SegmentId } from '../../../src/model/ids.ts';
import { spill } from '../../../src/state/spill.ts';
import type { Phase, Process } from '../engine/process.ts';
import { brokerDeps, NEVER_ABORTED, SEGMENT, TOPIC } from './broker.ts';

/** A broker that spills a head some times over, whatever its length: it reads the head, then does the product's steps. */
export function spiller(name: string, rounds: number, segment: SegmentId = SEGMENT): Process {
  const round: Phase = async (table, state) => {
    const deps = brokerDeps(table, { instance: name, nowMs: 0 });
    const head = await deps.heads.read(TOPIC, segment, NEVER_ABORTED);
    if (head === undefined) return state;
    await spill(deps, head, NEVER_ABORTED).catch((error: unknown) => {
      // Unanswered: the next round reads the head again, as the next spiller would.
      if (!isTransient(error)) throw error;
    });
    return state;
  };
  return { name, start: {}, phases: Array.from({ length: rounds }, () => round) };
}
