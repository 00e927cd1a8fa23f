import type { SegmentId } from '../../model/ids.ts';
import type { ScalingSettings } from '../../model/scaling.ts';
import type { SegmentRange } from '../../model/topic.ts';
import { type LoadWindows, viewAt } from './load-windows.ts';
import { planScaling, type ScalingPlan, type ScalingState } from './plan-scaling.ts';
import type { SegmentOrigin } from './scaling-memory.ts';
import { keptMin, scheduledMin } from './schedule.ts';

/** A topic as a look finds it. */
export type TopicView = {
  readonly settings: ScalingSettings;
  /** In order of partitions. */
  readonly open: readonly SegmentRange[];
  readonly windows: ReadonlyMap<SegmentId, LoadWindows>;
  readonly origins: ReadonlyMap<SegmentId, SegmentOrigin>;
  /** Of which brokers say that the table throttles them, and which a pending change has. */
  readonly throttled: ReadonlySet<SegmentId>;
  readonly busy: ReadonlySet<SegmentId>;
  readonly state: ScalingState;
  readonly now: Now;
};

export type Now = {
  /** On the clock of the windows. */
  readonly nowMs: number;
  /** By the calendar, for expected floods. */
  readonly wallMs: number;
  /** How often the topic is looked at. */
  readonly tickMs: number;
};

const OF_NOBODY_KNOWS: SegmentOrigin = { cameBy: 'other' };

/** What the topic's segments are to become now, by their loads and by the topic's schedule. */
export function planTopic({ settings, open, windows, origins, throttled, busy, state, now }: TopicView): ScalingPlan {
  const { nowMs, wallMs, tickMs } = now;
  const segments = open.map(({ segment, lo, hi }) => {
    const known = windows.get(segment);
    const view = known === undefined ? undefined : viewAt(known, nowMs);
    const origin = origins.get(segment) ?? OF_NOBODY_KNOWS;
    return { ...origin, segment, lo, hi, view, throttled: throttled.has(segment), busy: busy.has(segment) };
  });
  return planScaling({
    settings,
    scheduledMin: scheduledMin(settings.schedule, { nowMs: wallMs, segments: open.length, tickMs }).minSegments,
    keptMin: keptMin(settings.schedule, wallMs),
    segments,
    state,
    nowMs,
  });
}
