import { type BrokerAddress, isReached } from '../model/broker.ts';
import { LOOK_CROWD_MS, LOOK_LEASE_MS_MAX } from '../model/crowd-limits.ts';
import { FUNCTION_LEASE_MS } from '../model/function-limits.ts';
import type { TopicId } from '../model/ids.ts';
import { NUDGE_MS } from '../model/scaling-limits.ts';
import type { SegmentPressure } from '../model/segment-pressure.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { LeaderService } from './control.ts';
import type { LeaderFinder } from './leader/find-leader.ts';
import type { ScalingMemory } from './scaling/scaling-memory.ts';

/**
 * What a nudge comes to in a function. Where a process leads, that one is asked. Where only functions are, none of which leads for longer
 * than a call, this one leads, and looks at the topic, unless anybody is at it or was within NUDGE_MS. The next start of the schedule
 * knows nothing of what was throttled. `ask` asks whoever leads.
 */
export type LookOnce = (pressed: Pressed, ask: () => Promise<void>, signal: AbortSignal) => Promise<void>;
export type Pressed = { readonly topic: TopicId; readonly pressures: readonly SegmentPressure[] };

export type LookOnceDeps = {
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  readonly random: Pick<Random, 'fraction'>;
  readonly memory: Pick<ScalingMemory, 'read' | 'nowMs'>;
  readonly service: Pick<LeaderService, 'nudge' | 'rebalance'>;
  readonly finder: Pick<LeaderFinder, 'find'>;
  readonly self: Pick<BrokerAddress, 'id'>;
  leadOnce<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
};

export function createLookOnce(deps: LookOnceDeps): LookOnce {
  const { clock, random, memory, service } = deps;
  let quietUntilMs = -Infinity;
  const beQuiet = (ms: number): void => void (quietUntilMs = clock.monotonicMs() + ms);

  async function wasLookedAt(topic: TopicId, signal: AbortSignal): Promise<boolean> {
    const known = await memory.read(topic, signal);
    const afterMs = memory.nowMs() - NUDGE_MS;
    return [...(known?.windows.values() ?? [])].some(({ sample }) => sample.atMs > afterMs);
  }

  return async ({ topic, pressures }, ask, signal) => {
    // The lease is an item as any other: a crowd that asks for it all the time would keep it from everybody.
    if (clock.monotonicMs() < quietUntilMs) return;
    beQuiet(FUNCTION_LEASE_MS * (0.5 + 0.5 * random.fraction()));
    // Instances are many, and all of them are told at about the same time: most find then that another one is at it.
    await clock.sleep(Math.ceil(random.fraction() * LOOK_CROWD_MS), signal);
    const leader = await deps.finder.find(signal);
    // A function leads for the time of a call, and nobody can ask it anything.
    if (leader !== undefined) return isReached(leader) && leader.id !== deps.self.id ? ask().finally(() => beQuiet(0)) : undefined;
    if (await wasLookedAt(topic, signal)) return;
    await leadSoon(deps, signal, async () => {
      if (await wasLookedAt(topic, signal)) return;
      await service.nudge(topic, pressures, signal);
      await service.rebalance({ topic, dryRun: false }, signal);
      beQuiet(NUDGE_MS);
    });
  };
}

/** Whoever leads meanwhile looks at the topic as well: the lease is worth no wait, and what is left of the time is for the look. */
async function leadSoon({ clock, leadOnce }: LookOnceDeps, signal: AbortSignal, look: () => Promise<void>): Promise<void> {
  const waiting = new AbortController();
  const begun = new AbortController();
  clock.sleep(LOOK_LEASE_MS_MAX, begun.signal).then(
    () => waiting.abort(new DOMException('another one leads', 'TimeoutError')),
    () => undefined, // woken by the lease
  );
  try {
    await leadOnce(
      () => {
        begun.abort();
        return look();
      },
      AbortSignal.any([signal, waiting.signal]),
    );
  } finally {
    begun.abort();
  }
}
