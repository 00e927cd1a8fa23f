import type { TopicId } from '../model/ids.ts';
import type { Item } from '../ports/metadata-table.ts';
import { checkVersion, integerField, stringField } from './item-fields.ts';

const NAME_VERSION = 1;

/**
 * Which topic has a name. It outlives topics: the segment counter goes on with the next topic of this name, so that an id of
 * a former life is known as such. `topic` absent: the name is free.
 */
export type NameRecord = {
  readonly tenant: string;
  readonly name: string;
  readonly topic?: TopicId;
  /** Number of the first segment of the next topic of this name. */
  readonly nextSegment: number;
  /** Raised by every write. */
  readonly version: number;
};

export function encodeName(record: NameRecord): Item {
  const { tenant, name, nextSegment, version, topic } = record;
  return { v: NAME_VERSION, tenant, name, nextSegment, version, ...(topic === undefined ? {} : { topic }) };
}

/** Error `corrupt` where the item is not as FORMAT.md says. */
export function decodeName(item: Item): NameRecord {
  checkVersion(item, NAME_VERSION);
  return {
    tenant: stringField(item, 'tenant'),
    name: stringField(item, 'name'),
    nextSegment: integerField(item, 'nextSegment'),
    version: integerField(item, 'version'),
    ...(item['topic'] === undefined ? {} : { topic: stringField(item, 'topic') as TopicId }),
  };
}
