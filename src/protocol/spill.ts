import type { Entry, Head, Page } from '../model/head.ts';
import type { CommitId } from '../model/ids.ts';
import { HEAD_ENTRIES_CROWDED } from '../model/crowd-limits.ts';
import { HEAD_ENTRIES_SPILL, HEAD_ENTRIES_SPILL_AGAIN } from '../model/limits.ts';
import type { Change, Condition, Update } from '../ports/metadata-table.ts';

/**
 * Whether the broker whose commit left the head like that is the one to spill it. Each count of entries is seen by one commit, so of any
 * number of brokers one moves them; all others would put the same page, and be refused.
 */
export function isToSpill({ entries: { length } }: Head): boolean {
  if (length < HEAD_ENTRIES_SPILL) return false;
  return (length - HEAD_ENTRIES_SPILL) % HEAD_ENTRIES_SPILL_AGAIN === 0 || length >= HEAD_ENTRIES_CROWDED;
}

/** The page that this read of the head gives: a prefix by offset, from the spill count on. Undefined: nothing to move. */
export function pageOf(head: Head): Page | undefined {
  const entries = contiguous(head);
  const last = entries.at(-1);
  if (last === undefined) return undefined;
  return {
    first: head.spilled,
    next: endOf(last),
    guard: highest(head.guard, entries),
    highestTimestampMs: Math.max(head.spilledTimestampMs, ...entries.map((entry) => entry.highestTimestampMs)),
    entries,
  };
}

/** A page is put once. Who finds one adopts it: it may hold more entries than the own read, and readers may know it. */
export const pageAbsent: Condition = [{ op: 'missing', path: ['first'] }];

/**
 * Takes the page's entries out of the head. A1: demands the spill count as read, or another spiller's page could be
 * overtaken; with the guard as read, `max` is exact (A2: the guard never goes back).
 */
export function spillUpdate(head: Head, page: Page): Update {
  const changes: Change[] = page.entries.flatMap((entry) => [
    { op: 'remove', path: ['c', entry.cid] },
    { op: 'remove', path: ['m', entry.cid] },
  ]);
  return {
    condition: [
      { op: '=', path: ['h'], value: head.spilled },
      { op: '=', path: ['g'], value: head.guard },
    ],
    changes: [
      ...changes,
      { op: 'set', path: ['g'], value: highest(head.guard, page.entries) },
      { op: 'set', path: ['h'], value: page.next },
      { op: 'set', path: ['ht'], value: page.highestTimestampMs },
    ],
  };
}

function contiguous(head: Head): Entry[] {
  const entries: Entry[] = [];
  let next = head.spilled;
  for (const entry of head.entries) {
    if (entry.offset !== next) break;
    entries.push(entry);
    next = endOf(entry);
  }
  return entries;
}

const endOf = (entry: Entry): number => entry.offset + entry.runs.reduce((sum, run) => sum + run.count, 0);

function highest(guard: CommitId | '', entries: readonly Entry[]): CommitId | '' {
  return entries.reduce<CommitId | ''>((max, entry) => (entry.cid > max ? entry.cid : max), guard);
}
