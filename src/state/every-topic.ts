import { namesPartition, topicKey } from '../format/item-key.ts';
import { decodeName } from '../format/name-item.ts';
import { decodeTopic } from '../format/topic-item.ts';
import { SWEEP_PAGE_MAX } from '../model/limits.ts';
import { TENANT_DEFAULT, type Topic } from '../model/topic.ts';
import type { Item, MetadataTable } from '../ports/metadata-table.ts';
import type { Random } from '../ports/random.ts';
import { queryPages } from './query-pages.ts';

/** A name's first characters: enough to begin between any two topics. */
const START_LENGTH = 2;

/**
 * The items of all names, a page at a time. Begins anywhere, so that what one look at all of them has no time for is not what the next one has
 * none for.
 */
export async function* everyName(
  { table, random }: { readonly table: MetadataTable; readonly random: Random },
  signal: AbortSignal,
): AsyncGenerator<readonly Item[], void, undefined> {
  const query = { pk: namesPartition(TENANT_DEFAULT), limit: SWEEP_PAGE_MAX };
  const start = random.base36(START_LENGTH);
  yield* queryPages(table, { ...query, from: start }, signal);
  yield* queryPages(table, { ...query, to: start }, signal);
}

/** The topic of a name. Undefined: there is none, or it is being deleted, and cleaned up as a whole. */
export async function topicOfName(
  { table }: { readonly table: MetadataTable },
  name: Item,
  signal: AbortSignal,
): Promise<Topic | undefined> {
  const { topic: id } = decodeName(name);
  const found = id === undefined ? undefined : await table.get(topicKey(id), signal);
  const topic = found === undefined ? undefined : decodeTopic(found);
  return topic?.state === 'active' ? topic : undefined;
}
