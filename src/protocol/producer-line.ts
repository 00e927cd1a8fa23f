import { encodeLineItem } from '../format/line.ts';
import type { Head, Line, LineBatch } from '../model/head.ts';
import type { CommitId } from '../model/ids.ts';
import { HEAD_LINES_MAX, LINE_BATCHES_MAX } from '../model/limits.ts';
import type { Condition, Item } from '../ports/metadata-table.ts';
import type { Victim } from './commit.ts';

export type LineRequest = { readonly epoch: number; readonly sequence: number; readonly count: number };

/** What a producer's request is, given its line. `gap` may go away; the others never do. */
export type LineVerdict =
  | { readonly verdict: 'next' }
  | { readonly verdict: 'duplicate' }
  | { readonly verdict: 'overlap'; readonly next: number }
  | { readonly verdict: 'gap'; readonly next: number }
  | { readonly verdict: 'fenced'; readonly epoch: number };

/** Sequences count from 0 on a new line, and again for each newer epoch. */
export function judgeLine(line: Line | undefined, request: LineRequest): LineVerdict {
  if (line !== undefined && request.epoch < line.epoch) return { verdict: 'fenced', epoch: line.epoch };
  const next = line !== undefined && request.epoch === line.epoch ? line.next : 0;
  if (request.sequence === next) return { verdict: 'next' };
  if (request.sequence > next) return { verdict: 'gap', next };
  return request.sequence + request.count <= next ? { verdict: 'duplicate' } : { verdict: 'overlap', next };
}

/** The line after a request that was `next`. */
export function extendLine(line: Line | undefined, request: LineRequest, place: { readonly cid: CommitId; readonly delta: number }): Line {
  const before = line !== undefined && line.epoch === request.epoch ? line.batches : [];
  const batch: LineBatch = { sequence: request.sequence, count: request.count, ...place };
  return {
    epoch: request.epoch,
    next: request.sequence + request.count,
    batches: [...before, batch].slice(-LINE_BATCHES_MAX),
  };
}

/** The remembered batch that holds this sequence number of the line's epoch. */
export function batchOfSequence(line: Line, sequence: number): LineBatch | undefined {
  return line.batches.find((batch) => batch.sequence <= sequence && sequence < batch.sequence + batch.count);
}

/**
 * Who must leave the head so that `producers` fit: those that were active longest ago, never one of `producers`.
 * A group has at most HEAD_LINES_MAX producers, so there is always room.
 */
export function chooseVictims(head: Head, producers: ReadonlySet<string>): Victim[] {
  const added = [...producers].filter((producer) => !head.lines.has(producer)).length;
  const excess = head.lines.size + added - HEAD_LINES_MAX;
  if (excess <= 0) return [];
  return [...head.lines]
    .filter(([producer]) => !producers.has(producer))
    .map(([producer, line]) => ({ producer, line }))
    .toSorted((a, b) => compare(lastCommit(a.line), lastCommit(b.line)))
    .slice(0, excess);
}

const lastCommit = (line: Line): string => line.batches.at(-1)?.cid ?? '';
const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** P3: put only over an older state; refused where the same or a newer one is there already, which is as good. */
export function evictedLine(line: Line): { readonly item: Item; readonly condition: Condition } {
  const older: Condition[] = [
    [{ op: 'missing', path: ['e'] }],
    [{ op: '<', path: ['e'], value: line.epoch }],
    [
      { op: '=', path: ['e'], value: line.epoch },
      { op: '<', path: ['n'], value: line.next },
    ],
  ];
  return { item: encodeLineItem(line), condition: [{ op: 'or', any: older }] };
}
