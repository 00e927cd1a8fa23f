import type { SegmentId } from '../../../src/model/ids.ts';
import type { Item } from '../../../src/ports/metadata-table.ts';
import { pageAbsent } from '../../../src/protocol/spill.ts';
import { spill } from '../../../src/state/spill.ts';
import type { Phase, Process } from '../engine/process.ts';
import { brokerDeps, NEVER_ABORTED, pageItem, SEGMENT, TOPIC } from './broker.ts';
import { unlessUnanswered } from './unless-unanswered.ts';

/** A broker that spills a head some times over, whatever its length: it reads the head, then does the product's steps. */
export function spiller(name: string, rounds: number, segment: SegmentId = SEGMENT): Process {
  const round: Phase = async (table, state) => {
    const deps = brokerDeps(table, { instance: name, nowMs: 0 });
    const head = await deps.heads.read(TOPIC, segment, NEVER_ABORTED);
    if (head === undefined) return state;
    await unlessUnanswered(spill(deps, head, NEVER_ABORTED));
    return state;
  };
  return { name, start: {}, phases: Array.from({ length: rounds }, () => round) };
}

/** A put of the page that this head gives, which was on its way for long. */
export function latePage(name: string, head: Item): Process {
  const [key, page] = pageItem(head);
  const put: Phase = async (table, state) => {
    await unlessUnanswered(table.put(key, page, pageAbsent, NEVER_ABORTED));
    return state;
  };
  return { name, start: {}, phases: [put] };
}
