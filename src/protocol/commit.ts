import { encodeEntryBody, type EntryBody } from '../format/entry.ts';
import { encodeLine } from '../format/line.ts';
import type { Line } from '../model/head.ts';
import type { CommitId, Minute } from '../model/ids.ts';
import { HEAD_ENTRIES_MAX } from '../model/limits.ts';
import type { Change, Clause, Update } from '../ports/metadata-table.ts';

/** A producer's line, as the commit finds and leaves it. `before` undefined: not in the head. */
export type LineChange = { readonly producer: string; readonly before: Line | undefined; readonly after: Line };
/** A line that makes room; its state is in its own item before the commit is sent. */
export type Victim = { readonly producer: string; readonly line: Line };

export type Commit = {
  readonly cid: CommitId;
  readonly entry: EntryBody;
  readonly count: number;
  readonly bytes: number;
  /** Messages by 16th of the segment's range. */
  readonly buckets: readonly number[];
  readonly lines: readonly LineChange[];
  readonly victims: readonly Victim[];
  /** The head's evictions as read before the own items of lines that are not in it. */
  readonly evictions: number;
  readonly matchTail?: number;
};

/**
 * The one write that makes messages exist: it takes the tail as their offset and raises it. Each clause is needed, and
 * model-checked; the numbers of the rules are those of test/model.
 */
export function commitUpdate(commit: Commit): Update {
  return { condition: commitCondition(commit), changes: commitChanges(commit) };
}

function commitCondition(commit: Commit): Clause[] {
  const minute: Minute = commit.entry.object.minute;
  const clauses: Clause[] = [
    { op: '=', path: ['state'], value: 'open' },
    // A2: an id at or below the guard may have landed and left the head; it must never land again.
    { op: '<', path: ['g'], value: commit.cid },
    // G1, G2: the sweeper raises the floor before it deletes objects of earlier minutes.
    { op: '<=', path: ['f'], value: minute },
    { op: 'missing', path: ['c', commit.cid] },
    // W1: bounds how far a commit can be from the page whose guard covers it.
    { op: 'size<', path: ['c'], value: HEAD_ENTRIES_MAX },
  ];
  if (commit.matchTail !== undefined) clauses.push({ op: '=', path: ['tail'], value: commit.matchTail });
  for (const { producer, before } of commit.lines) {
    if (before === undefined) clauses.push({ op: 'missing', path: ['p', producer] });
    else clauses.push(...lineAsRead(producer, before));
  }
  // P2: a line that came into the head and left it again since our read shows in the evictions alone.
  if (commit.lines.some((line) => line.before === undefined)) clauses.push({ op: '=', path: ['ev'], value: commit.evictions });
  // P3: the victim's own item holds the state that we read; a newer one in the head must not be dropped.
  for (const victim of commit.victims) clauses.push(...lineAsRead(victim.producer, victim.line));
  return clauses;
}

/** Within an epoch `next` only grows, so these two tell the line's whole state. */
function lineAsRead(producer: string, line: Line): Clause[] {
  return [
    { op: '=', path: ['p', producer, 'e'], value: line.epoch },
    { op: '=', path: ['p', producer, 'n'], value: line.next },
  ];
}

function commitChanges(commit: Commit): Change[] {
  const changes: Change[] = [
    { op: 'copy', path: ['c', commit.cid], from: ['tail'] },
    { op: 'set', path: ['m', commit.cid], value: encodeEntryBody(commit.entry) },
    { op: 'add', path: ['tail'], value: commit.count },
    { op: 'add', path: ['messages'], value: commit.count },
    { op: 'add', path: ['bytes'], value: commit.bytes },
    { op: 'add', path: ['commits'], value: 1 },
  ];
  for (const [bucket, messages] of commit.buckets.entries()) {
    if (messages > 0) changes.push({ op: 'add', path: ['hist', bucket], value: messages });
  }
  for (const { producer, after } of commit.lines) changes.push({ op: 'set', path: ['p', producer], value: encodeLine(after) });
  for (const { producer } of commit.victims) changes.push({ op: 'remove', path: ['p', producer] });
  if (commit.victims.length > 0) changes.push({ op: 'add', path: ['ev'], value: 1 });
  return changes;
}

/** Makes sure that a commit id never lands: refused if it has (look at the old item), or if the guard is past it already. */
export function killUpdate(cid: CommitId): Update {
  return {
    condition: [
      { op: 'missing', path: ['c', cid] },
      { op: '<', path: ['g'], value: cid },
    ],
    changes: [{ op: 'set', path: ['g'], value: cid }],
  };
}
