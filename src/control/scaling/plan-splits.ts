import { PARTITIONS } from '../../model/limits.ts';
import {
  COMMIT_MESSAGES_FEW,
  COMMITS_KEPT_MAX,
  LOAD_OBSERVED_MS_MIN,
  SEVERE_LOAD,
  SPLIT_COOL_DOWN_MS,
  THROTTLED_COMMIT_MESSAGES_FEW,
  THROTTLED_LOAD_MIN,
  THROTTLED_OBSERVED_MS_MIN,
} from '../../model/scaling-limits.ts';
import type { HeldBack, HotKey, PlannedSplit, ScalingSettings, SplitReason } from '../../model/scaling.ts';
import type { LoadView } from './load-windows.ts';
import { forecastOf, isKnown, loadOf, measureOf, type ScaledSegment, throttledLoad, volumeOf } from './segment-load.ts';
import { cutOf, findDominant, weightedMedian } from './split-point.ts';

export type SplitPlan = {
  readonly splits: readonly PlannedSplit[];
  readonly hotKeys: readonly HotKey[];
  readonly held: readonly HeldBack[];
};

/** Places in LOAD_WINDOWS_MS, and behind them in a view's buckets. */
const SHORTEST = 0;
const NEXT = 1;
const EVER = 3;

type Hot = { readonly segment: ScaledSegment; readonly reason: SplitReason; readonly buckets: readonly number[] };

type SplitBounds = {
  /** Segments that the topic may have more. */
  readonly roomFor: number;
  /** From which load on a segment is as good as throttled, since one of the topic was a moment ago. */
  readonly hastyLoad: number;
};

/** Of the segments that are over their target, the hottest ones first: as many as the topic may have more. */
export function planSplits(settings: ScalingSettings, segments: readonly ScaledSegment[], bounds: SplitBounds): SplitPlan {
  const hot = segments.flatMap((segment) => hotOf(settings, segment) ?? []).toSorted((a, b) => b.reason.load - a.reason.load);
  const splits: PlannedSplit[] = [];
  const held: HeldBack[] = [];
  for (const one of hot) {
    const { segment, reason, buckets } = one;
    const at = cutOf(segment, buckets, reason.load);
    const why = whyHeld(settings, one, { at, isFull: splits.length >= bounds.roomFor, hastyLoad: bounds.hastyLoad });
    if (why === undefined && at !== undefined) splits.push({ kind: 'split', segment: segment.segment, at, reason });
    else held.push({ segment: segment.segment, why: why ?? 'one-partition', load: reason.load });
  }
  return { splits, hotKeys: hot.flatMap(hotKeyOf), held };
}

/**
 * Splits of those that carry most until there are `missing` more, of the same load the widest: for a flood that has not begun
 * all that is known is where messages went so far.
 */
export function planMissing(
  segments: readonly ScaledSegment[],
  { settings, missing, minSegments }: { readonly settings: ScalingSettings; readonly missing: number; readonly minSegments: number },
): PlannedSplit[] {
  if (missing <= 0) return [];
  const loads = new Map(segments.map((segment) => [segment, forecastOf(segment.view, settings)]));
  const load = (segment: ScaledSegment): number => loads.get(segment) ?? 0;
  const free = segments.filter(({ lo, hi, busy }) => hi > lo && !busy);
  const first = free.toSorted((a, b) => load(b) - load(a) || b.hi - b.lo - (a.hi - a.lo) || a.lo - b.lo).slice(0, missing);
  return first.flatMap((segment) => {
    const at = weightedMedian(segment, segment.view?.buckets[EVER] ?? []);
    const reason = { why: 'minimum' as const, load: load(segment), minSegments };
    return at === undefined ? [] : [{ kind: 'split' as const, segment: segment.segment, at, reason }];
  });
}

function hotOf(settings: ScalingSettings, segment: ScaledSegment): Hot | undefined {
  const { view } = segment;
  const now = view?.rates[SHORTEST];
  const soon = view?.rates[NEXT];
  if (view === undefined || now === undefined || soon === undefined) return undefined;
  const load = loadOf(now, settings);
  const hot = (why: 'severe' | 'throttled' | 'over-target', window: number): Hot => {
    return { segment, reason: { why, load, measure: measureOf(now, settings) }, buckets: bucketsOf(view, window) };
  };
  if (throttledLoad(segment, settings) !== undefined) return hot('throttled', SHORTEST);
  // What has ended by now is still in the windows.
  if (load <= 1 || loadOf(view.latest, settings) <= 1) return undefined;
  if (load >= SEVERE_LOAD) return hot('severe', SHORTEST);
  return loadOf(soon, settings) > 1 ? hot('over-target', NEXT) : undefined;
}

function whyHeld(
  settings: ScalingSettings,
  { segment, reason }: Hot,
  { at, isFull, hastyLoad }: { readonly at: number | undefined; readonly isFull: boolean; readonly hastyLoad: number },
): HeldBack['why'] | undefined {
  if (segment.busy) return 'busy';
  const isHasty = reason.why === 'throttled' || reason.load >= hastyLoad;
  if (!isKnown(segment.view, isHasty ? THROTTLED_OBSERVED_MS_MIN : LOAD_OBSERVED_MS_MIN)) return 'not-known';
  if (segment.lo === segment.hi) return 'one-partition';
  if (at === undefined) return 'hot-key';
  if (isVain(settings, segment, reason)) return 'in-vain';
  if (reason.why === 'over-target' && !isHasty && segment.view.ageMs < SPLIT_COOL_DOWN_MS) return 'cool-down';
  return isFull ? 'limit' : undefined;
}

/**
 * A group of messages has a commit for each segment that it touches. Where groups are large, both halves of a segment get as
 * many commits as the whole did, and more halves would only add to the table's work. Where they are small that can't last,
 * whatever the commits of the parent were: as many as the table took then, or fewer, because the flood had only begun. One that
 * is throttled is halved all the same while it carries much.
 */
function isVain(settings: ScalingSettings, { view, parentCommits }: ScaledSegment, reason: SplitReason): boolean {
  const [now] = view?.rates ?? [];
  if (now === undefined || parentCommits === undefined || reason.why === 'minimum') return false;
  const isThrottled = reason.why === 'throttled';
  const isForCommits = isThrottled ? volumeOf(now, settings) < THROTTLED_LOAD_MIN : reason.measure === 'commits';
  const isSmall = now.messages <= now.commits * (isThrottled ? THROTTLED_COMMIT_MESSAGES_FEW : COMMIT_MESSAGES_FEW);
  return isForCommits && !isSmall && now.commits > parentCommits * COMMITS_KEPT_MAX;
}

function hotKeyOf({ segment, reason, buckets }: Hot): HotKey[] {
  const dominant = findDominant(segment, buckets);
  return dominant === undefined ? [] : [{ segment: segment.segment, ...dominant, load: reason.load }];
}

/** Those of a longer window, and in the end of the segment's whole life, where a shorter one has seen nothing. */
function bucketsOf(view: LoadView, window: number): readonly number[] {
  return view.buckets.slice(window).find((buckets) => buckets.some((count) => count > 0)) ?? [];
}

/** A list of segments without one, or with one that can't be: nothing to plan on. */
export function assertTiles(segments: readonly ScaledSegment[]): void {
  const next = segments.reduce((expected, { lo, hi }) => (lo === expected && hi >= lo ? hi + 1 : Number.NaN), 0);
  if (next !== PARTITIONS) throw new Error('the open segments of a topic do not tile its partitions');
}
