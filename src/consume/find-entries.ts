import { type Entry, entryCount, type Head } from '../model/head.ts';
import { READ_ATTEMPTS_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { Heads } from '../state/heads.ts';
import type { ArchivedMessages } from './archived-messages.ts';
import { damaged } from './damage.ts';
import type { WrittenRecord } from './file-records.ts';
import type { IndexPages } from './index-pages.ts';
import { freshHead } from './read-head.ts';
import type { Room } from './take-batch.ts';

export type IndexDeps = { readonly pages: IndexPages; readonly heads: Heads; readonly archived: ArchivedMessages };

/**
 * Entries without a gap, the first of which holds `from`, or records of files of which the same is true; as many as the room needs, or
 * fewer. `head` may be an old one.
 */
export type EntriesWanted = { readonly head: Head; readonly from: number; readonly room: Room };
export type FoundEntries = { readonly head: Head; readonly entries: readonly Entry[]; readonly files: readonly WrittenRecord[] };

/**
 * Where the messages from an offset below the head's tail on are: A4, head first, then pages, which the head says are settled, or files.
 * A hole means that something moved since the head was read: again from a fresh one, and from what the table says of the archive after
 * the pages were read (R2), since a page goes only once its messages are in files. Errors `truncated` and `archived` as they have it.
 */
export async function findEntries(deps: IndexDeps, topic: Topic, wanted: EntriesWanted, signal: AbortSignal): Promise<FoundEntries> {
  let { head } = wanted;
  for (let attempt = 1; ; attempt += 1) {
    const files = await deps.archived.find(head, { from: wanted.from, messages: wanted.room.messages }, signal);
    if (files.length > 0) return { head, entries: [], files };
    const entries = await entriesFrom(deps, { ...wanted, head }, signal);
    if (entries.length > 0) return { head, entries, files };
    if (attempt === READ_ATTEMPTS_MAX) {
      const where = { topic: topic.name, segment: head.segment, offset: wanted.from, nextOffset: wanted.from + 1 };
      throw damaged(where, 'the index has a hole');
    }
    deps.archived.forget(head);
    head = await freshHead(deps, topic, head.segment, signal);
  }
}

async function entriesFrom(deps: IndexDeps, wanted: EntriesWanted, signal: AbortSignal): Promise<Entry[]> {
  const { head } = wanted;
  const walk = createWalk(wanted);
  if (wanted.from < head.spilled) await walkPages(deps, head, walk, signal);
  if (walk.next() >= head.spilled) walk.add(head.entries);
  return walk.entries;
}

async function walkPages(deps: IndexDeps, head: Head, walk: Walk, signal: AbortSignal): Promise<void> {
  const first = await deps.pages.at(head, walk.next(), signal);
  if (first === undefined) return;
  walk.add(first.entries);
  // Bounded by the room: a page has an entry at least, and an entry a message.
  while (!walk.full() && walk.next() < head.spilled) {
    const before = walk.next();
    for (const page of await deps.pages.from(head, before, signal)) walk.add(page.entries);
    if (walk.next() === before) return;
  }
}

type Walk = {
  readonly entries: Entry[];
  /** Offset behind the last entry; at first, the wanted one. */
  next(): number;
  full(): boolean;
  /** Takes those that go on where the last one ended. */
  add(entries: readonly Entry[]): void;
};

function createWalk({ from, room }: EntriesWanted): Walk {
  const taken: Entry[] = [];
  let next = from;
  let bytes = 0;
  const full = (): boolean => taken.length > 0 && (next - from >= room.messages || bytes >= room.bytes || taken.length >= room.batches);
  return {
    entries: taken,
    next: () => next,
    full,
    add(entries) {
      for (const entry of entries) {
        if (full()) return;
        const end = entry.offset + entryCount(entry);
        // Also passes over entries without messages.
        if (end <= next) continue;
        if (taken.length === 0 ? entry.offset > next : entry.offset !== next) return;
        taken.push(entry);
        next = end;
        bytes += entry.runs.reduce((sum, run) => sum + run.bytes, 0);
      }
    },
  };
}
