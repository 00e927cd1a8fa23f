import { CARRY_ON_AFTER_MS } from '../model/crowd-limits.ts';
import { CARRY_ON_MS_MAX, TOPIC_KNOWN_MS_MAX, TOPICS_KNOWN_MAX } from '../model/limits.ts';
import type { TopicId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import type { Background } from '../ports/background.ts';
import type { TopologyDeps } from '../topology/apply-change.ts';
import { carryOn } from '../topology/carry-on.ts';
import { readActive } from './read-active.ts';

type Known = { readonly topic: Topic; readonly atMs: number };

/** Topics by name, as this instance last saw them. Believing an old one is safe: its heads say what is true. */
export type TopicResolver = {
  resolve(name: string, options: { readonly fresh: boolean }, signal: AbortSignal): Promise<Topic>;
  /** Takes a state that a write gave. */
  learn(topic: Topic): void;
  forget(name: string): void;
};

type ResolverDeps = TopologyDeps & { readonly background: Background };

export function createTopicResolver(deps: ResolverDeps): TopicResolver {
  const known = new Map<string, Known>();
  const carryOnBehind = createCarryOnBehind(deps);
  const learn = (topic: Topic): void => {
    known.delete(topic.name);
    known.set(topic.name, { topic, atMs: deps.clock.monotonicMs() });
    const oldest = known.keys().next();
    if (known.size > TOPICS_KNOWN_MAX && oldest.done !== true) known.delete(oldest.value);
  };
  return {
    learn,
    forget: (name) => void known.delete(name),
    async resolve(name, { fresh }, signal) {
      const entry = known.get(name);
      if (!fresh && entry !== undefined && deps.clock.monotonicMs() - entry.atMs < TOPIC_KNOWN_MS_MAX) return entry.topic;
      known.delete(name);
      const topic = await readActive(deps, name, signal);
      carryOnBehind(topic);
      learn(topic);
      return topic;
    },
  };
}

/**
 * Carries on what somebody may have been stopped in the middle of; nobody here waits for that. Whoever makes a change may well be at it,
 * and hundreds of instances see it: so it is carried on only once it was seen here CARRY_ON_AFTER_MS ago, and once at a time.
 */
function createCarryOnBehind(deps: ResolverDeps): (topic: Topic) => void {
  const underWay = new Set<TopicId>();
  const pending = new Map<TopicId, { readonly changes: ReadonlySet<string>; readonly sinceMs: number }>();
  return ({ id, changes }) => {
    const seen = pending.get(id);
    const isLeft = changes.some((change) => seen?.changes.has(change.id) === true);
    if (!isLeft) pending.delete(id);
    if (changes.length === 0 || underWay.has(id)) return;
    const nowMs = deps.clock.monotonicMs();
    if (seen === undefined || !isLeft) {
      if (pending.size >= TOPICS_KNOWN_MAX) pending.clear();
      pending.set(id, { changes: new Set(changes.map((change) => change.id)), sinceMs: nowMs });
      return;
    }
    if (nowMs - seen.sinceMs < CARRY_ON_AFTER_MS) return;
    pending.delete(id);
    underWay.add(id);
    deps.background.run('carry on', CARRY_ON_MS_MAX, async (signal) => {
      try {
        await carryOn(deps, id, signal);
      } finally {
        underWay.delete(id);
      }
    });
  };
}
