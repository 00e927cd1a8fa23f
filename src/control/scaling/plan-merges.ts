import {
  MERGE_AGAIN_COOL_DOWN_MS,
  MERGE_COOL_DOWN_MS,
  MERGED_LOAD_MAX,
  MERGED_SEGMENTS_SHARE,
  THROTTLED_KNOWN_MS,
} from '../../model/scaling-limits.ts';
import type { MergeReason, PlannedMerge, ScalingSettings } from '../../model/scaling.ts';
import type { LoadView } from './load-windows.ts';
import { addRates, forecastOf, knownForMerging, loadOf, type ScaledSegment } from './segment-load.ts';

/** The lowest load at which a segment of the topic was throttled lately: its targets were too high then. */
export type Throttling = { readonly load: number; readonly atMs: number };

type Bounds = {
  /** Segments of which none may go. */
  readonly floor: number;
  readonly nowMs: number;
  readonly throttling: Throttling | undefined;
};

/** Pairs of quiet neighbours, the quietest first, each segment in one of them. What is split now carries too much for it. */
export function planMerges(settings: ScalingSettings, segments: readonly ScaledSegment[], bounds: Bounds): PlannedMerge[] {
  const count = Math.min(segments.length - bounds.floor, Math.max(1, Math.floor(segments.length / MERGED_SEGMENTS_SHARE / 2)));
  if (count <= 0) return [];
  const limits = { loadMax: loadMaxOf(bounds), average: averageLoad(settings, segments) };
  const pairs = segments.slice(1).flatMap((upper, index) => {
    const pair = pairOf(segments[index], upper);
    if (pair === undefined) return [];
    const reason: MergeReason = { why: 'quiet', load: forecast(settings, pair), ...limits };
    return reason.load <= reason.loadMax && reason.load <= reason.average ? [{ pair, reason }] : [];
  });
  const used = new Set<ScaledSegment>();
  const merges: PlannedMerge[] = [];
  for (const { pair, reason } of pairs.toSorted((a, b) => a.reason.load - b.reason.load)) {
    if (merges.length === count) break;
    const [lower, upper] = pair.segments;
    if (used.has(lower) || used.has(upper)) continue;
    used.add(lower).add(upper);
    merges.push({ kind: 'merge', segments: [lower.segment, upper.segment], reason });
  }
  return merges;
}

/** `views`: what is known of each of them. */
type Pair = { readonly segments: readonly [ScaledSegment, ScaledSegment]; readonly views: readonly [LoadView, LoadView] };

function pairOf(lower: ScaledSegment | undefined, upper: ScaledSegment): Pair | undefined {
  if (lower === undefined) return undefined;
  const [a, b] = [viewToMergeBy(lower), viewToMergeBy(upper)];
  return a === undefined || b === undefined ? undefined : { segments: [lower, upper], views: [a, b] };
}

/** Undefined: it may not be merged now. */
function viewToMergeBy({ view, cameBy, busy }: ScaledSegment): LoadView | undefined {
  const coolDownMs = cameBy === 'merge' ? MERGE_AGAIN_COOL_DOWN_MS : MERGE_COOL_DOWN_MS;
  const known = knownForMerging(view);
  return !busy && known !== undefined && known.ageMs >= coolDownMs ? known : undefined;
}

/** The window in which they carry most: a load that falls is still in the longest one, one that rises already in the shortest. */
function forecast(settings: ScalingSettings, { views: [lower, upper] }: Pair): number {
  let most = 0;
  for (const [window, rates] of lower.rates.entries()) {
    const other = upper.rates[window];
    if (other !== undefined) most = Math.max(most, loadOf(addRates(rates, other), settings));
  }
  return most;
}

/**
 * The average load a segment, were there only as many as the whole load asks for. The plain average would be a dead zone:
 * where all carry the same, no pair is ever below it, however little that is. With this one, two that carry half of
 * MERGED_LOAD_MAX together always merge, and the more segments there are beyond need, the more do.
 */
function averageLoad(settings: ScalingSettings, segments: readonly ScaledSegment[]): number {
  const total = segments.reduce((sum, { view }) => sum + forecastOf(view, settings), 0);
  // Where one would do, any two that it allows.
  return total <= MERGED_LOAD_MAX ? MERGED_LOAD_MAX : total / Math.ceil(total / MERGED_LOAD_MAX);
}

/** Whoever is throttled now is among what is remembered, and so never merged. */
function loadMaxOf({ throttling, nowMs }: Bounds): number {
  const isRecent = throttling !== undefined && nowMs - throttling.atMs < THROTTLED_KNOWN_MS;
  return MERGED_LOAD_MAX * (isRecent ? Math.min(1, throttling.load) : 1);
}
