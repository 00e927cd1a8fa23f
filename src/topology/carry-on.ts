import { CHANGE_ATTEMPTS_MAX } from '../model/limits.ts';
import type { SegmentId } from '../model/ids.ts';
import { KelpError } from '../model/errors.ts';
import type { Topic } from '../model/topic.ts';
import { applyChanges, readTopic, type TopologyDeps } from './apply-change.ts';

/** The topic once its pending changes are done: whoever meets a leftover of somebody who was killed finishes it. */
export async function carryOn(deps: TopologyDeps, id: Topic['id'], signal: AbortSignal): Promise<Topic> {
  let topic = await readTopic(deps, id, signal);
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS_MAX; attempt += 1) {
    if (topic.changes.length === 0) return topic;
    topic = await applyChanges(deps, topic, topic.changes, signal);
  }
  throw new KelpError('unavailable', 'unavailable', 'the topic changes too fast', { retryAfterMs: 1_000 });
}

/**
 * The topic once it is made, or gone. Other pending changes are not waited for: the old list of segments does until they are
 * done.
 */
export async function readSettled(deps: TopologyDeps, id: Topic['id'], signal: AbortSignal): Promise<Topic> {
  const topic = await readTopic(deps, id, signal);
  const isUnsettled = topic.changes.some(({ kind }) => kind === 'create' || kind === 'delete');
  return isUnsettled ? carryOn(deps, id, signal) : topic;
}

/** Steps 2 to 5 of the change that makes this segment, if it is pending still: whoever needs the segment does them. */
export async function carryOnSegment(deps: TopologyDeps, id: Topic['id'], segment: SegmentId, signal: AbortSignal): Promise<void> {
  const topic = await readTopic(deps, id, signal);
  const changes = topic.changes.filter((change) => change.children.some((child) => child.segment === segment));
  if (changes.length > 0) await applyChanges(deps, topic, changes, signal);
}
