import { KelpError } from '../../model/errors.ts';
import type { Archive } from '../../model/archive.ts';
import type { Head } from '../../model/head.ts';
import { readFileRecordAt, readFileRecords } from '../../state/archives.ts';
import { indexEntries } from '../index-entries.ts';
import { beginRecord, committedMsOf, type RecordPlan, withEntry } from '../plan-record.ts';
import type { Unit } from './plan-retention.ts';
import type { RetentionDeps } from './retention-deps.ts';

/** What is known of a segment: the head first, so that more may have gone than it says, never less. */
export type SegmentState = { readonly head: Head; readonly archive: Archive };

/**
 * What is kept of a segment, from its start on: the records' files, one that is being written too, then the entries of the index. Error
 * `corrupt`: there is a hole.
 */
export async function* keptUnits(
  deps: RetentionDeps,
  { head, archive }: SegmentState,
  signal: AbortSignal,
): AsyncGenerator<Unit, void, undefined> {
  let plan = beginRecord(archive);
  for await (const record of recordsFrom(deps, { head, archive }, signal)) {
    const { guard, highestTimestampMs, bytes } = record;
    plan = { ...plan, next: record.last + 1, guard, highestTimestampMs, bytes };
    yield unitOf(plan);
  }
  for await (const entry of indexEntries(deps, { head, offset: plan.next }, signal)) {
    const longer = withEntry(plan, entry);
    const isLonger = longer.next > plan.next;
    plan = longer;
    if (isLonger) yield unitOf(plan);
  }
}

const unitOf = ({ next, guard, bytes }: RecordPlan): Unit => ({ end: next, committedMs: committedMsOf(guard), bytes });

/** From the one that holds the start to the last one that was put. */
async function* recordsFrom(deps: RetentionDeps, { head, archive }: SegmentState, signal: AbortSignal) {
  // By hand, a start may lie inside of a file.
  const cut = archive.start < archive.through ? await readFileRecordAt(deps, head, archive.start, signal) : undefined;
  let first = cut?.first ?? archive.start;
  for (let more = true; more;) {
    const read = await readFileRecords(deps, head, first, signal);
    for (const record of read.records) {
      if (record.first !== first) throw missing(head, first);
      first = record.last + 1;
      yield record;
    }
    ({ more } = read);
  }
  if (first < archive.through) throw missing(head, first);
}

const missing = ({ topic, segment }: Head, offset: number): KelpError =>
  new KelpError('corrupt', 'corrupt', 'a record of the segment is missing', { extra: { topic, segment, offset } });
