import { SEGMENTS_OPEN_MAX } from '../../model/limits.ts';
import { LOAD_WINDOWS_MS, THROTTLED_HASTE_MS, THROTTLED_HASTE_SHARE, THROTTLED_KNOWN_MS } from '../../model/scaling-limits.ts';
import type { HeldBack, HotKey, PlannedChange, ScalingSettings } from '../../model/scaling.ts';
import { planMerges, type Throttling } from './plan-merges.ts';
import { assertTiles, planMissing, planSplits } from './plan-splits.ts';
import { type ScaledSegment, throttledLoad, withAsThrottled } from './segment-load.ts';

/** What a topic's planner remembers from one plan to the next, besides the segments' own ages. Plain data. */
export type ScalingState = { readonly throttling?: Throttling };

export type ScalingInput = {
  readonly settings: ScalingSettings;
  /** What expected floods ask for now, and what may not merge because one is due soon; 0: nothing. */
  readonly scheduledMin: number;
  readonly keptMin: number;
  /** All open ones, in order of partitions. */
  readonly segments: readonly ScaledSegment[];
  readonly state: ScalingState;
  /** Monotonic, as in the segments' samples. */
  readonly nowMs: number;
};

export type ScalingPlan = {
  /** Of disjoint segments: in any order, at once or one by one, the topic stays within its limits. */
  readonly changes: readonly PlannedChange[];
  readonly hotKeys: readonly HotKey[];
  /** What is over its target and stays as it is. */
  readonly held: readonly HeldBack[];
  readonly state: ScalingState;
};

/** What a topic's segments are to become now. The same input, the same plan. */
export function planScaling({ settings, scheduledMin, keptMin, segments: seen, state, nowMs }: ScalingInput): ScalingPlan {
  assertTiles(seen);
  const segments = withAsThrottled(seen, settings);
  const ceiling = Math.min(settings.maxSegments, SEGMENTS_OPEN_MAX);
  const floor = Math.min(ceiling, Math.max(1, settings.minSegments, scheduledMin));
  const throttling = rememberThrottling(settings, seen, { before: state.throttling, nowMs });

  const { splits, hotKeys, held } = planSplits(settings, segments, {
    roomFor: ceiling - segments.length,
    hastyLoad: hastyLoad(throttling, nowMs),
  });
  const split = new Set(splits.map(({ segment }) => segment));
  const others = segments.filter(({ segment }) => !split.has(segment));
  const missing = planMissing(others, { settings, missing: floor - segments.length - splits.length, minSegments: floor });
  // Counted without the splits, which may fail.
  const merges = planMerges(settings, segments, { floor: Math.max(floor, keptMin), nowMs, throttling });

  return { changes: [...splits, ...missing, ...merges], hotKeys, held, state: throttling === undefined ? {} : { throttling } };
}

const hastyLoad = (throttling: Throttling | undefined, nowMs: number): number =>
  throttling !== undefined && nowMs - throttling.atMs < THROTTLED_HASTE_MS
    ? throttling.load * THROTTLED_HASTE_SHARE
    : Number.POSITIVE_INFINITY;

/**
 * The lowest load that was too much for the table, until nothing was for some time: what it throttles is not merged up to there
 * again. A higher one later raises it, by as much of the way as has passed of that time: a low one may have been the table's own affair.
 */
function rememberThrottling(
  settings: ScalingSettings,
  segments: readonly ScaledSegment[],
  { before, nowMs }: { readonly before: Throttling | undefined; readonly nowMs: number },
): Throttling | undefined {
  // What came over a longer time says little of the load that was refused.
  const seen = segments.filter(({ view }) => view?.latestMs !== undefined && view.latestMs <= LOAD_WINDOWS_MS[0]);
  const loads = seen.flatMap((segment) => throttledLoad(segment, settings) ?? []);
  const known = before !== undefined && nowMs - before.atMs < THROTTLED_KNOWN_MS ? before : undefined;
  if (loads.length === 0) return known;
  const load = Math.min(...loads);
  if (known === undefined || load <= known.load) return { load, atMs: nowMs };
  const passed = Math.max(0, nowMs - known.atMs) / THROTTLED_KNOWN_MS;
  return { load: known.load + (load - known.load) * passed, atMs: nowMs };
}
