import { pageSortKey, pagesPartition } from '../format/item-key.ts';
import { decodePage } from '../format/page-item.ts';
import type { Page } from '../model/head.ts';
import type { SegmentId, TopicId } from '../model/ids.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';

export type SegmentAddress = { readonly topic: TopicId; readonly segment: SegmentId };

/** The page that holds this offset; undefined where none does. Pages at or above the head's spill count are unsettled. */
export async function readPageAt(
  table: MetadataTable,
  { topic, segment }: SegmentAddress,
  offset: number,
  signal: AbortSignal,
): Promise<Page | undefined> {
  const query = { pk: pagesPartition(topic, segment), from: pageSortKey(0), to: pageSortKey(offset), descending: true, limit: 1 };
  const item = (await table.query(query, signal)).items[0];
  if (item === undefined) return undefined;
  const page = decodePage(item);
  return page.next > offset ? page : undefined;
}
