import type { Head } from '../../model/head.ts';
import type { SegmentId } from '../../model/ids.ts';
import { SAMPLE_MS_MIN, SAMPLES_PARALLEL_MAX } from '../../model/scaling-limits.ts';
import type { Topic } from '../../model/topic.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import type { Heads } from '../../state/heads.ts';
import { inParallel } from '../../state/in-parallel.ts';
import { type LoadSample, type OpenSegment, sampleSegments } from './load-windows.ts';
import type { ScalingMemory, SegmentOrigin, TopicMemory } from './scaling-memory.ts';

export type SampleDeps = {
  readonly heads: Heads;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly memory: Pick<ScalingMemory, 'nowMs'>;
};

export type Sampled = Pick<TopicMemory, 'windows' | 'origins'>;

type Read = OpenSegment & { readonly sample: LoadSample; readonly origin: SegmentOrigin };

/**
 * What is known of the topic's open segments, once the head of each was read; nothing else of the table is. A head that can't
 * be read, or was read a moment ago, keeps none of the others from it: of that segment what was known before goes on.
 */
export async function sampleTopic(
  deps: SampleDeps,
  topic: Pick<Topic, 'id' | 'open'>,
  known: Sampled | undefined,
  signal: AbortSignal,
): Promise<Sampled> {
  const nowMs = deps.memory.nowMs();
  const wasRead = ({ segment }: OpenSegment): boolean => {
    const windows = known?.windows.get(segment);
    return windows !== undefined && nowMs - windows.sample.atMs < SAMPLE_MS_MIN;
  };
  const due = topic.open.filter((range) => !wasRead(range));
  const read = await inParallel(due, SAMPLES_PARALLEL_MAX, ({ segment }) => readSegment(deps, topic, segment, signal));
  const found = new Map(read.flatMap((one) => (one === undefined ? [] : [[one.segment, one]])));
  const open = topic.open.map(({ segment }): OpenSegment => found.get(segment) ?? { segment });
  const samples = new Map([...found].map(([segment, { sample }]) => [segment, sample]));
  const origins = open.flatMap(({ segment }): [SegmentId, SegmentOrigin][] => {
    const origin = known?.origins.get(segment) ?? found.get(segment)?.origin;
    return origin === undefined ? [] : [[segment, origin]];
  });
  return { windows: sampleSegments(known?.windows ?? new Map(), open, samples), origins: new Map(origins) };
}

/** Undefined: it can't be read now. */
async function readSegment(deps: SampleDeps, topic: Pick<Topic, 'id'>, segment: SegmentId, signal: AbortSignal): Promise<Read | undefined> {
  try {
    const head = await deps.heads.read(topic.id, segment, signal);
    return head === undefined ? undefined : { segment, ...bornOf(deps, head), sample: sampleOf(deps, head), origin: originOf(head) };
  } catch (error) {
    signal.throwIfAborted();
    deps.telemetry.count('kelp.rebalance.unread', 1);
    deps.telemetry.log('warn', 'the load of a segment could not be read', { topic: topic.id, segment, error });
    return undefined;
  }
}

const sampleOf = ({ memory }: SampleDeps, { load }: Head): LoadSample => ({ atMs: memory.nowMs(), load });

/** Its age is told by wall clocks, which may be apart: whoever leads next, or leads again, knows how long it has been there. */
function bornOf({ memory, clock }: SampleDeps, { openedMs }: Head): Pick<OpenSegment, 'bornMs'> {
  return openedMs === undefined ? {} : { bornMs: memory.nowMs() - Math.max(0, clock.nowMs() - openedMs) };
}

/** A split is as good as any other origin, unless this very leader has made it, and knows the parent's load. */
const originOf = ({ predecessors }: Head): SegmentOrigin => ({ cameBy: predecessors.length > 1 ? 'merge' : 'other' });
