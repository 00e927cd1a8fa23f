import { FILES_PER_VISIT_MAX, PLANNED_BY_OTHERS_MS } from '../model/archive-limits.ts';
import type { Archive, FileRecord } from '../model/archive.ts';
import { KelpError } from '../model/errors.ts';
import type { SegmentId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import { writtenUpdate } from '../protocol/archive.ts';
import { putFileRecord, raiseThrough, readArchive, readFileRecordAt, updateFileRecord } from '../state/archives.ts';
import type { ArchiveDeps } from './archive-deps.ts';
import { planNext } from './plan-next.ts';
import { committedMsOf } from './plan-record.ts';
import { writeRecord } from './write-record.ts';

/**
 * Of one look at a segment. `archived`: a record was taken over, and there may be another one. `idle`: no file is due. `busy`: somebody
 * else is writing one. `held`: what is due can't be read.
 */
export type ArchiveStep = {
  readonly step: 'archived' | 'idle' | 'busy' | 'held';
  /** When the first message was committed that is in no file, as far as that was looked at; of one that is begun or held, the file's last. */
  readonly sinceMs?: number;
};

type Place = { readonly topic: Topic; readonly segment: SegmentId };
type Begun = Place & { readonly archive: Archive; readonly record: FileRecord };

const IDLE: ArchiveStep = { step: 'idle' };

/** Archives what is due of a segment, some files at most. Answers the last step. Errors as the stores'. */
export async function archiveSegment(deps: ArchiveDeps, topic: Topic, segment: SegmentId, signal: AbortSignal): Promise<ArchiveStep> {
  let step = await archiveNext(deps, topic, segment, signal);
  for (let files = 1; step.step === 'archived' && files < FILES_PER_VISIT_MAX; files += 1) {
    step = await archiveNext(deps, topic, segment, signal);
  }
  return step;
}

/**
 * One record of a segment, if one is due or begun: the record first, then its file, whole and read back, then what names uploads, and at the
 * end one update, from which on readers find the file. Whoever was stopped anywhere in this is followed by the next one.
 */
export async function archiveNext(deps: ArchiveDeps, topic: Topic, segment: SegmentId, signal: AbortSignal): Promise<ArchiveStep> {
  const archive = await readArchive(deps, { topic: topic.id, segment }, signal);
  try {
    return await archiveFrom(deps, { topic, segment }, archive, signal);
  } catch (error) {
    if (!(error instanceof KelpError)) throw error;
    // The topic was deleted meanwhile.
    if (error.code === 'segment-not-found' || error.code === 'topic-not-found') return IDLE;
    if (error.kind !== 'corrupt' && error.code !== 'truncated') throw error;
    const address = { topic: topic.id, segment };
    const { through } = await readArchive(deps, address, signal);
    // What is missing is archived by now, or was let go.
    if (through > archive.through) return { step: 'archived' };
    return hold(deps, { topic, segment, record: await readFileRecordAt(deps, address, through, signal) }, error);
  }
}

async function archiveFrom(deps: ArchiveDeps, place: Place, archive: Archive, signal: AbortSignal): Promise<ArchiveStep> {
  const { topic, segment } = place;
  const head = await deps.heads.read(topic.id, segment, signal);
  if (head === undefined || head.deleted || head.tail <= archive.through) return IDLE;
  const found = await readFileRecordAt(deps, head, archive.through, signal);
  if (found !== undefined) {
    if (isOthers(found, deps.clock.nowMs())) return { step: 'busy', sinceMs: committedMsOf(found.guard) };
    return deps.oneAtATime(() => takeOver(deps, { ...place, archive, record: found }, signal));
  }
  const { record: planned, sinceMs, unchecked } = await planNext(deps, { topic, archive, head }, signal);
  if (unchecked) {
    const error = new KelpError('unavailable', 'unchecked', 'batches of an upload were not looked at');
    return { ...hold(deps, { ...place, record: undefined }, error), sinceMs };
  }
  if (planned === undefined) return { step: 'idle', sinceMs };
  // The record is put in its turn as well: nobody else is to wait for a file that isn't begun.
  return deps.oneAtATime(async () => {
    const record = await putFileRecord(deps, head, planned, signal);
    if (record.atMs !== planned.atMs && isOthers(record, deps.clock.nowMs())) return { step: 'busy', sinceMs };
    return takeOver(deps, { ...place, archive, record }, signal);
  });
}

/** Two who write the same file cost work and nothing else, so this may be wrong. */
const isOthers = ({ state, atMs }: FileRecord, nowMs: number): boolean =>
  state === 'planned' && Math.abs(nowMs - atMs) < PLANNED_BY_OTHERS_MS;

async function takeOver(deps: ArchiveDeps, begun: Begun, signal: AbortSignal): Promise<ArchiveStep> {
  const { topic, segment, archive } = begun;
  if (begun.record.first !== archive.through) {
    const extra = { topic: topic.name, segment, offset: archive.through };
    throw new KelpError('corrupt', 'corrupt', `the record at ${begun.record.first} does not begin where the archive ends`, { extra });
  }
  const record = begun.record.state === 'planned' ? await write(deps, begun, signal) : begun.record;
  const address = { topic: topic.id, segment };
  await deps.settleSubmitting(topic, { segment, last: record.last }, signal);
  await raiseThrough(deps, address, record, signal);
  return { step: 'archived' };
}

/** The record as it is stored afterwards: written, or dropped by somebody meanwhile, and then the file is garbage. */
async function write(deps: ArchiveDeps, { topic, segment, archive, record }: Begun, signal: AbortSignal): Promise<FileRecord> {
  const head = await deps.heads.read(topic.id, segment, signal);
  if (head === undefined) throw new KelpError('not-found', 'segment-not-found', 'the segment went with its topic');
  const file = await writeRecord(deps, { topic, archive, head, record }, signal);
  const update = writtenUpdate(file, deps.clock.nowMs());
  const stored = await updateFileRecord(deps, { topic: topic.id, segment }, { first: record.first, update }, signal);
  deps.telemetry.count('kelp.archive.files', 1);
  deps.telemetry.count('kelp.archive.rows', file.rows);
  deps.telemetry.count('kelp.archive.io', record.bytes - archive.bytes, { direction: 'read' });
  deps.telemetry.count('kelp.archive.io', file.bytes, { direction: 'write' });
  if (file.misfits > 0) deps.telemetry.count('kelp.archive.misfits', file.misfits);
  return stored;
}

type Held = Place & { readonly record: FileRecord | undefined };

/** Nothing of it goes, and other segments go on. For people to look at: all up to `last` stays, or goes. */
function hold({ telemetry }: ArchiveDeps, { topic, segment, record }: Held, error: KelpError): ArchiveStep {
  telemetry.count('kelp.archive.held', 1);
  const begun = record === undefined ? {} : { last: record.last };
  telemetry.log('error', 'messages cannot be archived', { ...error.extra, ...begun, topic: topic.name, segment, error });
  return record === undefined ? { step: 'held' } : { step: 'held', sinceMs: committedMsOf(record.guard) };
}
