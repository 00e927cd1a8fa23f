import { KelpError } from '../model/errors.ts';
import type { Topic } from '../model/topic.ts';
import type { TopologyDeps } from '../topology/apply-change.ts';
import { readSettled } from '../topology/carry-on.ts';
import { readName } from './read-name.ts';

/** The topic that has this name, as the stores know it; changes of its segments may be pending. Error `topic-not-found`. */
export async function readActive(deps: TopologyDeps, name: string, signal: AbortSignal): Promise<Topic> {
  const record = await readName(deps, name, signal);
  const topic = record?.topic === undefined ? undefined : await readSettled(deps, record.topic, signal);
  if (topic?.state !== 'active') throw new KelpError('not-found', 'topic-not-found', `no topic ${name}`);
  return topic;
}
