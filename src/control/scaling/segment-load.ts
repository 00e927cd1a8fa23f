import {
  AS_THROTTLED_LOAD_MIN,
  LOAD_KNOWN_MS_MAX,
  LOAD_OBSERVED_MS_MIN,
  LOAD_WINDOWS_MS,
  THROTTLED_LOAD_MIN,
} from '../../model/scaling-limits.ts';
import type { Measure, Rates, ScalingTargets } from '../../model/scaling.ts';
import type { SegmentRange } from '../../model/topic.ts';
import { type LoadView, mapRates } from './load-windows.ts';

/** An open segment as a plan sees it. */
export type ScaledSegment = SegmentRange & {
  /** Undefined: its head was never read. */
  readonly view: LoadView | undefined;
  /** `other`: creation, fail-over, drain, or nobody knows. */
  readonly cameBy: 'split' | 'merge' | 'other';
  /** Commits a second of the segment that it was split from, at that time. */
  readonly parentCommits?: number;
  /** Whether brokers say that the table throttles it. */
  readonly throttled: boolean;
  /** Whether a pending change has it. */
  readonly busy: boolean;
};

/** Times the target, of the measure that is highest. */
export function loadOf(rates: Rates, targets: ScalingTargets): number {
  return Math.max(volumeOf(rates, targets), rates.commits / targets.targetCommitsPerSecond);
}

/** That measure. */
export function measureOf(rates: Rates, targets: ScalingTargets): Measure {
  const load = loadOf(rates, targets);
  if (load === rates.bytes / targets.targetBytesPerSecond) return 'bytes';
  return load === rates.messages / targets.targetMessagesPerSecond ? 'messages' : 'commits';
}

/** Times the target by messages and bytes alone: halved by each split, as commits may not be. */
export function volumeOf(rates: Rates, targets: ScalingTargets): number {
  return Math.max(rates.messages / targets.targetMessagesPerSecond, rates.bytes / targets.targetBytesPerSecond);
}

/** In the window in which it carries most. */
export function forecastOf(view: LoadView | undefined, targets: ScalingTargets): number {
  let most = 0;
  for (const rates of view?.rates ?? []) most = Math.max(most, loadOf(rates, targets));
  return most;
}

export const addRates = (a: Rates, b: Rates): Rates => mapRates((measure) => a[measure] + b[measure]);

/** What its view is worth deciding by: read lately, and over some time. */
export function isKnown(view: LoadView | undefined, observedMsMin = LOAD_OBSERVED_MS_MIN): view is LoadView {
  return view !== undefined && view.observedMs >= observedMsMin && view.sampleAgeMs <= LOAD_KNOWN_MS_MAX;
}

/**
 * The same to be merged by: counters don't forget, so all that came in a time in which nobody looked is known, and only when it
 * came is not. It is taken to have come in the shortest window: a flood that has just begun is merged by nobody.
 */
export function knownForMerging(view: LoadView | undefined): LoadView | undefined {
  const unseenMs = view?.latestMs ?? 0;
  if (view === undefined || view.sampleAgeMs > LOAD_KNOWN_MS_MAX || unseenMs <= LOAD_KNOWN_MS_MAX) return isKnown(view) ? view : undefined;
  const times = unseenMs / LOAD_WINDOWS_MS[0];
  const [, ...longer] = view.rates;
  return { ...view, rates: [mapRates((measure) => view.latest[measure] * times), ...longer] };
}

/** The load at which the table throttles it. Undefined: it doesn't, or so little can't be what is too much for the table. */
export function throttledLoad(segment: ScaledSegment, targets: ScalingTargets): number | undefined {
  const load = segment.throttled ? carriedLoad(segment, targets) : undefined;
  return load !== undefined && load >= THROTTLED_LOAD_MIN ? load : undefined;
}

/** As a flood begins, what is smoothed is next to nothing. */
function carriedLoad({ view }: ScaledSegment, targets: ScalingTargets): number | undefined {
  const [now] = view?.rates ?? [];
  return view === undefined || now === undefined ? undefined : Math.max(loadOf(now, targets), loadOf(view.latest, targets));
}

/**
 * The table has the same room for each: one that carries as much as another that is throttled is so, too. Whoever says so may have
 * written to one of them alone, as an instance of a function does.
 */
export function withAsThrottled(segments: readonly ScaledSegment[], targets: ScalingTargets): readonly ScaledSegment[] {
  const least = Math.min(...segments.flatMap((segment) => throttledLoad(segment, targets) ?? []));
  const enough = Math.max(least, AS_THROTTLED_LOAD_MIN);
  return segments.map((segment) => ((carriedLoad(segment, targets) ?? 0) < enough ? segment : { ...segment, throttled: true }));
}
