import type { Context } from 'aws-lambda';
import type { LogTelemetry } from '../adapters/system/log-telemetry.ts';
import { KelpError } from '../model/errors.ts';
import { RUNTIME_MARGIN_MS } from '../model/function-limits.ts';
import type { Clock } from '../ports/clock.ts';

/** Answers what was done, for whoever invokes it by hand. */
export type ScheduleHandler = (event: unknown, context: Pick<Context, 'getRemainingTimeInMillis'>) => Promise<Done>;

type Done = Readonly<Record<string, unknown>>;

/** What a schedule starts. */
export type ScheduledWork = {
  /** How log lines name it once it is done, and when it failed. */
  readonly done: string;
  readonly failed: string;
  /** Kept of the invocation's time, for what has to happen at the end. */
  readonly endMs: number;
  /** Why there was not enough time. */
  readonly outOfTime: string;
  /** Answers what the line says that was done. `event`: what has started it; the schedule's own says nothing but that it is time. */
  run(event: unknown, signal: AbortSignal): Promise<Done>;
};

export type ScheduleDeps = {
  readonly clock: Clock;
  readonly telemetry: Pick<LogTelemetry, 'log' | 'takeCounts'>;
  readonly work: ScheduledWork;
  /** Resolves when nothing that the work has begun is under way; rejects with the signal's reason. */
  settled(signal: AbortSignal): Promise<void>;
};

/**
 * Does the work at each event, within the time that the invocation has left, and writes a line about it. An error fails the
 * invocation: the platform counts those, and the next event tries again.
 */
export function createScheduleHandler({ clock, telemetry, work, settled }: ScheduleDeps): ScheduleHandler {
  return async (event, context) => {
    const beganMs = clock.monotonicMs();
    const told = (): Done => ({
      ms: Math.round(clock.monotonicMs() - beganMs),
      counts: telemetry.takeCounts(),
    });
    const ms = Math.max(0, context.getRemainingTimeInMillis() - work.endMs - RUNTIME_MARGIN_MS);
    // What is kept for the end is more than there is: nothing may begin, which a timer would let it do.
    const deadline = ms === 0 ? AbortSignal.abort(new DOMException('no time is left', 'TimeoutError')) : clock.deadline(ms);
    try {
      const done = await work.run(event, deadline);
      telemetry.log('info', work.done, { ...done, ...told() });
      return done;
    } catch (cause) {
      const error = deadline.aborted
        ? new KelpError('unavailable', 'out-of-time', `not done within ${Math.round(ms)} ms: ${work.outOfTime}`, { cause })
        : cause;
      telemetry.log('error', work.failed, { error, ...told() });
      throw error;
    } finally {
      await settled(deadline).catch((reason: unknown) => {
        if (!deadline.aborted) throw reason;
      });
    }
  };
}
