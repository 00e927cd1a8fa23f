import type { Archive, FileRecord } from '../../model/archive.ts';
import { DROPPED_ENTRIES_MAX } from '../../model/archive-limits.ts';
import { KelpError } from '../../model/errors.ts';
import { type Head, entryCount } from '../../model/head.ts';
import { droppedUpdate } from '../../protocol/archive.ts';
import { putFileRecord, raiseStart, raiseThrough, readArchive, readFileRecordAt, updateFileRecord } from '../../state/archives.ts';
import type { SegmentAddress } from '../../state/pages.ts';
import { spillThrough } from '../../state/spill.ts';
import { indexEntries } from '../index-entries.ts';
import { beginRecord, plannedRecord, withEntry } from '../plan-record.ts';
import type { RetentionDeps, SegmentPlace } from './retention-deps.ts';

/**
 * Has the segment begin at `to`, which is no more than its tail, or behind it: what is in files stays there, unread from now on; what isn't
 * goes without ever being in one. Any number of them may run at once, beside archivers, and whoever was stopped is followed by the next one.
 * Answers the archive as it is then: its start is below `to` where somebody is writing a file of which some is to be kept. Error
 * `segment-not-found`: it went with its topic.
 */
export async function advanceStart(deps: RetentionDeps, place: SegmentPlace, to: number, signal: AbortSignal): Promise<Archive> {
  const address: SegmentAddress = { topic: place.topic.id, segment: place.segment };
  let archive = await readArchive(deps, address, signal);
  while (archive.through < to && archive.start < to) {
    const record = await dropFrom(deps, { address, archive, to }, signal);
    // Another one has taken these over meanwhile.
    if (record === undefined) archive = await readArchive(deps, address, signal);
    else if (record.state === 'planned') return archive;
    else archive = await takeOver(deps, place, record, signal);
  }
  if (archive.start >= to) return archive;
  return raiseStart(deps, address, { start: to, goneBytes: await bytesOfWhole(deps, address, to, signal) }, signal);
}

async function takeOver(deps: RetentionDeps, { topic, segment }: SegmentPlace, record: FileRecord, signal: AbortSignal): Promise<Archive> {
  await deps.settleSubmitting(topic, { segment, last: record.last }, signal);
  return raiseThrough(deps, { topic: topic.id, segment }, record, signal);
}

type Drop = { readonly address: SegmentAddress; readonly archive: Archive; readonly to: number };

/** The record of the first offsets that aren't archived, as it is stored. Planned: it goes beyond `to`. Undefined: they are archived by now. */
async function dropFrom(deps: RetentionDeps, { address, archive, to }: Drop, signal: AbortSignal): Promise<FileRecord | undefined> {
  const found = await readFileRecordAt(deps, address, archive.through, signal);
  const dropped = found ?? (await droppedRecord(deps, { address, archive, to }, signal));
  if (dropped === undefined) return undefined;
  const record = found ?? (await putFileRecord(deps, address, dropped, signal));
  if (record.state !== 'planned' || record.last >= to) return record;
  // Refused: its file is written by now, and goes with the start.
  return updateFileRecord(deps, address, { first: record.first, update: droppedUpdate(deps.clock.nowMs()) }, signal);
}

/** Up to `to`, or as much as one record takes. Undefined: its pages are gone, since somebody has archived them. */
async function droppedRecord(deps: RetentionDeps, { address, archive, to }: Drop, signal: AbortSignal): Promise<FileRecord | undefined> {
  const head = await spilledHead(deps, address, to, signal);
  try {
    return await recordOf(deps, { head, archive, to }, signal);
  } catch (error) {
    const isHole = error instanceof KelpError && error.kind === 'corrupt';
    if (isHole && (await readArchive(deps, address, signal)).through > archive.through) return undefined;
    throw error;
  }
}

async function recordOf(
  deps: RetentionDeps,
  { head, archive, to }: { readonly head: Head; readonly archive: Archive; readonly to: number },
  signal: AbortSignal,
): Promise<FileRecord> {
  let plan = beginRecord(archive);
  let entries = 0;
  for await (const entry of indexEntries(deps, { head, offset: archive.through }, signal)) {
    plan = withEntry(plan, entry, Math.min(entry.offset + entryCount(entry), to));
    entries += 1;
    if (plan.next >= to || (entries >= DROPPED_ENTRIES_MAX && plan.next > archive.through)) break;
  }
  return { ...plannedRecord(plan, { columns: [], nowMs: deps.clock.nowMs() }), state: 'dropped' };
}

/** A9: only what has left the head for good leaves the index. */
async function spilledHead(deps: RetentionDeps, { topic, segment }: SegmentAddress, to: number, signal: AbortSignal): Promise<Head> {
  const head = await deps.heads.read(topic, segment, signal);
  if (head === undefined || head.deleted) throw new KelpError('not-found', 'segment-not-found', 'the segment went with its topic');
  if (to > head.tail) throw new RangeError(`segment ${segment} has no offset ${to}`);
  return spillThrough(deps, head, to, signal);
}

/** Of all records that end at `start` or below it, where everything below it is archived. */
async function bytesOfWhole(deps: RetentionDeps, address: SegmentAddress, start: number, signal: AbortSignal): Promise<number> {
  const last = await readFileRecordAt(deps, address, start - 1, signal);
  if (last === undefined || last.last === start - 1) return last?.bytes ?? 0;
  return last.first === 0 ? 0 : ((await readFileRecordAt(deps, address, last.first - 1, signal))?.bytes ?? 0);
}
