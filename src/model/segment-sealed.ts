import { KelpError } from './errors.ts';
import type { SegmentId } from './ids.ts';
import type { SegmentRange } from './topic.ts';

/** For what a client asked of this very segment: it is told who goes on. */
export function segmentSealed(segment: SegmentId, successors: readonly SegmentRange[]): KelpError {
  return new KelpError('conflict', 'segment-sealed', `segment ${segment} takes no more messages`, { extra: { segment, successors } });
}

/** Who goes on, in an error made by {@link segmentSealed}; undefined in any other. */
export function successorsIn(error: KelpError): readonly SegmentRange[] | undefined {
  return error.code === 'segment-sealed' ? (error.extra['successors'] as readonly SegmentRange[]) : undefined;
}
