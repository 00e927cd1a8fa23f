import type { LeaderService } from '../control/control.ts';
import { LEASE_RELEASE_MS_MAX } from '../model/limits.ts';
import type { PlannedOutcome, TopicPlan } from '../model/scaling.ts';
import type { ScheduledWork } from './schedule-handler.ts';

/** Has all topics split and merge. */
export const rebalanceWork = (rebalance: LeaderService['rebalance']): ScheduledWork => ({
  done: 'rebalanced',
  failed: 'rebalancing failed',
  outOfTime: 'another one leads and does not answer, or there is too much to do',
  // A lease that was not given back would keep everybody else waiting.
  endMs: LEASE_RELEASE_MS_MAX,
  run: async (_event, signal) => summary(await rebalance({ dryRun: false }, signal)),
});

function summary(plans: readonly TopicPlan[]): Readonly<Record<string, unknown>> {
  const changes = plans.flatMap((plan) => plan.changes);
  const made = changes.filter(({ children }) => children !== undefined);
  return {
    splits: made.filter(({ kind }) => kind === 'split').length,
    merges: made.filter(({ kind }) => kind === 'merge').length,
    refused: changes.filter(({ refused }) => refused !== undefined).length,
    held: plans.reduce((sum, { held }) => sum + held.length, 0),
    hotKeys: plans.reduce((sum, { hotKeys }) => sum + hotKeys.length, 0),
    topics: plans.filter((plan) => plan.changes.length > 0).map((plan) => ({ name: plan.name, changes: plan.changes.map(described) })),
  };
}

/** `split s0000000 at 32768 (severe): s0000001 s0000002`. */
function described(change: PlannedOutcome): string {
  const what = change.kind === 'split' ? `split ${change.segment} at ${change.at}` : `merge ${change.segments.join(' ')}`;
  const became = change.refused === undefined ? (change.children ?? []).join(' ') : `refused, ${change.refused}`;
  return `${what} (${change.reason.why}): ${became}`;
}
