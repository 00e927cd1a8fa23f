import { justAfter, namesPartition } from '../../format/item-key.ts';
import { decodeName } from '../../format/name-item.ts';
import type { TopicId } from '../../model/ids.ts';
import { TOPICS_LIST_MAX } from '../../model/limits.ts';
import { TENANT_DEFAULT } from '../../model/topic.ts';
import type { MetadataTable } from '../../ports/metadata-table.ts';

/** All topics there are, in order of their names; nothing is read but these. */
export async function readTopicIds(table: MetadataTable, signal: AbortSignal): Promise<TopicId[]> {
  const ids: TopicId[] = [];
  let from: string | undefined;
  for (let more = true; more;) {
    const pk = namesPartition(TENANT_DEFAULT);
    const page = await table.query({ pk, ...(from === undefined ? {} : { from }), limit: TOPICS_LIST_MAX }, signal);
    const names = page.items.map(decodeName);
    ids.push(...names.flatMap(({ topic }) => topic ?? []));
    from = justAfter(names.at(-1)?.name ?? '');
    more = page.more && names.length > 0;
  }
  return ids;
}
