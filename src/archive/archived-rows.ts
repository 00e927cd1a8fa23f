import assert from 'node:assert/strict';
import type { Archive } from '../model/archive.ts';
import type { ArchivedMessage } from '../model/archived-file.ts';
import type { Head } from '../model/head.ts';
import type { StoredMessage } from '../model/message.ts';
import { uploadOf } from '../format/object-key.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { Stretch } from './archive-deps.ts';
import { indexEntries } from './index-entries.ts';
import { beginRecord, committedMsOf, withEntry } from './plan-record.ts';

/** An entry's first offset, when its messages were committed, and whether a client has uploaded them: of those some may be quarantined. */
export type CommitMark = { readonly offset: number; readonly committedMs: number; readonly uploaded: boolean };

/** Of the entries that hold the offsets from where the archive ends to `last`. `head` is a strong read whose spill count is above that. */
export async function readMarks(
  deps: { readonly table: MetadataTable },
  { archive, head, last }: { readonly archive: Archive; readonly head: Head; readonly last: number },
  signal: AbortSignal,
): Promise<CommitMark[]> {
  const marks: CommitMark[] = [];
  let plan = beginRecord(archive);
  for await (const entry of indexEntries(deps, { head, offset: archive.through }, signal)) {
    if (entry.offset > last) break;
    plan = withEntry(plan, entry);
    marks.push({ offset: entry.offset, committedMs: committedMsOf(plan.guard), uploaded: uploadOf(entry.object) !== undefined });
  }
  return marks;
}

/** The messages of a stretch with their times. An assertion fails where one is missing that can't have been quarantined. */
export async function* archivedRows(
  pieces: AsyncIterable<readonly StoredMessage[]>,
  { first, last }: Pick<Stretch, 'first' | 'last'>,
  marks: readonly CommitMark[],
): AsyncGenerator<readonly ArchivedMessage[], void, undefined> {
  let next = first;
  let at = 0;
  /** Goes on to the mark of this offset; whatever lies between was uploaded. */
  function markOf(offset: number): CommitMark {
    const isGap = offset > next;
    for (;;) {
      const mark = marks[at];
      assert.ok(mark !== undefined && mark.offset <= offset, 'each message has an entry');
      const isWhole = endOf(at) <= next || mark.offset === offset;
      assert.ok(!isGap || mark.uploaded || isWhole, 'no message is missing but of uploads');
      if (endOf(at) > offset) return mark;
      at += 1;
    }
  }
  const endOf = (index: number): number => marks[index + 1]?.offset ?? last + 1;

  for await (const piece of pieces) {
    yield piece.map(({ offset, partition, key, value, headers, timestampMs }) => {
      assert.ok(offset >= next && offset <= last, 'offsets rise, and lie in the file');
      const { committedMs } = markOf(offset);
      next = offset + 1;
      // Member by member: a spread costs several times as much, a million times a file.
      return { offset, partition, key, value, headers, timestampMs, committedMs };
    });
  }
  if (next > last) return;
  for (const [index, mark] of marks.entries()) assert.ok(mark.uploaded || endOf(index) <= next, 'no message is missing but of uploads');
}
