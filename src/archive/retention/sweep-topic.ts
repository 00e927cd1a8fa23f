import { RETENTION_CUTS_MAX } from '../../model/archive-limits.ts';
import { KelpError } from '../../model/errors.ts';
import type { SegmentId } from '../../model/ids.ts';
import { SWEEP_PARALLEL_MAX } from '../../model/limits.ts';
import type { RetentionCut } from '../../model/sweep-report.ts';
import type { Retention, Topic } from '../../model/topic.ts';
import { readArchive } from '../../state/archives.ts';
import { inParallel } from '../../state/in-parallel.ts';
import { readSegmentRecords } from '../../state/segment-records.ts';
import { advanceStart } from './advance-start.ts';
import { keptUnits } from './kept-units.ts';
import type { Cut, RetentionBounds } from './plan-retention.ts';
import type { RetentionDeps } from './retention-deps.ts';
import { planWalks, type SegmentWalk } from './walk-segments.ts';

/** Of all topics. Added to as it goes. */
export type RetentionCounts = {
  examined: number;
  messages: number;
  bytes: number;
  failed: number;
  incomplete: boolean;
  readonly cuts: RetentionCut[];
};

export type TopicRetention = { readonly topic: Topic; readonly dryRun: boolean; readonly counts: RetentionCounts };

const SECOND_MS = 1_000;

/** What a topic keeps too long or too much of goes, segment by segment; what goes wrong with one of them is left to the next sweep. */
export async function sweepTopicRetention(deps: RetentionDeps, sweep: TopicRetention, signal: AbortSignal): Promise<void> {
  const { topic, dryRun, counts } = sweep;
  const { retention } = topic.settings;
  if (retention === undefined) return;
  const onFailed = (segment: SegmentId, error: unknown): void => noteFailed(deps, sweep, { segment, error });
  const guarded = async <T>(segment: SegmentId, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      onFailed(segment, error);
      return undefined;
    }
  };
  const records = await readSegmentRecords(deps.table, { topic: topic.id, after: '' }, signal);
  counts.examined += records.length;
  const looks = await inParallel(records, SWEEP_PARALLEL_MAX, ({ segment }) => guarded(segment, () => look(deps, topic, segment, signal)));
  const walks = looks.filter((walk) => walk !== undefined);
  const { cuts, complete } = await planWalks({ walks, bounds: boundsOf(retention, deps.clock.nowMs()), onFailed }, signal);
  if (!complete) counts.incomplete = true;
  const bySegment = Map.groupBy(cuts, ({ segment }) => segment);
  await inParallel([...bySegment], SWEEP_PARALLEL_MAX, ([segment, ours]) =>
    guarded(segment, async () => note(deps, sweep, dryRun ? ours : await apply(deps, topic, ours, signal))),
  );
}

function boundsOf({ maxAgeSeconds, maxBytes }: Retention, nowMs: number): RetentionBounds {
  return { committedMs: maxAgeSeconds === undefined ? undefined : nowMs - maxAgeSeconds * SECOND_MS, bytesMax: maxBytes };
}

/** Undefined where there is nothing that could go. */
async function look(deps: RetentionDeps, topic: Topic, segment: SegmentId, signal: AbortSignal): Promise<SegmentWalk | undefined> {
  const head = await deps.heads.read(topic.id, segment, signal);
  if (head === undefined || head.deleted || head.tail === 0) return undefined;
  const archive = await readArchive(deps, head, signal);
  const { start, goneBytes } = archive;
  if (start >= head.tail) return undefined;
  const kept = { segment, start, goneBytes, bytes: head.load.bytes, units: [], more: true };
  return { kept, units: keptUnits(deps, { head, archive }, signal) };
}

/** Those that were reached: before others a file is being written that reaches beyond them. */
async function apply(deps: RetentionDeps, topic: Topic, cuts: readonly Cut[], signal: AbortSignal): Promise<readonly Cut[]> {
  const last = cuts.at(-1);
  if (last === undefined) return [];
  const { start } = await advanceStart(deps, { topic, segment: last.segment }, last.to.end, signal);
  return cuts.filter(({ to }) => to.end <= start);
}

function note({ telemetry }: RetentionDeps, { topic, dryRun, counts }: TopicRetention, cuts: readonly Cut[]): void {
  for (const { segment, from, to, bytes, reason } of cuts) {
    const messages = to.end - from;
    counts.messages += messages;
    counts.bytes += bytes;
    if (counts.cuts.length < RETENTION_CUTS_MAX) counts.cuts.push({ topic: topic.id, segment, start: to.end, messages, bytes, reason });
    if (!dryRun) telemetry.count('kelp.retention.messages', messages, { topic: topic.name });
  }
}

type Failed = { readonly segment: SegmentId; readonly error: unknown };

function noteFailed({ telemetry }: RetentionDeps, { topic, counts }: TopicRetention, { segment, error }: Failed): void {
  // The topic was deleted meanwhile.
  if (error instanceof KelpError && error.code === 'segment-not-found') return;
  counts.failed += 1;
  telemetry.log('warn', 'messages are kept until the next sweep', { topic: topic.name, segment, error });
}
