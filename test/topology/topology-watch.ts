import { decodeTopic } from '../../src/format/topic-item.ts';
import type { Range, SegmentRange, Topic, TopologyChange } from '../../src/model/topic.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import { interceptTable } from '../simulation/intercept.ts';
import { tiles } from './tiles.ts';

/** Each version of a topic that was written, as somebody saw it. */
export type TopologyRecord = {
  saw(topic: Topic): void;
  /** In order of their numbers. */
  versions(id: Topic['id']): readonly Topic[];
  /** What is wrong with any version of any topic; also that one is missing, or was written twice. */
  problems(): string[];
};

export function recordTopology(): TopologyRecord {
  const topics = new Map<Topic['id'], Topic[]>();
  return {
    saw: (topic) =>
      void topics.set(
        topic.id,
        [...(topics.get(topic.id) ?? []), topic].toSorted((a, b) => a.version - b.version),
      ),
    versions: (id) => topics.get(id) ?? [],
    problems: () =>
      [...topics.values()].flatMap((versions) => [
        ...versions.flatMap((topic) => problemsOf(topic).map((what) => `version ${topic.version} of ${topic.id}: ${what}`)),
        ...versions.flatMap(({ id, version }, n) =>
          version === (versions[0]?.version ?? 0) + n ? [] : [`${id}: ${version} is no next version`],
        ),
      ]),
  };
}

/** A table, and what is ever written to it of topics. */
export type TopologyWatch = Omit<TopologyRecord, 'saw'> & { readonly table: MetadataTable };

export function watchTopology(table: MetadataTable): TopologyWatch {
  const { saw, ...record } = recordTopology();
  const watched = interceptTable(table, async (call, make) => {
    const answer = await make();
    // Other items of the topic stand beside its own.
    const isTopic = call.op === 'put' && call.name === 'put topic' && call.key.sk === 'topic';
    if (isTopic && (answer as { readonly applied: boolean }).applied) saw(decodeTopic(call.item));
    return answer;
  });
  return { ...record, table: watched };
}

/** Invariant 4, and what is pending keeps it: each change replaces a whole range of open segments, which no other one touches. */
function problemsOf(topic: Topic): string[] {
  const problems: string[] = [];
  const say = (isWrong: boolean, what: string): void => void (isWrong && problems.push(what));
  const isMade = topic.changes.every(({ kind }) => kind !== 'create');
  say(topic.state !== 'deleted' && isMade && !tiles(topic.open), `its open ranges do not tile: ${rangesText(topic.open)}`);
  const parents = topic.changes.flatMap((change) => change.parents);
  say(new Set(parents).size !== parents.length, 'two changes replace the same segment');
  for (const change of topic.changes.filter(({ kind }) => kind !== 'create' && kind !== 'delete')) {
    say(
      !isSameRange(change, topic.open),
      `change ${change.id} puts ${rangesText(change.children)} in the place of ${change.parents.join()}`,
    );
  }
  const ids = [...topic.open, ...topic.changes.flatMap((change) => change.children)].map(({ segment }) => segment);
  say(new Set(ids).size !== ids.length, 'a segment is there twice');
  return problems;
}

function isSameRange({ parents, children }: TopologyChange, open: readonly SegmentRange[]): boolean {
  const replaced = open.filter(({ segment }) => parents.includes(segment));
  return replaced.length === parents.length && covers(replaced, children);
}

/** Whether both are the same range, each without hole or overlap. */
export function covers(some: readonly Range[], others: readonly Range[]): boolean {
  const [one, other] = [wholeOf(some), wholeOf(others)];
  return one !== undefined && one.lo === other?.lo && one.hi === other.hi;
}

function wholeOf(ranges: readonly Range[]): Range | undefined {
  const [first, ...rest] = ranges.toSorted((a, b) => a.lo - b.lo);
  let whole = first;
  for (const { lo, hi } of rest) {
    if (whole === undefined || lo !== whole.hi + 1 || hi < lo) return undefined;
    whole = { lo: whole.lo, hi };
  }
  return whole;
}

const rangesText = (ranges: readonly SegmentRange[]): string => ranges.map(({ segment, lo, hi }) => `${segment} ${lo}-${hi}`).join(', ');
