import { segmentsPartition } from '../format/item-key.ts';
import { decodeSegment, type SegmentRecord } from '../format/segment-item.ts';
import type { SegmentId, TopicId } from '../model/ids.ts';
import { SEGMENTS_LIST_PAGE } from '../model/limits.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';

/**
 * The segments of a topic's life that are newer than `after` (`''`: all), sealed ones too, in order of their ids. A segment's
 * item is there before its head, so before any of its predecessors is sealed.
 */
export async function readSegmentRecords(
  table: MetadataTable,
  segments: { readonly topic: TopicId; readonly after: SegmentId | '' },
  signal: AbortSignal,
): Promise<SegmentRecord[]> {
  const records: SegmentRecord[] = [];
  const pk = segmentsPartition(segments.topic);
  let after: string = segments.after;
  for (let more = true; more;) {
    // The next text behind an id of fixed width.
    const page = await table.query({ pk, ...(after === '' ? {} : { from: `${after}!` }), limit: SEGMENTS_LIST_PAGE }, signal);
    records.push(...page.items.map(decodeSegment));
    after = records.at(-1)?.segment ?? after;
    more = page.more && page.items.length > 0;
  }
  return records;
}
