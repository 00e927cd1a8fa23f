import { FILE_MESSAGES_MAX } from '../model/archive-limits.ts';
import type { Archive, FileRecord, TypedColumn } from '../model/archive.ts';
import { dateOf, type UtcDate } from '../model/archived-file.ts';
import { type Entry, entryCount, type Head } from '../model/head.ts';
import type { CommitId } from '../model/ids.ts';
import { timeOfCommitMs } from '../protocol/commit-id.ts';

/** What a record of the offsets `first` to `next` − 1 would say, of the entries that were added so far. All of it is cumulative. */
export type RecordPlan = {
  readonly first: number;
  readonly next: number;
  /** When its first message was committed; undefined: it has none yet. */
  readonly sinceMs: number | undefined;
  readonly guard: CommitId | '';
  readonly highestTimestampMs: number;
  readonly bytes: number;
};

export type FileBounds = { readonly fileBytesMax: number; readonly fileAgeMs: number };

/** Of the offsets from where the archive ends. */
export function beginRecord({ through, guard, highestTimestampMs, bytes }: Archive): RecordPlan {
  return { first: through, next: through, sinceMs: undefined, guard, highestTimestampMs, bytes };
}

/** When a message is taken to be committed whose entry is the last of those that have this as their highest id: the time never falls. */
export const committedMsOf = (guard: CommitId | ''): number => (guard === '' ? 0 : timeOfCommitMs(guard));

/**
 * With the messages of the next entry, of which some may lie before the record; or with those before offset `end`, where the record is to
 * be cut inside of the entry.
 */
export function withEntry(plan: RecordPlan, entry: Entry, end = endOf(entry)): RecordPlan {
  const guard = entry.cid > plan.guard ? entry.cid : plan.guard;
  if (end <= plan.next) return { ...plan, guard };
  return {
    ...plan,
    guard,
    next: end,
    sinceMs: plan.sinceMs ?? committedMsOf(guard),
    highestTimestampMs: Math.max(plan.highestTimestampMs, entry.highestTimestampMs),
    bytes: plan.bytes + bytesBelow(entry, end) - bytesBelow(entry, plan.next),
  };
}

/** Whether a file ends before this entry: it would be too large with it, or have messages of two days. */
export function endsBefore(
  plan: RecordPlan,
  entry: Entry,
  { archive, fileBytesMax }: Pick<FileBounds, 'fileBytesMax'> & { readonly archive: Archive },
): boolean {
  if (plan.sinceMs === undefined) return false;
  const longer = withEntry(plan, entry);
  if (longer.bytes - archive.bytes > fileBytesMax || longer.next - archive.through > FILE_MESSAGES_MAX) return true;
  return dateOf(committedMsOf(longer.guard)) !== dateOf(plan.sinceMs);
}

/** Whether a file of all that there is has to be written, though it has room for more. */
export function isDue(
  plan: RecordPlan,
  { head, archive, nowMs }: { readonly head: Pick<Head, 'state' | 'tail'>; readonly archive: Archive; readonly nowMs: number },
  { fileBytesMax, fileAgeMs }: FileBounds,
): boolean {
  if (plan.sinceMs === undefined) return false;
  if (nowMs - plan.sinceMs >= fileAgeMs || (head.state === 'sealed' && plan.next === head.tail)) return true;
  return plan.bytes - archive.bytes >= fileBytesMax || plan.next - archive.through >= FILE_MESSAGES_MAX;
}

/**
 * Whether it is worth a walk through the index to find out where the file would end. `sinceMs`: when the first message was committed that
 * is not archived. Of what isn't due now, nothing but time or more messages can make a file.
 */
export function mayBeDue(
  { head, archive, sinceMs, nowMs }: { readonly head: Head; readonly archive: Archive; readonly sinceMs: number; readonly nowMs: number },
  { fileBytesMax, fileAgeMs }: FileBounds,
): boolean {
  if (head.state === 'sealed' || nowMs - sinceMs >= fileAgeMs) return true;
  if (head.load.bytes - archive.bytes >= fileBytesMax || head.tail - archive.through >= FILE_MESSAGES_MAX) return true;
  const newest = head.entries.reduce<CommitId | ''>((max, { cid }) => (cid > max ? cid : max), head.guard);
  return dateOf(committedMsOf(newest)) !== dateOf(sinceMs);
}

/** The record of a plan that has messages. */
export function plannedRecord(
  { first, next, sinceMs, guard, highestTimestampMs, bytes }: RecordPlan,
  { columns, nowMs }: { readonly columns: readonly TypedColumn[]; readonly nowMs: number },
): FileRecord {
  const date: UtcDate = dateOf(sinceMs ?? committedMsOf(guard));
  return { first, last: next - 1, state: 'planned', date, guard, highestTimestampMs, bytes, columns, atMs: nowMs };
}

const endOf = (entry: Entry): number => entry.offset + entryCount(entry);

/** What of an entry's batches is counted for its messages before this offset: of a run that is cut, its share, rounded down. */
function bytesBelow(entry: Entry, offset: number): number {
  let bytes = 0;
  let first = entry.offset;
  for (const run of entry.runs) {
    const count = Math.min(Math.max(offset - first, 0), run.count);
    bytes += count === run.count ? run.bytes : Math.floor((run.bytes * count) / run.count);
    first += run.count;
  }
  return bytes;
}
