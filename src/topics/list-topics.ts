import { justAfter, namesPartition, topicKey } from '../format/item-key.ts';
import { decodeName } from '../format/name-item.ts';
import { decodeTopic } from '../format/topic-item.ts';
import { CHANGE_PARALLEL_MAX } from '../model/limits.ts';
import { TENANT_DEFAULT, type Topic } from '../model/topic.ts';
import type { TopologyDeps } from '../topology/apply-change.ts';
import { inParallel } from '../state/in-parallel.ts';
import type { TopicsPage } from './topics.ts';

/** In order of names, so that a page's end stays a place though topics come and go. */
export async function listTopics(
  deps: TopologyDeps,
  page: { readonly limit: number; readonly after?: string },
  signal: AbortSignal,
): Promise<TopicsPage> {
  const topics: Topic[] = [];
  let from = page.after === undefined ? '' : justAfter(page.after);
  // Names that are free now fill table pages, too: bounded by the number of names there ever were.
  for (;;) {
    const wanted = page.limit - topics.length;
    const found = await deps.table.query({ pk: namesPartition(TENANT_DEFAULT), ...(from === '' ? {} : { from }), limit: wanted }, signal);
    const records = found.items.map(decodeName);
    const read = await inParallel(records, CHANGE_PARALLEL_MAX, async (record) => {
      const item = record.topic === undefined ? undefined : await deps.table.get(topicKey(record.topic), signal);
      return item === undefined ? undefined : decodeTopic(item);
    });
    topics.push(...read.filter((topic) => topic?.state === 'active').flatMap((topic) => topic ?? []));
    const last = records.at(-1)?.name;
    if (!found.more || last === undefined) return { topics };
    if (topics.length >= page.limit) return { topics, next: last };
    from = justAfter(last);
  }
}
