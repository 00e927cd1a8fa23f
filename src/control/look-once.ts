import type { TopicId } from '../model/ids.ts';
import { FUNCTION_LEASE_MS } from '../model/function-limits.ts';
import { NUDGE_MS } from '../model/scaling-limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { LeaderService } from './control.ts';
import type { ScalingMemory } from './scaling/scaling-memory.ts';

/**
 * What a nudge comes to where only functions are, none of which leads for longer than a call: this one leads, and looks at the
 * topic, unless anybody has within NUDGE_MS. The next start of the schedule knows nothing of what was throttled.
 */
export type LookOnce = LeaderService['nudge'];

export type LookOnceDeps = {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly memory: Pick<ScalingMemory, 'read' | 'nowMs'>;
  readonly service: Pick<LeaderService, 'nudge' | 'rebalance'>;
  leadOnce<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
};

export function createLookOnce({ clock, memory, service, leadOnce }: LookOnceDeps): LookOnce {
  let quietUntilMs = -Infinity;

  async function wasLookedAt(topic: TopicId, signal: AbortSignal): Promise<boolean> {
    const known = await memory.read(topic, signal);
    const afterMs = memory.nowMs() - NUDGE_MS;
    return [...(known?.windows.values() ?? [])].some(({ sample }) => sample.atMs > afterMs);
  }

  return async (topic, pressures, signal) => {
    // Instances are many, and all of them are told at about the same time.
    if (clock.monotonicMs() < quietUntilMs || (await wasLookedAt(topic, signal))) return;
    const look = async (): Promise<void> => {
      if (await wasLookedAt(topic, signal)) return;
      await service.nudge(topic, pressures, signal);
      await service.rebalance({ topic, dryRun: false }, signal);
    };
    try {
      await leadOnce(look, signal);
    } catch (error) {
      // The lease is an item as any other: a crowd that tries to take it all the time would keep it from everybody.
      quietUntilMs = clock.monotonicMs() + FUNCTION_LEASE_MS;
      throw error;
    }
  };
}
