import type { TopicId } from '../model/ids.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import type { Item } from '../ports/metadata-table.ts';
import { checkVersion, integerField, stringField, wordField } from './item-fields.ts';

const DELETION_VERSION = 1;
const STATES = ['pending', 'cleaned'] as const;

/**
 * A deleted topic whose objects have to go. It stays when they are gone: a PUT that was paused may bring one back, so every
 * sweep lists the topic's objects again.
 */
export type DeletionRecord = {
  readonly topic: TopicId;
  readonly name: string;
  readonly state: (typeof STATES)[number];
  /** Wall clock, when this state was written. */
  readonly atMs: number;
};

export function encodeDeletion(record: DeletionRecord): Item {
  return { v: DELETION_VERSION, tenant: TENANT_DEFAULT, topic: record.topic, name: record.name, state: record.state, at: record.atMs };
}

/** Error `corrupt` where the item is not as FORMAT.md says. */
export function decodeDeletion(item: Item): DeletionRecord {
  checkVersion(item, DELETION_VERSION);
  return {
    topic: stringField(item, 'topic') as TopicId,
    name: stringField(item, 'name'),
    state: wordField(item, 'state', STATES),
    atMs: integerField(item, 'at'),
  };
}
