import { type LoadWindows, sampleSegments } from '../../src/control/scaling/load-windows.ts';
import type { ScalingState } from '../../src/control/scaling/plan-scaling.ts';
import { planTopic } from '../../src/control/scaling/plan-topic.ts';
import { type SegmentId, segmentId, segmentNumber } from '../../src/model/ids.ts';
import type { PlannedChange, ScalingSettings } from '../../src/model/scaling.ts';
import { type Scaler, TICK_SECONDS } from './scaler.ts';
import { EPOCH_MS } from './trace.ts';
import type { Decision } from './world.ts';

const NONE: ReadonlySet<SegmentId> = new Set();

/** Kelp's own planner, with what its leader would give it. */
export function createKelpScaler(settings: ScalingSettings): Scaler {
  let windows = new Map<SegmentId, LoadWindows>();
  let state: ScalingState = {};
  return {
    name: 'kelp',
    decide(segments, second) {
      const nowMs = second * 1_000;
      const seen = segments.map((segment) => ({
        segment: segmentId(segment.id),
        ...(segment.cameBy === 'other' ? {} : { bornMs: segment.bornSecond * 1_000 }),
      }));
      windows = sampleSegments(windows, seen, new Map(segments.map(({ id, load }) => [segmentId(id), { atMs: nowMs, load }])));
      const plan = planTopic({
        settings,
        open: segments.map(({ id, lo, hi }) => ({ segment: segmentId(id), lo, hi })),
        windows,
        origins: new Map(segments.map(({ id, cameBy }) => [segmentId(id), { cameBy }])),
        throttled: NONE,
        busy: NONE,
        state,
        now: { nowMs, wallMs: EPOCH_MS + nowMs, tickMs: TICK_SECONDS * 1_000 },
      });
      state = plan.state;
      return plan.changes.map(decisionOf);
    },
  };
}

function decisionOf(change: PlannedChange): Decision {
  if (change.kind === 'split') return { kind: 'split', id: segmentNumber(change.segment), cuts: [change.at] };
  const [lower, upper] = change.segments;
  return { kind: 'merge', ids: [segmentNumber(lower), segmentNumber(upper)] };
}
