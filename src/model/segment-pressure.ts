import type { SegmentId, TopicId } from './ids.ts';

/** What a broker notices of a segment that it commits to, and that has too much to do. Integers. */
export type SegmentPressure = {
  readonly topic: TopicId;
  readonly segment: SegmentId;
  /** Commits a second that the table refused for their rate, rounded up; 0: none. */
  readonly throttledPerSecond: number;
  /** The longest that messages waited for their commit to begin, milliseconds. */
  readonly queuedMs: number;
};
