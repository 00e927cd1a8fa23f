import { decodeHead } from '../../../src/format/head-item.ts';
import { headKey, segmentsPartition, servedPartition, topicKey } from '../../../src/format/item-key.ts';
import { decodeSegment } from '../../../src/format/segment-item.ts';
import { decodeServed } from '../../../src/format/served-item.ts';
import { decodeTopic } from '../../../src/format/topic-item.ts';
import type { Head } from '../../../src/model/head.ts';
import type { BrokerId, TopicId } from '../../../src/model/ids.ts';
import type { Topic } from '../../../src/model/topic.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import { inParallel } from '../../../src/state/in-parallel.ts';
import { tiles } from '../../topology/tiles.ts';

const { signal: forEver } = new AbortController();
const ITEMS_MAX = 1_000;
const READS_PARALLEL_MAX = 16;

export type Lineage = { readonly topic: Topic; readonly heads: ReadonlyMap<string, Head> };

export async function readLineage(table: MetadataTable, id: TopicId): Promise<Lineage> {
  const topic = decodeTopic((await table.get(topicKey(id), forEver)) ?? {});
  const segments = (await all(table, segmentsPartition(id))).map((item) => decodeSegment(item).segment);
  const items = await inParallel(segments, READS_PARALLEL_MAX, (segment) => table.get(headKey(id, segment), forEver));
  const heads = items.flatMap((item) => (item === undefined ? [] : [decodeHead(item)]));
  return { topic, heads: new Map(heads.map((head) => [head.segment, head])) };
}

/** What must hold of a topic whose segments were only ever given to other brokers, and in which nothing is under way. */
export function problemsOf({ topic, heads }: Lineage): string[] {
  const problems: string[] = [];
  const say = (isWrong: boolean, problem: string): void => void (isWrong && problems.push(problem));
  say(topic.changes.length > 0, `${topic.changes.length} changes are pending`);
  say(!tiles(topic.open), 'the open ranges do not tile');
  const open = new Set<string>(topic.open.map((range) => range.segment));
  for (const [segment, head] of heads) {
    say(head.state === 'pending', `${segment} is pending`);
    say((head.state === 'open') !== open.has(segment), `${segment} is ${head.state}, and ${open.has(segment) ? '' : 'not '}listed as open`);
    say(head.state === 'sealed' && head.successors.length !== 1, `${segment} has ${head.successors.length} successors`);
    for (const successor of head.successors) {
      const child = heads.get(successor.segment);
      say(child?.lo !== head.lo || child.hi !== head.hi, `${segment} and its successor ${successor.segment} differ in range`);
      say(child?.predecessors.join() !== segment, `${successor.segment} does not come from ${segment} alone`);
    }
  }
  const children = [...heads.values()].flatMap((head) => head.predecessors);
  say(new Set(children).size !== children.length, 'a segment is the predecessor of two');
  return problems;
}

/** Where the brokers' lists and the open heads differ. `exact`: a list may hold nothing else, either. */
export async function unlisted(
  table: MetadataTable,
  lineages: readonly Lineage[],
  { brokers, exact }: { readonly brokers: readonly BrokerId[]; readonly exact: boolean },
): Promise<string[]> {
  const problems: string[] = [];
  for (const broker of brokers) {
    const listed = new Set(
      (await all(table, servedPartition(broker))).map(decodeServed).map(({ topic, segment }) => `${topic}/${segment}`),
    );
    const heads = lineages.flatMap(({ heads: some }) => [...some.values()]);
    const serves = heads
      .filter((head) => head.state === 'open' && head.brokers.includes(broker))
      .map((head) => `${head.topic}/${head.segment}`);
    problems.push(...serves.filter((name) => !listed.has(name)).map((name) => `${broker} serves ${name}, and its list does not say so`));
    if (exact) problems.push(...[...listed].filter((name) => !serves.includes(name)).map((name) => `${broker} lists ${name} in vain`));
  }
  return problems;
}

async function all(table: MetadataTable, pk: string): Promise<Awaited<ReturnType<MetadataTable['query']>>['items'][number][]> {
  const items: Awaited<ReturnType<MetadataTable['query']>>['items'][number][] = [];
  for (let from: string | undefined, more = true; more;) {
    const page = await table.query({ pk, limit: ITEMS_MAX, ...(from === undefined ? {} : { from: `${from}!` }) }, forEver);
    items.push(...page.items);
    from = page.items.at(-1)?.['sk'] as string | undefined;
    more = page.more && from !== undefined;
  }
  return items;
}
