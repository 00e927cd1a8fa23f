import { nameKey, topicKey } from '../format/item-key.ts';
import { decodeName, encodeName, type NameRecord } from '../format/name-item.ts';
import { encodeTopic } from '../format/topic-item.ts';
import { KelpError } from '../model/errors.ts';
import { CHANGE_ATTEMPTS_MAX } from '../model/limits.ts';
import { scalingOf, type SettingsWish, TENANT_DEFAULT, type Topic, type TopicSettings, type TopologyChange } from '../model/topic.ts';
import type { Condition } from '../ports/metadata-table.ts';
import { applyChanges, type TopologyDeps } from '../topology/apply-change.ts';
import { readSettled } from '../topology/carry-on.ts';
import { newChangeId } from '../topology/change-id.ts';
import { equalRanges } from '../topology/plan-change.ts';
import { askAgain } from '../state/ask-again.ts';
import { freeName } from './free-name.ts';
import { readName } from './read-name.ts';
import { areWished, newSettings } from './settings.ts';
import { newTopicId } from './topic-id.ts';

export type Created = { readonly topic: Topic; readonly created: boolean };

/**
 * A topic is created as a change without parents. Its item comes first, then the name: killed before the name is taken,
 * nothing is seen of it; killed after, whoever meets the topic carries its creation on.
 */
export async function createTopic(deps: TopologyDeps, name: string, wish: SettingsWish, signal: AbortSignal): Promise<Created> {
  const settings = newSettings(wish);
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS_MAX; attempt += 1) {
    const record = await readName(deps, name, signal);
    const existing = record?.topic === undefined ? undefined : await readSettled(deps, record.topic, signal);
    if (existing?.state === 'active') return sameOrConflict(existing, wish);
    // Whoever deleted that topic was stopped before the name was free.
    if (existing !== undefined) await freeName(deps, existing, signal);
    else {
      const topic = await claim(deps, { record, name, settings }, signal);
      if (topic !== undefined) return { topic: await finish(deps, topic, signal), created: true };
    }
  }
  throw new KelpError('unavailable', 'unavailable', 'the topic is being created and deleted by others', { retryAfterMs: 1_000 });
}

async function finish(deps: TopologyDeps, topic: Topic, signal: AbortSignal): Promise<Topic> {
  const [change] = topic.changes;
  return change === undefined ? topic : applyChanges(deps, topic, [change], signal);
}

function sameOrConflict(topic: Topic, wish: SettingsWish): Created {
  if (areWished(topic.settings, wish)) return { topic, created: false };
  throw new KelpError('conflict', 'exists-differently', `topic ${topic.name} exists with other settings`, {
    extra: shown(topic.settings),
  });
}

function shown({ schema, ...settings }: TopicSettings): Record<string, unknown> {
  const shownSchema = schema === undefined ? {} : { schema: JSON.parse(schema.json) as unknown };
  return { ...settings, scaling: scalingOf(settings), retention: settings.retention ?? {}, ...shownSchema };
}

/** Undefined if somebody else took the name meanwhile. */
async function claim(
  deps: TopologyDeps,
  wish: { readonly record: NameRecord | undefined; readonly name: string; readonly settings: TopicSettings },
  signal: AbortSignal,
): Promise<Topic | undefined> {
  const topic = newTopic(deps, wish);
  const absent: Condition = [{ op: 'missing', path: ['topic'] }];
  await askAgain(deps, () => deps.table.put(topicKey(topic.id), encodeTopic(topic), absent, signal), signal);
  const before = wish.record;
  const after: NameRecord = {
    tenant: TENANT_DEFAULT,
    name: wish.name,
    topic: topic.id,
    nextSegment: topic.firstSegment,
    version: (before?.version ?? 0) + 1,
  };
  const condition: Condition =
    before === undefined ? [{ op: 'missing', path: ['name'] }] : [{ op: '=', path: ['version'], value: before.version }];
  const put = await askAgain(deps, () => deps.table.put(nameKey(TENANT_DEFAULT, wish.name), encodeName(after), condition, signal), signal);
  if (put.applied || (put.item !== undefined && decodeName(put.item).topic === topic.id)) return topic;
  // Nobody ever learnt of this topic; unless its name was taken by an attempt that went unanswered, and it is gone again.
  const untouched: Condition = [{ op: '=', path: ['version'], value: topic.version }];
  await askAgain(deps, () => deps.table.delete(topicKey(topic.id), untouched, signal), signal);
  return undefined;
}

function newTopic(
  deps: TopologyDeps,
  wish: { readonly record: NameRecord | undefined; readonly name: string; readonly settings: TopicSettings },
): Topic {
  const firstSegment = wish.record?.nextSegment ?? 0;
  const children = equalRanges(wish.settings.segments, firstSegment);
  const change: TopologyChange = { id: newChangeId(deps.random), kind: 'create', parents: [], children };
  return {
    id: newTopicId(deps.random),
    name: wish.name,
    tenant: TENANT_DEFAULT,
    settings: wish.settings,
    state: 'active',
    version: 1,
    firstSegment,
    nextSegment: firstSegment + children.length,
    open: [],
    changes: [change],
    createdMs: deps.clock.nowMs(),
  };
}
