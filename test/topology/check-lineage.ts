import type { SegmentId } from '../../src/model/ids.ts';
import type { Range } from '../../src/model/topic.ts';
import type { SegmentLog } from '../simulation/read-log.ts';
import { tiles } from './tiles.ts';
import { covers } from './topology-watch.ts';

/** What a reader was handed, in this order. */
export type Handed = { readonly segment: SegmentId; readonly offset: number; readonly key: string; readonly value: string };

/** What is wrong with the heads of a topic in which nothing is under way any more. */
export function lineageProblems(log: readonly Pick<SegmentLog, 'head'>[]): string[] {
  const heads = new Map(log.map(({ head }) => [head.segment, head]));
  const problems: string[] = [];
  const say = (isWrong: boolean, what: string): void => void (isWrong && problems.push(what));
  const open = [...heads.values()].filter((head) => head.state === 'open');
  say(!tiles(open.toSorted((a, b) => a.lo - b.lo)), 'the open heads do not tile');
  for (const head of heads.values()) {
    say(head.state === 'pending', `${head.segment} is pending`);
    if (head.state !== 'sealed') continue;
    const children = head.successors.flatMap(({ segment }) => heads.get(segment) ?? []);
    const parents = (children[0]?.predecessors ?? []).flatMap((segment) => heads.get(segment) ?? []);
    say(children.length !== head.successors.length, `${head.segment} has successors that are not there`);
    say(!covers(parents, children), `${parents.map(({ segment }) => segment).join()} and what follows it differ in range`);
    for (const child of children) {
      say(!child.predecessors.includes(head.segment), `${child.segment} does not come from ${head.segment}`);
      say(child.predecessors.join() !== children[0]?.predecessors.join(), `${child.segment} does not come from what its sisters come from`);
    }
  }
  return problems;
}

/** What is wrong with all that a reader was handed from the beginning on; `expected`: the values of each key in order. */
export function readingProblems(
  handed: readonly Handed[],
  log: readonly SegmentLog[],
  expected: ReadonlyMap<string, readonly string[]>,
): string[] {
  const problems: string[] = [];
  for (const [key, values] of expected) {
    const seen = handed.filter((message) => message.key === key).map(({ value }) => value);
    if (seen.join() !== values.join()) problems.push(`${key}: ${seen.join()} in place of ${values.join()}`);
  }
  const nexts = new Map<SegmentId, number>();
  const heads = new Map(log.map(({ head }) => [head.segment, head]));
  const ancestors = (segment: SegmentId): Set<SegmentId> =>
    new Set((heads.get(segment)?.predecessors ?? []).flatMap((parent) => [parent, ...ancestors(parent)]));
  for (const { segment, offset } of handed) {
    const next = nexts.get(segment) ?? 0;
    if (offset !== next) problems.push(`${segment}:${offset} where ${next} comes next`);
    // Beyond a merge that was split before anything came into it, others' partitions are nothing to this segment's keys.
    const before = [...ancestors(segment)].filter((ancestor) => overlap(heads.get(ancestor), heads.get(segment)));
    const unread = before.filter((ancestor) => (nexts.get(ancestor) ?? 0) !== heads.get(ancestor)?.tail);
    if (unread.length > 0) problems.push(`${segment}:${offset} before the end of ${unread.join()}`);
    nexts.set(segment, offset + 1);
  }
  return problems;
}

const overlap = (a: Range | undefined, b: Range | undefined): boolean => a !== undefined && b !== undefined && a.lo <= b.hi && b.lo <= a.hi;
