import type { Archive } from '../model/archive.ts';
import type { CommitId, SegmentId, TopicId } from '../model/ids.ts';
import { TENANT_DEFAULT } from '../model/topic.ts';
import type { Item } from '../ports/metadata-table.ts';
import { checkVersion, integerField, stringField } from './item-fields.ts';

const ARCHIVE_VERSION = 1;

export function encodeArchive(archive: Archive): Item {
  return {
    v: ARCHIVE_VERSION,
    tenant: TENANT_DEFAULT,
    topic: archive.topic,
    segment: archive.segment,
    ah: archive.through,
    ga: archive.guard,
    start: archive.start,
    t: archive.highestTimestampMs,
    bytes: archive.bytes,
    gone: archive.goneBytes,
  };
}

/** Error `corrupt` where the item is not as FORMAT.md says. */
export function decodeArchive(item: Item): Archive {
  checkVersion(item, ARCHIVE_VERSION);
  return {
    topic: stringField(item, 'topic') as TopicId,
    segment: stringField(item, 'segment') as SegmentId,
    through: integerField(item, 'ah'),
    guard: stringField(item, 'ga') as CommitId | '',
    start: integerField(item, 'start'),
    highestTimestampMs: integerField(item, 't'),
    bytes: integerField(item, 'bytes'),
    goneBytes: integerField(item, 'gone'),
  };
}
