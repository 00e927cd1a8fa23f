import { TIMESTAMP_MS_MAX } from '../model/limits.ts';
import type { SegmentDescription } from '../topics/topics.ts';
import { okJson } from './answer.ts';
import type { Handler } from './call.ts';
import type { HttpDependencies } from './dependencies.ts';
import { JSON_MEDIA, negotiate } from './media-type.ts';
import { integerParameter, parseQuery } from './query.ts';
import { segmentIdOf, STALE_FOR_READS, withTopic } from './with-topic.ts';

export function createListSegments({ topics }: HttpDependencies): Handler {
  return async (call) => {
    negotiate(call.context, [JSON_MEDIA]);
    const atMs = integerParameter(parseQuery(call.context.req.url, ['at']), 'at', { min: 0, max: TIMESTAMP_MS_MAX });
    const segments = await withTopic(call, { topics, stale: STALE_FOR_READS }, (topic) =>
      atMs === undefined ? topics.segments(topic, call.signal) : topics.segmentsAt(topic, atMs, call.signal),
    );
    return okJson({ segments: segments.map(documentOf) });
  };
}

export function createGetSegment({ topics }: HttpDependencies): Handler {
  return async (call) => {
    negotiate(call.context, [JSON_MEDIA]);
    parseQuery(call.context.req.url, []);
    const id = segmentIdOf(call);
    const segment = await withTopic(call, { topics, stale: STALE_FOR_READS }, (topic) => topics.segment(topic, id, call.signal));
    return okJson(documentOf(segment));
  };
}

/** Member by member: what the engine knows about a segment is more than what is promised. */
const documentOf = (segment: SegmentDescription): Record<string, unknown> => ({
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
});
