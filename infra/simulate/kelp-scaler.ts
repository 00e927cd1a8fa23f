import { type LoadWindows, sampleSegments, viewAt } from '../../src/control/scaling/load-windows.ts';
import { planScaling, type ScalingState } from '../../src/control/scaling/plan-scaling.ts';
import { keptMin, scheduledMin } from '../../src/control/scaling/schedule.ts';
import { type SegmentId, segmentId, segmentNumber } from '../../src/model/ids.ts';
import type { PlannedChange, ScalingSettings } from '../../src/model/scaling.ts';
import { type Scaler, TICK_SECONDS } from './scaler.ts';
import { EPOCH_MS } from './trace.ts';
import type { Decision, SimulatedSegment } from './world.ts';

/** Kelp's own planner, with what its leader would give it. */
export function createKelpScaler(settings: ScalingSettings): Scaler {
  let windows = new Map<SegmentId, LoadWindows>();
  let state: ScalingState = {};
  return {
    name: 'kelp',
    decide(segments, second) {
      const nowMs = second * 1_000;
      const open = segments.map((segment) => ({
        segment: segmentId(segment.id),
        ...(segment.cameBy === 'other' ? {} : { bornMs: segment.bornSecond * 1_000 }),
      }));
      windows = sampleSegments(windows, open, new Map(segments.map(({ id, load }) => [segmentId(id), { atMs: nowMs, load }])));
      const schedule = { nowMs: EPOCH_MS + nowMs, segments: segments.length, tickMs: TICK_SECONDS * 1_000 };
      const plan = planScaling({
        settings,
        scheduledMin: scheduledMin(settings.schedule, schedule).minSegments,
        keptMin: keptMin(settings.schedule, EPOCH_MS + nowMs),
        segments: segments.map((segment) => scaled(segment, windows, nowMs)),
        state,
        nowMs,
      });
      state = plan.state;
      return plan.changes.map(decisionOf);
    },
  };
}

function scaled({ id, lo, hi, cameBy }: SimulatedSegment, windows: ReadonlyMap<SegmentId, LoadWindows>, nowMs: number) {
  const known = windows.get(segmentId(id));
  const view = known === undefined ? undefined : viewAt(known, nowMs);
  return { segment: segmentId(id), lo, hi, view, cameBy, throttled: false, busy: false };
}

function decisionOf(change: PlannedChange): Decision {
  if (change.kind === 'split') return { kind: 'split', id: segmentNumber(change.segment), cuts: [change.at] };
  const [lower, upper] = change.segments;
  return { kind: 'merge', ids: [segmentNumber(lower), segmentNumber(upper)] };
}
