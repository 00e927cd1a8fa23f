import { uploadOf } from '../format/object-key.ts';
import type { Archive, FileRecord } from '../model/archive.ts';
import type { Entry, Head } from '../model/head.ts';
import type { Topic } from '../model/topic.ts';
import { spillThrough } from '../state/spill.ts';
import { readUpload } from '../state/stored-uploads.ts';
import type { ArchiveDeps } from './archive-deps.ts';
import { indexEntries } from './index-entries.ts';
import { beginRecord, committedMsOf, endsBefore, isDue, mayBeDue, plannedRecord, type RecordPlan, withEntry } from './plan-record.ts';

export type NextRecord = {
  /** Undefined: no file is due. */
  readonly record: FileRecord | undefined;
  /** When the first message was committed that is in no file. */
  readonly sinceMs: number;
  /** Whether a file would be due but for an upload's batches, which nobody has looked at. */
  readonly unchecked: boolean;
};
type Place = { readonly topic: Topic; readonly archive: Archive; readonly head: Head };
type Walked = { readonly plan: RecordPlan; readonly ended: boolean; readonly unchecked: boolean; readonly sinceMs: number };

/** What the next file of a segment is to have, which has messages behind its archive. Moves them out of the head where one is due. */
export async function planNext(deps: ArchiveDeps, place: Place, signal: AbortSignal): Promise<NextRecord> {
  const { topic, archive, head } = place;
  const nowMs = deps.clock.nowMs();
  const { plan, ended, unchecked, sinceMs } = await walk(deps, place, signal);
  if (plan.sinceMs === undefined) return { record: undefined, sinceMs, unchecked: unchecked && nowMs - sinceMs >= deps.fileAgeMs };
  if (!ended && !isDue(plan, { head, archive, nowMs }, deps)) return { record: undefined, sinceMs, unchecked: false };
  // A9: only what has left the head for good is archived.
  await spillThrough(deps, head, plan.next, signal);
  const columns = topic.settings.schema?.columns ?? [];
  return { record: plannedRecord(plan, { columns, nowMs }), sinceMs, unchecked: false };
}

/** As far as the file may go. Ends at once where none can be due. */
async function walk(deps: ArchiveDeps, { topic, archive, head }: Place, signal: AbortSignal): Promise<Walked> {
  let plan = beginRecord(archive);
  let sinceMs = committedMsOf(plan.guard);
  for await (const entry of indexEntries(deps, { head, offset: archive.through }, signal)) {
    const longer = withEntry(plan, entry);
    if (plan.sinceMs === undefined && longer.sinceMs !== undefined) {
      ({ sinceMs } = longer);
      if (!mayBeDue({ head, archive, sinceMs, nowMs: deps.clock.nowMs() }, deps)) return { plan, ended: false, unchecked: false, sinceMs };
    }
    if (endsBefore(plan, entry, { archive, fileBytesMax: deps.fileBytesMax })) return { plan, ended: true, unchecked: false, sinceMs };
    if (await isUnchecked(deps, topic, entry, signal)) return { plan, ended: false, unchecked: true, sinceMs };
    plan = longer;
  }
  return { plan, ended: false, unchecked: false, sinceMs };
}

/** Nobody knows yet which of its messages there are. An item that is missing is damage, which whoever reads the messages finds. */
async function isUnchecked(deps: ArchiveDeps, topic: Topic, { object }: Entry, signal: AbortSignal): Promise<boolean> {
  const id = uploadOf(object);
  if (id === undefined) return false;
  const upload = await readUpload(deps, topic.id, id, signal);
  return upload?.checked === false;
}
