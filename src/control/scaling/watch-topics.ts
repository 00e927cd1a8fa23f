import type { TopicId } from '../../model/ids.ts';
import { LOOK_MS_MAX, LOOKS_PARALLEL_MAX, LOOKS_PER_SECOND_MAX, TOPICS_READ_MS } from '../../model/scaling-limits.ts';
import { within } from '../../state/within.ts';
import { createPace, type Pace } from '../failover/pace.ts';
import type { Term } from '../leader/held-lease.ts';
import { failed, lookOrFail, type LookParts, readTopics } from './take-looks.ts';

type Watch = {
  readonly parts: LookParts;
  readonly term: Pick<Term, 'signal'>;
  readonly pace: Pace;
  readonly underWay: Set<Promise<void>>;
  /** When the names of all topics are read next. */
  readDueMs: number;
};

/** Looks at each topic when it is due, at some side by side, for one term. Never rejects. */
export async function watchTopics(parts: LookParts, term: Pick<Term, 'signal'>): Promise<void> {
  const { deps, bell, times } = parts;
  const pace = createPace(deps.clock, () => LOOKS_PER_SECOND_MAX);
  const watch: Watch = { parts, term, pace, underWay: new Set(), readDueMs: -Infinity };
  times.clear();
  while (!term.signal.aborted) {
    const waitMs = deps.rebalanceMs > 0 ? await startDue(watch) : deps.tickMs;
    await bell.wait(waitMs, term.signal);
  }
  await Promise.all(watch.underWay);
  // Told by the leader alone.
  deps.hotKeys.keep(new Set());
}

/** Begins with all that is due, and answers for how long nothing more will be. */
async function startDue(watch: Watch): Promise<number> {
  const { parts, term, underWay } = watch;
  const { deps, times, pressures } = parts;
  await readIfDue(watch);
  // An item may name what is gone for as long as the broker is there.
  for (const topic of pressures.topics()) if (times.knows(topic)) times.hasten(topic, deps.clock.monotonicMs());
  while (!term.signal.aborted) {
    const nowMs = deps.clock.monotonicMs();
    const next = times.next(nowMs);
    const dueInMs = (next?.dueMs ?? Infinity) - nowMs;
    if (next === undefined || dueInMs > 0) return Math.min(deps.tickMs, dueInMs);
    // The end of any of them rings.
    if (underWay.size >= LOOKS_PARALLEL_MAX) return deps.tickMs;
    await untilMay(watch);
    if (!term.signal.aborted) start(watch, next.topic);
  }
  return 0;
}

async function untilMay({ pace, term }: Watch): Promise<void> {
  try {
    await pace.take(1, term.signal);
  } catch (reason) {
    if (!term.signal.aborted) throw reason;
  }
}

function start(watch: Watch, topic: TopicId): void {
  const { parts, underWay } = watch;
  // At once, so that it is not due for a second time.
  parts.times.began(topic, parts.deps.clock.monotonicMs());
  const looking = lookInTime(watch, topic).finally(() => {
    underWay.delete(looking);
    parts.bell.ring();
  });
  underWay.add(looking);
}

/** What fails with the look alone is told there: here its time is over, or the term is. */
async function lookInTime({ parts, term }: Watch, topic: TopicId): Promise<void> {
  try {
    await within(parts.deps.clock, { ms: LOOK_MS_MAX }, (own) => lookOrFail(parts, { topic, dryRun: false }, own), term.signal);
  } catch (error) {
    if (!term.signal.aborted) failed(parts, 'a look at a topic has taken too long', { topic, error });
  }
}

/** Where they can't be read, those that are known are looked at all the same. */
async function readIfDue(watch: Watch): Promise<void> {
  const { parts, term } = watch;
  const { clock } = parts.deps;
  if (clock.monotonicMs() < watch.readDueMs) return;
  watch.readDueMs = clock.monotonicMs() + Math.max(TOPICS_READ_MS, parts.deps.tickMs);
  try {
    await readTopics(parts, term.signal);
  } catch (error) {
    if (term.signal.aborted) return;
    watch.readDueMs = clock.monotonicMs() + parts.deps.tickMs;
    failed(parts, 'the topics could not be listed', { error });
  }
}
