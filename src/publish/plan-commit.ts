import type { Head, Run } from '../model/head.ts';
import { LOAD_BUCKETS } from '../model/limits.ts';
import type { Update } from '../ports/metadata-table.ts';
import { commitUpdate, type LineChange } from '../protocol/commit.ts';
import { memberMask, type SentCommit } from '../protocol/fate.ts';
import { judgeLine, type LineVerdict } from '../protocol/producer-line.ts';
import { type LineAsRead, planVariant } from '../protocol/variant.ts';
import type { CommitMember, CommitRequest, Judged } from './commit-outcome.ts';
import type { CommitDeps } from './commit-deps.ts';
import { evictLines, readLines } from './producer-lines.ts';

/** What the members are judged by. `headIsFresh`: read by this request, not remembered from before. */
export type Basis = { readonly sent: SentCommit; readonly head: Head; readonly headIsFresh: boolean };

/** `judged` of `send` holds if the update applies. `read-again`: somebody would be left out on the word of a remembered head, which may be behind. */
export type CommitPlan =
  | { readonly plan: 'send'; readonly update: Update; readonly judged: Judged }
  | { readonly plan: 'none'; readonly judged: Judged }
  | { readonly plan: 'read-again' };

/**
 * Each member by the line as this head has it, as if it were alone. That another one of the group comes before it counts for
 * nothing where that one did not land: its repeat would be acked as a duplicate of what is stored nowhere.
 */
export async function judgeAlone(deps: CommitDeps, request: CommitRequest, head: Head, signal: AbortSignal): Promise<Judged> {
  const lines = await readLines(deps.table, head, producersOf(request.members), signal);
  const verdicts = request.members.map((member) => judgeMember(member, lines));
  return { verdicts, lines };
}

function judgeMember({ count, producer }: CommitMember, lines: ReadonlyMap<string, LineAsRead>): LineVerdict {
  if (producer === undefined) return { verdict: 'next' };
  const { epoch, sequence } = producer;
  return judgeLine(lines.get(producer.producer)?.line, { epoch, sequence, count });
}

export async function planCommit(deps: CommitDeps, request: CommitRequest, basis: Basis, signal: AbortSignal): Promise<CommitPlan> {
  const linesRead = await readLines(deps.table, basis.head, producersOf(request.members), signal);
  const { included, verdicts, lines } = planVariant(request.members, linesRead, basis.sent.cid);
  if (!basis.headIsFresh && included.includes(false)) return { plan: 'read-again' };
  const members = request.members.filter((_, index) => included[index]);
  if (members.length === 0) return { plan: 'none', judged: { verdicts, lines: linesRead } };
  const victims = await evictLines(deps.table, basis.head, new Set(lines.map((line) => line.producer)), signal);
  const mask = memberMask(included);
  const update = commitUpdate({
    cid: basis.sent.cid,
    entry: {
      object: basis.sent.object,
      runs: joinRuns(members),
      highestTimestampMs: Math.max(...members.map((member) => member.highestTimestampMs)),
      ...(mask === undefined ? {} : { mask }),
    },
    ...totals(members),
    lines,
    victims,
    evictions: basis.head.evictions,
    ...(request.matchTail === undefined ? {} : { matchTail: request.matchTail }),
  });
  return { plan: 'send', update, judged: { verdicts, lines: linesAfter(linesRead, lines) } };
}

/** A repeat within the group finds its offsets on the line as the commit leaves it. */
function linesAfter(read: ReadonlyMap<string, LineAsRead>, changes: readonly LineChange[]): ReadonlyMap<string, LineAsRead> {
  return new Map([...read, ...changes.map(({ producer, after }) => [producer, { line: after, inHead: true }] as const)]);
}

function producersOf(members: readonly CommitMember[]): ReadonlySet<string> {
  return new Set(members.flatMap((member) => (member.producer === undefined ? [] : [member.producer.producer])));
}

/** Neighbours in the object become one run: the head has no room for one each. Where one has several, they are apart on purpose. */
export function joinRuns(members: readonly Pick<CommitMember, 'runs'>[]): Run[] {
  const joined: Run[] = [];
  for (const { runs } of members) {
    const [run, ...others] = runs;
    const last = joined.at(-1);
    if (last !== undefined && run !== undefined && last.start + last.bytes === run.start) {
      joined[joined.length - 1] = { start: last.start, bytes: last.bytes + run.bytes, count: last.count + run.count };
    } else if (run !== undefined) joined.push(run);
    joined.push(...others);
  }
  return joined;
}

function totals(members: readonly CommitMember[]): { count: number; bytes: number; buckets: number[] } {
  const buckets = Array.from({ length: LOAD_BUCKETS }, () => 0);
  let count = 0;
  let bytes = 0;
  for (const member of members) {
    count += member.count;
    bytes += member.runs.reduce((sum, run) => sum + run.bytes, 0);
    for (const [bucket, messages] of member.buckets.entries()) buckets[bucket] = (buckets[bucket] ?? 0) + messages;
  }
  return { count, bytes, buckets };
}
