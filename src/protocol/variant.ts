import type { Line } from '../model/head.ts';
import type { CommitId } from '../model/ids.ts';
import type { LineChange } from './commit.ts';
import { extendLine, judgeLine, type LineVerdict } from './producer-line.ts';

/** What a group's member asks of its segment. */
export type VariantMember = {
  readonly count: number;
  readonly producer?: { readonly producer: string; readonly epoch: number; readonly sequence: number };
};

/** A line as read: from the head, or (head first, P2) from its own item; `inHead` tells which. */
export type LineAsRead = { readonly line: Line | undefined; readonly inHead: boolean };

/** One way of committing a group: who is in, why the others are not, and what becomes of the lines. */
export type Variant = {
  readonly included: readonly boolean[];
  readonly verdicts: readonly LineVerdict[];
  readonly lines: readonly LineChange[];
};

const NEXT: LineVerdict = { verdict: 'next' };

/**
 * Judges the members in their order, so that consecutive batches of one producer fit into one group. Members that fail are
 * left out; all variants of a group go under the same commit id (A7), so that only one of them can ever land.
 */
export function planVariant(members: readonly VariantMember[], lines: ReadonlyMap<string, LineAsRead>, cid: CommitId): Variant {
  const evolving = new Map<string, Line | undefined>();
  let delta = 0;
  const verdicts = members.map(({ count, producer }) => {
    if (producer !== undefined) {
      const name = producer.producer;
      const line = evolving.has(name) ? evolving.get(name) : lines.get(name)?.line;
      const request = { epoch: producer.epoch, sequence: producer.sequence, count };
      const verdict = judgeLine(line, request);
      if (verdict.verdict !== 'next') return verdict;
      evolving.set(name, extendLine(line, request, { cid, delta }));
    }
    delta += count;
    return NEXT;
  });
  return { included: verdicts.map((verdict) => verdict.verdict === 'next'), verdicts, lines: changes(evolving, lines) };
}

function changes(evolving: ReadonlyMap<string, Line | undefined>, lines: ReadonlyMap<string, LineAsRead>): LineChange[] {
  return [...evolving].flatMap(([producer, after]) => {
    if (after === undefined) return [];
    const read = lines.get(producer);
    return [{ producer, before: read?.inHead === true ? read.line : undefined, after }];
  });
}
