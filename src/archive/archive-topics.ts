import { stringField } from '../format/item-fields.ts';
import { FILES_PER_VISIT_MAX, SEGMENTS_ARCHIVED_PARALLEL_MAX } from '../model/archive-limits.ts';
import type { SegmentId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import type { Item } from '../ports/metadata-table.ts';
import { everyName, topicOfName } from '../state/every-topic.ts';
import { inParallel } from '../state/in-parallel.ts';
import { readSegmentRecords } from '../state/segment-records.ts';
import type { ArchiveDeps } from './archive-deps.ts';
import { archiveNext } from './archive-segment.ts';

/** What one run has done. */
export type ArchiveRun = {
  /** Records that were taken over. */
  readonly archived: number;
  /** Segments of which something is due that can't be read, that somebody else is at, or with which something went wrong. */
  readonly held: number;
  readonly busy: number;
  readonly failed: number;
  /** How long ago the oldest message was committed that was seen to be in no file; 0: there is none. */
  readonly lagMs: number;
  /** Whether all was looked at, and nothing was left that is due. */
  readonly complete: boolean;
};

type Counts = { -readonly [name in keyof ArchiveRun]: ArchiveRun[name] };
type Run = {
  readonly deps: ArchiveDeps;
  /** Nothing is begun any more once this aborts. */
  readonly until: AbortSignal;
  readonly counts: Counts;
  readonly signal: AbortSignal;
};

/**
 * Archives what is due of all topics' segments. Any number of archivers may run at once; in no order of their own, so that they don't meet,
 * and what one run has no time for is not what the next one has none for. Ends between two files once `until` aborts, and with its signal
 * in the middle of one, without an error; rejects when the table can't be listed.
 */
export async function archiveTopics(
  deps: ArchiveDeps,
  { until }: { readonly until: AbortSignal },
  signal: AbortSignal,
): Promise<ArchiveRun> {
  const counts: Counts = { archived: 0, held: 0, busy: 0, failed: 0, lagMs: 0, complete: true };
  const run: Run = { deps: beginningUntil(deps, until), until, counts, signal };
  try {
    for await (const names of everyName(deps, signal)) {
      for (const name of shuffled(deps, names)) await guarded(run, { name: stringField(name, 'sk') }, () => archiveNamed(run, name));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return { ...counts, complete: counts.complete && !until.aborted && !signal.aborted };
}

/** Also of those that wait for their turn. */
const beginningUntil = (deps: ArchiveDeps, until: AbortSignal): ArchiveDeps => ({
  ...deps,
  oneAtATime: (work) =>
    deps.oneAtATime(() => {
      until.throwIfAborted();
      return work();
    }),
});

async function archiveNamed(run: Run, name: Item): Promise<void> {
  const { deps, signal } = run;
  const topic = await topicOfName(deps, name, signal);
  if (topic === undefined) return;
  const records = await readSegmentRecords(deps.table, { topic: topic.id, after: '' }, signal);
  await inParallel(shuffled(deps, records), SEGMENTS_ARCHIVED_PARALLEL_MAX, ({ segment }) =>
    guarded(run, { topic: topic.name, segment }, () => visit(run, topic, segment)),
  );
}

/** Some files of a segment at most, so that others have their turn. */
async function visit({ deps, until, counts, signal }: Run, topic: Topic, segment: SegmentId): Promise<void> {
  for (let files = 0; files < FILES_PER_VISIT_MAX; files += 1) {
    if (until.aborted) return;
    const { step, sinceMs } = await archiveNext(deps, topic, segment, signal);
    if (sinceMs !== undefined) counts.lagMs = Math.max(counts.lagMs, deps.clock.nowMs() - sinceMs);
    if (step !== 'idle') counts[step] += 1;
    if (step !== 'archived') return;
  }
  counts.complete = false;
}

/** What goes wrong with one of them is left to the next run: the others have nothing to do with it. */
async function guarded(
  { deps, until, counts, signal }: Run,
  what: Readonly<Record<string, string>>,
  work: () => Promise<void>,
): Promise<void> {
  if (until.aborted) return;
  signal.throwIfAborted();
  try {
    await work();
  } catch (error) {
    signal.throwIfAborted();
    if (until.aborted && error === until.reason) return;
    counts.failed += 1;
    deps.telemetry.count('kelp.archive.failed', 1);
    deps.telemetry.log('warn', 'messages are left for the next run of the archive', { ...what, error });
  }
}

function shuffled<T>({ random }: ArchiveDeps, values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, at: random.fraction() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
