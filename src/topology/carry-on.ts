import { CHANGE_ATTEMPTS_MAX } from '../model/limits.ts';
import { KelpError } from '../model/errors.ts';
import type { Topic } from '../model/topic.ts';
import { applyChange, readTopic, type TopologyDeps } from './apply-change.ts';

/** The topic once its pending changes are done: whoever meets a leftover of somebody who was killed finishes it. */
export async function carryOn(deps: TopologyDeps, id: Topic['id'], signal: AbortSignal): Promise<Topic> {
  let topic = await readTopic(deps, id, signal);
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS_MAX; attempt += 1) {
    const [change] = topic.changes;
    if (change === undefined) return topic;
    topic = await applyChange(deps, topic, change, signal);
  }
  throw new KelpError('unavailable', 'unavailable', 'the topic changes too fast', { retryAfterMs: 1_000 });
}
