import type { SegmentId, TopicId } from './ids.ts';
import { THROTTLED_WRITES_MIN } from './scaling-limits.ts';

/** What a broker notices of a segment that it commits to, and that has too much to do. Integers. */
export type SegmentPressure = {
  readonly topic: TopicId;
  readonly segment: SegmentId;
  /**
   * Writes of its head that the table refused for their rate within PRESSURE_WINDOW_MS; it is throttled from THROTTLED_WRITES_MIN on.
   * Of an instance of a fleet, which is one of many, each counts as that many.
   */
  readonly throttledWrites: number;
  /** The longest that messages waited for their commit to begin, milliseconds. */
  readonly queuedMs: number;
};

export const isThrottled = ({ throttledWrites }: Pick<SegmentPressure, 'throttledWrites'>): boolean =>
  throttledWrites >= THROTTLED_WRITES_MIN;
