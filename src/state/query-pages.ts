import { stringField } from '../format/item-fields.ts';
import { justAfter } from '../format/item-key.ts';
import type { Item, MetadataTable, Query } from '../ports/metadata-table.ts';

/** All that a query finds, a page of at most `limit` at a time; the next one is asked for once the last one is done with. */
export async function* queryPages(
  table: Pick<MetadataTable, 'query'>,
  query: Omit<Query, 'descending'>,
  signal: AbortSignal,
): AsyncGenerator<readonly Item[], void, undefined> {
  for (let { from } = query; ;) {
    const { items, more } = await table.query({ ...query, ...(from === undefined ? {} : { from }) }, signal);
    yield items;
    const last = items.at(-1);
    if (!more || last === undefined) return;
    from = justAfter(stringField(last, 'sk'));
  }
}
