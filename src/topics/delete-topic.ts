import { KelpError } from '../model/errors.ts';
import { CHANGE_ATTEMPTS_MAX, CLEANUP_MS_MAX } from '../model/limits.ts';
import type { Topic, TopologyChange } from '../model/topic.ts';
import type { Background } from '../ports/background.ts';
import { applyChanges, intend } from '../topology/apply-change.ts';
import { carryOn } from '../topology/carry-on.ts';
import { newChangeId } from '../topology/change-id.ts';
import { type CleanUpDeps, cleanUpTopic } from './clean-up-topic.ts';
import { freeName } from './free-name.ts';
import { readName } from './read-name.ts';

export type DeleteDeps = CleanUpDeps & { readonly background: Background };

/**
 * A topic is deleted as a change without children: its segments are sealed, then its name is free. Killed in between, the
 * next one who meets it goes on. Its objects go in the background, by its id, which no other topic ever has.
 */
export async function deleteTopic(deps: DeleteDeps, name: string, signal: AbortSignal): Promise<void> {
  const record = await readName(deps, name, signal);
  if (record?.topic === undefined) throw new KelpError('not-found', 'topic-not-found', `no topic ${name}`);
  const wasDeleted = (await carryOn(deps, record.topic, signal)).state === 'deleted';
  const topic = await sealTopic(deps, record.topic, signal);
  await freeName(deps, topic, signal);
  deps.background.run('clean up topic', CLEANUP_MS_MAX, (own) => cleanUpTopic(deps, topic, own));
  if (wasDeleted) throw new KelpError('not-found', 'topic-not-found', `no topic ${name}`);
}

async function sealTopic(deps: DeleteDeps, id: Topic['id'], signal: AbortSignal): Promise<Topic> {
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS_MAX; attempt += 1) {
    const topic = await carryOn(deps, id, signal);
    if (topic.state === 'deleted') return topic;
    const parents = topic.open.map((range) => range.segment);
    const change: TopologyChange = { id: newChangeId(deps.random), kind: 'delete', parents, children: [] };
    const intended = await intend(deps, topic, [change], signal);
    if (intended !== undefined) return applyChanges(deps, intended, [change], signal);
  }
  throw new KelpError('unavailable', 'unavailable', 'the topic changes too fast', { retryAfterMs: 1_000 });
}
