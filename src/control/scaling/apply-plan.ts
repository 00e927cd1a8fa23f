import { KelpError } from '../../model/errors.ts';
import { MOVED_AT_ONCE_MAX } from '../../model/limits.ts';
import type { PlannedChange, PlannedOutcome } from '../../model/scaling.ts';
import type { Topic } from '../../model/topic.ts';
import type { MoveDeps } from '../failover/move-segments.ts';
import { type Applied, changeSegments } from './change-segments.ts';

export type ApplyDeps = MoveDeps & {
  /** Throws once this instance leads no more, also if it has slept so long that no timer has run yet. */
  readonly mustLead: () => void;
};

/**
 * Makes planned changes, as many at a time as one write of the topic's item is to have, and answers what became of each, in their
 * order. Where some of them fail, nothing after them is tried: the next look plans it again.
 */
export async function applyPlan(
  deps: ApplyDeps,
  topic: Topic,
  changes: readonly PlannedChange[],
  signal: AbortSignal,
): Promise<PlannedOutcome[]> {
  const outcomes: PlannedOutcome[] = [];
  while (outcomes.length < changes.length) {
    const batch = changes.slice(outcomes.length, outcomes.length + MOVED_AT_ONCE_MAX);
    try {
      deps.mustLead();
      const applied = await changeSegments(deps, topic, batch, signal);
      outcomes.push(...batch.map((change, index) => outcomeOf(deps, topic, { change, applied: applied[index] })));
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof KelpError)) throw error;
      deps.mustLead();
      failed(deps, topic, batch, error);
      return [
        ...outcomes,
        ...batch.map((change) => ({ ...change, refused: error.code })),
        ...changes.slice(outcomes.length + batch.length),
      ];
    }
  }
  return outcomes;
}

function outcomeOf(
  { telemetry }: ApplyDeps,
  { id, name }: Topic,
  { change, applied }: { readonly change: PlannedChange; readonly applied: Applied | undefined },
): PlannedOutcome {
  if (applied === undefined) return change;
  if (applied.refused !== undefined) return { ...change, refused: applied.refused.code };
  const outcome = { ...change, children: applied.children.map(({ segment }) => segment) };
  telemetry.count('kelp.rebalance.changes', 1, { kind: change.kind, why: change.reason.why });
  telemetry.log('info', change.kind === 'split' ? 'a segment was split' : 'segments were merged', { topic: id, name, ...outcome });
  return outcome;
}

function failed(deps: ApplyDeps, { id, name }: Topic, batch: readonly PlannedChange[], error: KelpError): void {
  deps.telemetry.count('kelp.rebalance.failed', 1);
  deps.telemetry.log('warn', 'segments could not be split and merged', { topic: id, name, changes: batch.length, error });
}
