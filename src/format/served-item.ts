import type { SegmentId, TopicId } from '../model/ids.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import type { Item } from '../ports/metadata-table.ts';
import { checkVersion, stringField } from './item-fields.ts';

const SERVED_VERSION = 1;

/**
 * That a broker serves a segment, or did, or was about to: what is true stands in the head. It is written before the head
 * says so, and goes once the segment is sealed or has other brokers, so whoever looks for a broker's segments finds all of
 * them here.
 */
export type ServedRecord = { readonly topic: TopicId; readonly segment: SegmentId };

export function encodeServed({ topic, segment }: ServedRecord): Item {
  return { v: SERVED_VERSION, tenant: TENANT_DEFAULT, topic, segment };
}

/** Error `corrupt` where the item is not as FORMAT.md says. */
export function decodeServed(item: Item): ServedRecord {
  checkVersion(item, SERVED_VERSION);
  return { topic: stringField(item, 'topic') as TopicId, segment: stringField(item, 'segment') as SegmentId };
}
