import { justAfter, segmentsPartition } from '../format/item-key.ts';
import { decodeSegment, type SegmentRecord } from '../format/segment-item.ts';
import type { SegmentId, TopicId } from '../model/ids.ts';
import { SEGMENTS_LIST_PAGE } from '../model/limits.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import { queryPages } from './query-pages.ts';

/**
 * The segments of a topic's life that are newer than `after` (`''`: all), sealed ones too, in order of their ids. A segment's
 * item is there before its head, so before any of its predecessors is sealed.
 */
export async function readSegmentRecords(
  table: MetadataTable,
  { topic, after }: { readonly topic: TopicId; readonly after: SegmentId | '' },
  signal: AbortSignal,
): Promise<SegmentRecord[]> {
  const records: SegmentRecord[] = [];
  const query = { pk: segmentsPartition(topic), ...(after === '' ? {} : { from: justAfter(after) }), limit: SEGMENTS_LIST_PAGE };
  for await (const items of queryPages(table, query, signal)) records.push(...items.map(decodeSegment));
  return records;
}
