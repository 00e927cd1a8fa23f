import type { SegmentId } from '../model/ids.ts';
import { type SegmentRange, TENANT_DEFAULT } from '../model/topic.ts';
import type { Item } from '../ports/metadata-table.ts';
import { checkVersion, integerField, stringField, stringsField } from './item-fields.ts';

const SEGMENT_VERSION = 1;

/** What never changes of a segment; its state is in its head. */
export type SegmentRecord = SegmentRange & { readonly predecessors: readonly SegmentId[] };

export function encodeSegment(record: SegmentRecord): Item {
  return {
    v: SEGMENT_VERSION,
    tenant: TENANT_DEFAULT,
    segment: record.segment,
    lo: record.lo,
    hi: record.hi,
    predecessors: record.predecessors,
  };
}

/** Error `corrupt` where the item is not as FORMAT.md says. */
export function decodeSegment(item: Item): SegmentRecord {
  checkVersion(item, SEGMENT_VERSION);
  return {
    segment: stringField(item, 'segment') as SegmentId,
    lo: integerField(item, 'lo'),
    hi: integerField(item, 'hi'),
    predecessors: stringsField(item, 'predecessors') as readonly SegmentId[],
  };
}
