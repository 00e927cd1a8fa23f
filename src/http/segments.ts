import type { SegmentId } from '../model/ids.ts';
import { TIMESTAMP_MS_MAX } from '../model/limits.ts';
import type { HotKey, SegmentRates } from '../model/scaling.ts';
import type { Topic } from '../model/topic.ts';
import type { SegmentDescription } from '../topics/topics.ts';
import { okJson } from './answer.ts';
import type { Handler } from './call.ts';
import type { ControlDependencies } from './dependencies.ts';
import { JSON_MEDIA, negotiate } from './media-type.ts';
import { integerParameter, parseQuery } from './query.ts';
import { rounded } from './rounded.ts';
import { segmentIdOf, STALE_FOR_READS, withTopic } from './with-topic.ts';

type SegmentsDeps = Pick<ControlDependencies, 'topics' | 'control'>;
type Loads = ReadonlyMap<SegmentId, Record<string, unknown>>;

const NONE: Loads = new Map();

/** Those of a time that is past carry nothing any more. */
export function createListSegments(deps: SegmentsDeps): Handler {
  const { topics } = deps;
  return async (call) => {
    negotiate(call.context, [JSON_MEDIA]);
    const atMs = integerParameter(parseQuery(call.context.req.url, ['at']), 'at', { min: 0, max: TIMESTAMP_MS_MAX });
    const documents = await withTopic(call, { topics, stale: STALE_FOR_READS }, async (topic) => {
      if (atMs !== undefined) return (await topics.segmentsAt(topic, atMs, call.signal)).map((segment) => documentOf(segment, NONE));
      const segments = await topics.segments(topic, call.signal);
      const loads = await loadsOf(deps, topic, segments, call.signal);
      return segments.map((segment) => documentOf(segment, loads));
    });
    return okJson({ segments: documents });
  };
}

export function createGetSegment(deps: SegmentsDeps): Handler {
  const { topics } = deps;
  return async (call) => {
    negotiate(call.context, [JSON_MEDIA]);
    parseQuery(call.context.req.url, []);
    const id = segmentIdOf(call);
    const document = await withTopic(call, { topics, stale: STALE_FOR_READS }, async (topic) => {
      const segment = await topics.segment(topic, id, call.signal);
      return documentOf(segment, await loadsOf(deps, topic, [segment], call.signal));
    });
    return okJson(document);
  };
}

/** What the leader knows of those that are open, by segment; it is asked only if there is one, and not waited for long. */
async function loadsOf(
  { control }: SegmentsDeps,
  topic: Topic,
  segments: readonly SegmentDescription[],
  signal: AbortSignal,
): Promise<Loads> {
  const open = new Set(segments.filter(({ state }) => state === 'open').map(({ segment }) => segment));
  const loads = open.size === 0 ? undefined : await control.loads(topic, signal);
  if (loads === undefined) return NONE;
  const hotKeys = new Map(loads.hotKeys.map((hotKey) => [hotKey.segment, hotKeyOf(hotKey)]));
  return new Map(
    loads.segments
      .filter(({ segment }) => open.has(segment))
      .map((rates) => [rates.segment, { load: loadOf(rates), hotKey: hotKeys.get(rates.segment) }]),
  );
}

/** Member by member: what the engine knows about a segment is more than what is promised. */
const documentOf = (segment: SegmentDescription, loads: Loads): Record<string, unknown> => ({
  segment: segment.segment,
  state: segment.state,
  lo: segment.lo,
  hi: segment.hi,
  start: segment.start,
  tail: segment.tail,
  predecessors: segment.predecessors,
  successors: segment.successors,
  openedMs: segment.openedMs,
  endedMs: segment.endedMs,
  ...loads.get(segment.segment),
});

const loadOf = ({ messages, bytes, commits, load }: SegmentRates): Record<string, unknown> => ({
  messagesPerSecond: rounded(messages, 1),
  bytesPerSecond: rounded(bytes, 0),
  commitsPerSecond: rounded(commits, 1),
  ofTarget: rounded(load),
});

const hotKeyOf = ({ lo, hi, share }: HotKey): Record<string, unknown> => ({ lo, hi, share: rounded(share) });
