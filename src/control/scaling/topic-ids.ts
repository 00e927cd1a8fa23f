import { namesPartition } from '../../format/item-key.ts';
import { decodeName } from '../../format/name-item.ts';
import type { TopicId } from '../../model/ids.ts';
import { TOPICS_LIST_MAX } from '../../model/limits.ts';
import { TENANT_DEFAULT } from '../../model/topic.ts';
import type { MetadataTable } from '../../ports/metadata-table.ts';
import { queryPages } from '../../state/query-pages.ts';

/** All topics there are, in order of their names; nothing is read but these. */
export async function readTopicIds(table: MetadataTable, signal: AbortSignal): Promise<TopicId[]> {
  const ids: TopicId[] = [];
  for await (const items of queryPages(table, { pk: namesPartition(TENANT_DEFAULT), limit: TOPICS_LIST_MAX }, signal)) {
    ids.push(...items.flatMap((item) => decodeName(item).topic ?? []));
  }
  return ids;
}
