import { findMoves } from '../../../src/control/failover/find-moves.ts';
import { type MoveDeps, moveSegments } from '../../../src/control/failover/move-segments.ts';
import type { BrokerId, SegmentId } from '../../../src/model/ids.ts';
import type { TopologyDeps } from '../../../src/topology/apply-change.ts';
import type { Process } from '../engine/process.ts';
import { assignerOf, noCounts } from './assigner.ts';
import { NEVER_ABORTED, TOPIC } from './broker.ts';
import { changing } from './leader.ts';

// A leader that takes a broker for dead, or drains it. Of two at once, each goes by what it has seen.

export type Move = {
  readonly segments: readonly SegmentId[];
  readonly from: BrokerId;
  readonly to: readonly BrokerId[];
  readonly kind: 'failover' | 'drain';
};

/** Moves these segments, which it has found open, with one write of the topic. */
export function mover(name: string, { segments, from, to, kind }: Move): Process {
  return changing(name, async (deps) => {
    const moves = segments.map((segment) => ({ topic: TOPIC, segment, brokers: [from], writtenMs: 0, messages: 0 }));
    const moved = await moveSegments(moveDeps(deps, name, to), { topic: TOPIC, moves, kind, from }, NEVER_ABORTED);
    return { ended: `moved ${moved}` };
  });
}

/** Looks at all that a broker serves, by its list, as long as there is something; and moves it. */
export function leaver(name: string, { from, to }: Pick<Move, 'from' | 'to'>): Process {
  return changing(name, async (topology) => {
    const deps = moveDeps(topology, name, to);
    const moves = await findMoves(deps, from, NEVER_ABORTED);
    const moved = moves.length === 0 ? 0 : await moveSegments(deps, { topic: TOPIC, moves, kind: 'failover', from }, NEVER_ABORTED);
    return { ended: `moved ${moved}` };
  });
}

/** Nobody is told anything, which nothing depends on; who is chosen is not the point. */
function moveDeps(deps: TopologyDeps, name: string, to: readonly BrokerId[]): MoveDeps {
  let ids = 0;
  return {
    ...deps,
    random: { ...deps.random, base36: () => `${name}${(ids += 1)}` },
    telemetry: { count: () => {}, adjust: () => {}, record: () => {}, log: () => {} },
    assigner: assignerOf(deps, to),
    counts: noCounts,
    messenger: { probe: async () => ({ probe: 'answered' }), flush: async () => {}, refresh: () => {} },
    living: () => [],
    unfit: () => new Set(),
  };
}
