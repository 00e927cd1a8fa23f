import { KelpError } from '../../model/errors.ts';
import type { TopicId } from '../../model/ids.ts';
import { orAbort } from '../../state/abortable.ts';
import type { Bell } from '../../state/bell.ts';
import type { LookTimes } from './look-times.ts';
import type { Pressures } from './pressures.ts';
import { type Look, type ScaleDeps, scaleTopic } from './scale-topic.ts';
import { readTopicIds } from './topic-ids.ts';

export type LookParts = {
  readonly deps: ScaleDeps & {
    /** How often it looks by itself at a topic that is used; 0: only when somebody asks. */
    readonly rebalanceMs: number;
  };
  readonly pressures: Pressures;
  readonly times: LookTimes;
  /** Rings when something may be due. */
  readonly bell: Bell;
  /** The latest look at each topic that is looked at now. */
  readonly turns: Map<TopicId, Promise<unknown>>;
};

export type AskedLook = { readonly topic: TopicId; readonly dryRun: boolean };

/** One at a time for each topic, whoever asks: the next one finds what this one has made. Errors as of scaleTopic. */
export function look(parts: LookParts, asked: AskedLook, signal: AbortSignal): Promise<Look> {
  const { turns } = parts;
  const mine = (turns.get(asked.topic) ?? Promise.resolve()).then(() => lookNow(parts, asked, signal));
  const over = mine.catch(() => undefined);
  turns.set(asked.topic, over);
  void over.then(() => turns.get(asked.topic) === over && turns.delete(asked.topic));
  return orAbort(mine, signal);
}

/** What is wrong with one topic keeps no other one from being looked at. Undefined: it failed, or the topic is gone. */
export async function lookOrFail(parts: LookParts, asked: AskedLook, signal: AbortSignal): Promise<Look | undefined> {
  try {
    return await look(parts, asked, signal);
  } catch (error) {
    signal.throwIfAborted();
    parts.deps.mustLead();
    if (!isGone(error)) failed(parts, 'the segments of a topic could not be looked at', { topic: asked.topic, error });
    return undefined;
  }
}

/** All topics there are; of any other one, nothing is remembered any more. */
export async function readTopics({ deps, times }: LookParts, signal: AbortSignal): Promise<readonly TopicId[]> {
  const all = await readTopicIds(deps.table, signal);
  const there = new Set(all);
  deps.memory.keep(there);
  deps.hotKeys.keep(there);
  times.set(all, deps.clock.monotonicMs());
  return all;
}

export function failed({ deps }: LookParts, message: string, fields: Readonly<Record<string, unknown>>): void {
  deps.telemetry.count('kelp.rebalance.failed', 1);
  deps.telemetry.log('warn', message, fields);
}

async function lookNow({ deps, times, pressures }: LookParts, asked: AskedLook, signal: AbortSignal): Promise<Look> {
  signal.throwIfAborted();
  const { topic } = asked;
  const beganMs = deps.clock.monotonicMs();
  times.began(topic, beganMs);
  try {
    const found = await scaleTopic(deps, { ...asked, throttled: pressures.throttled(topic) }, signal);
    times.ended(topic, found);
    return found;
  } catch (error) {
    if (isGone(error)) times.forget(topic);
    else times.ended(topic, 'failed');
    throw error;
  } finally {
    deps.telemetry.record('kelp.rebalance.look.duration', (deps.clock.monotonicMs() - beganMs) / 1_000);
  }
}

const isGone = (error: unknown): boolean => error instanceof KelpError && error.code === 'topic-not-found';
