import type { TopicId } from '../../model/ids.ts';
import { LOOKS_PARALLEL_MAX, REBALANCE_CALL_MS } from '../../model/scaling-limits.ts';
import type { TopicLoads, TopicPlan } from '../../model/scaling.ts';
import type { SegmentPressure } from '../../model/segment-pressure.ts';
import { createBell } from '../../state/bell.ts';
import { inParallel } from '../../state/in-parallel.ts';
import { readTopic } from '../../topology/apply-change.ts';
import type { Term } from '../leader/held-lease.ts';
import { createLookTimes } from './look-times.ts';
import { createPressures } from './pressures.ts';
import type { ScaleDeps } from './scale-topic.ts';
import { look, lookOrFail, type LookParts, readTopics } from './take-looks.ts';
import { createHotKeyTeller } from './tell-hot-keys.ts';
import { loadsOf } from './topic-loads.ts';
import { watchTopics } from './watch-topics.ts';

/** Has topics split and merge: looks at one after the other, and makes what is planned. */
export type Rebalancer = {
  /** Looks by itself, for one term; ends with it, once no look is under way. Never rejects. */
  lead(term: Pick<Term, 'signal'>): Promise<void>;
  /** As of LeaderService. */
  rebalance(asked: { readonly topic?: TopicId; readonly dryRun: boolean }, signal: AbortSignal): Promise<readonly TopicPlan[]>;
  /** As of LeaderService. */
  nudge(topic: TopicId, pressures: readonly SegmentPressure[]): void;
  /** As of LeaderService. */
  loads(topic: TopicId, signal: AbortSignal): Promise<TopicLoads>;
};

export type RebalancerDeps = Omit<ScaleDeps, 'hotKeys' | 'tickMs'> & {
  /** How often it looks by itself at a topic that is used; 0: only when somebody asks. */
  readonly rebalanceMs: number;
  /** What the brokers' items say of segments, as read last. */
  readonly pressures: () => readonly SegmentPressure[];
};

export function createRebalancer(given: RebalancerDeps): Rebalancer {
  const tickMs = given.rebalanceMs > 0 ? given.rebalanceMs : REBALANCE_CALL_MS;
  const deps = { ...given, tickMs, hotKeys: createHotKeyTeller(given) };
  const parts: LookParts = {
    deps,
    pressures: createPressures(given),
    times: createLookTimes(tickMs),
    bell: createBell(deps.clock),
    turns: new Map(),
  };
  return {
    lead: (term) => watchTopics(parts, term),
    async rebalance({ topic, dryRun }, signal) {
      if (topic === undefined) return rebalanceAll(parts, dryRun, signal);
      return [(await look(parts, { topic, dryRun }, signal)).plan];
    },
    nudge(topic, pressures) {
      parts.pressures.note(pressures.filter((one) => one.topic === topic));
      parts.times.hasten(topic, deps.clock.monotonicMs());
      parts.bell.ring();
    },
    async loads(id, signal) {
      const topic = await readTopic(deps, id, signal);
      return loadsOf(topic, await deps.memory.read(id, signal), deps.memory.nowMs());
    },
  };
}

/** From a random topic on, so that none is the last each time, where the time ends before all have been looked at. */
async function rebalanceAll(parts: LookParts, dryRun: boolean, signal: AbortSignal): Promise<TopicPlan[]> {
  const all = await readTopics(parts, signal);
  const first = Math.floor(parts.deps.random.fraction() * all.length);
  const topics = [...all.slice(first), ...all.slice(0, first)];
  const looks = await inParallel(topics, LOOKS_PARALLEL_MAX, (topic) => lookOrFail(parts, { topic, dryRun }, signal));
  const plans = looks.flatMap((one) => one?.plan ?? []);
  const told = plans.filter(({ changes, hotKeys, held }) => changes.length + hotKeys.length + held.length > 0);
  return told.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
