import type { Context } from 'aws-lambda';
import type { LogTelemetry } from '../adapters/system/log-telemetry.ts';
import type { LeaderService } from '../control/control.ts';
import { KelpError } from '../model/errors.ts';
import { LEASE_RELEASE_MS_MAX, RUNTIME_MARGIN_MS } from '../model/limits.ts';
import type { PlannedOutcome, TopicPlan } from '../model/scaling.ts';
import type { Clock } from '../ports/clock.ts';

/** What an event says, means nothing: it comes, and it is time. */
export type ScheduleHandler = (event: unknown, context: Pick<Context, 'getRemainingTimeInMillis'>) => Promise<void>;

export type ScheduleDeps = {
  readonly clock: Clock;
  readonly telemetry: Pick<LogTelemetry, 'log' | 'takeCounts'>;
  readonly rebalance: LeaderService['rebalance'];
};

/**
 * Has topics split and merge at each event, within the time that the invocation has left, and writes a line about it. An error
 * fails the invocation: the platform counts those, and the next event tries again.
 */
export function createScheduleHandler({ clock, telemetry, rebalance }: ScheduleDeps): ScheduleHandler {
  return async (_event, context) => {
    const beganMs = clock.monotonicMs();
    const told = (): Readonly<Record<string, unknown>> => ({
      ms: Math.round(clock.monotonicMs() - beganMs),
      counts: telemetry.takeCounts(),
    });
    // A lease that was not given back would keep everybody else waiting.
    const ms = Math.max(0, context.getRemainingTimeInMillis() - LEASE_RELEASE_MS_MAX - RUNTIME_MARGIN_MS);
    const deadline = clock.deadline(ms);
    try {
      const plans = await rebalance({ dryRun: false }, deadline);
      telemetry.log('info', 'rebalanced', { ...summary(plans), ...told() });
    } catch (cause) {
      const error = deadline.aborted ? outOfTime(ms, cause) : cause;
      telemetry.log('error', 'rebalancing failed', { error, ...told() });
      throw error;
    }
  };
}

const outOfTime = (ms: number, cause: unknown): KelpError =>
  new KelpError(
    'unavailable',
    'out-of-time',
    `not done within ${Math.round(ms)} ms: another one leads and does not answer, or there is too much to do`,
    { cause },
  );

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
