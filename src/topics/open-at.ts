import type { SegmentId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import type { SegmentDescription } from './topics.ts';

/**
 * Of all segments of the topic's life, in order of their ids, those that were open at a time. Heads of older brokers lack
 * times: a segment without its beginning counts as open since the latest time that is known of those before it, which may be
 * the topic's creation; one without its end until the first of its successors opened. So no two of a range that moved on are
 * there at once for want of a time.
 */
export function openAt(segments: readonly SegmentDescription[], topic: Pick<Topic, 'createdMs'>, atMs: number): SegmentDescription[] {
  const begins = new Map<SegmentId, number>();
  const ends = new Map(segments.map(({ segment, endedMs }) => [segment, endedMs]));
  // Predecessors have lower ids.
  for (const { segment, state, openedMs, predecessors } of segments) {
    const before = predecessors.map((one) => ends.get(one) ?? begins.get(one) ?? topic.createdMs);
    begins.set(segment, state === 'pending' ? Infinity : (openedMs ?? Math.max(topic.createdMs, ...before)));
  }
  return segments.filter((one) => (begins.get(one.segment) ?? Infinity) <= atMs && endOf(one, begins) > atMs);
}

/** Infinity: it is open, or nobody follows it yet. */
function endOf({ state, endedMs, successors }: SegmentDescription, begins: ReadonlyMap<SegmentId, number>): number {
  if (state !== 'sealed') return Infinity;
  return endedMs ?? Math.min(...successors.map((successor) => begins.get(successor) ?? Infinity));
}
