import { segmentKey } from '../format/item-key.ts';
import { KelpError } from '../model/errors.ts';
import { segmentNumber, type SegmentId } from '../model/ids.ts';
import { CHANGE_PARALLEL_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { TopologyDeps } from '../topology/apply-change.ts';
import { readArchive } from '../state/archives.ts';
import { inParallel } from '../state/in-parallel.ts';
import { readSegmentRecords } from '../state/segment-records.ts';
import type { SegmentDescription } from './topics.ts';

/** All segments of the topic's life, in order of their ids; each with its head as it was then. */
export async function describeSegments(deps: TopologyDeps, topic: Topic, signal: AbortSignal): Promise<SegmentDescription[]> {
  const records = await readSegmentRecords(deps.table, { topic: topic.id, after: '' }, signal);
  const described = await inParallel(records, CHANGE_PARALLEL_MAX, ({ segment }) => describe(deps, topic, segment, signal));
  return described.flatMap((segment) => segment ?? []);
}

export async function describeSegment(
  deps: TopologyDeps,
  topic: Topic,
  segment: SegmentId,
  signal: AbortSignal,
): Promise<SegmentDescription> {
  if (segmentNumber(segment) < topic.firstSegment) {
    throw new KelpError('not-found', 'topic-replaced', `segment ${segment} belongs to a deleted topic of this name`);
  }
  const item = await deps.table.get(segmentKey(topic.id, segment), signal);
  const described = item === undefined ? undefined : await describe(deps, topic, segment, signal);
  if (described === undefined) throw new KelpError('not-found', 'segment-not-found', `no segment ${segment}`);
  return described;
}

/** Undefined for a segment whose head is not there yet: its change is on the way. */
async function describe(
  deps: TopologyDeps,
  topic: Topic,
  segment: SegmentId,
  signal: AbortSignal,
): Promise<SegmentDescription | undefined> {
  const head = await deps.heads.read(topic.id, segment, signal);
  if (head === undefined) return undefined;
  // Nothing leaves the index before it has left the head.
  const { start } = head.spilled === 0 ? { start: 0 } : await readArchive(deps, head, signal);
  const { state, lo, hi, tail, predecessors, successors, openedMs, endedMs } = head;
  return {
    segment,
    state,
    lo,
    hi,
    start,
    tail,
    predecessors,
    successors: successors.map((range) => range.segment),
    ...(openedMs === undefined ? {} : { openedMs }),
    ...(endedMs === undefined ? {} : { endedMs }),
  };
}
