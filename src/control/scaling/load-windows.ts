import type { Load } from '../../model/head.ts';
import type { SegmentId } from '../../model/ids.ts';
import { LOAD_BUCKETS } from '../../model/limits.ts';
import { LOAD_KNOWN_MS_MAX, LOAD_WINDOWS_MS } from '../../model/scaling-limits.ts';
import type { Rates } from '../../model/scaling.ts';

/** A head's counters, at a moment of the sampler's monotonic clock. */
export type LoadSample = { readonly atMs: number; readonly load: Load };

/**
 * A sum that fades. `weight` is what it would be had there been one of everything a second since the segment began, so that
 * the rate of a young segment is that of its own life, and not thinned by the time before it.
 */
type Average = { readonly weight: number; readonly rates: Rates; readonly buckets: readonly number[] };

/** What is known of one segment's load. Plain data. */
export type LoadWindows = {
  /** When it was made; where nobody has seen that, when it was seen first. */
  readonly bornMs: number;
  /** Since when its counters are looked at often enough. */
  readonly sinceMs: number;
  readonly sample: LoadSample;
  /** Between the last two samples, unsmoothed. */
  readonly latest: Rates;
  /** How long apart these are; absent: nobody knows any more. */
  readonly latestMs?: number;
  /** One for each of LOAD_WINDOWS_MS. */
  readonly averages: readonly Average[];
};

export type LoadView = {
  readonly ageMs: number;
  /** How long a time its counters are known of; 0: only what they are. */
  readonly observedMs: number;
  readonly sampleAgeMs: number;
  /** Between the last two samples, unsmoothed: whether a flood is still there. */
  readonly latest: Rates;
  /** How long apart these are; undefined: not known. */
  readonly latestMs: number | undefined;
  /** One for each of LOAD_WINDOWS_MS. */
  readonly rates: readonly Rates[];
  /** Messages by 16th of the range: one for each of LOAD_WINDOWS_MS, and since the segment was made. Only their proportions mean anything. */
  readonly buckets: readonly (readonly number[])[];
};

const NO_RATES: Rates = { messages: 0, bytes: 0, commits: 0 };
const NO_BUCKETS: readonly number[] = Array.from({ length: LOAD_BUCKETS }, () => 0);
const NOTHING: Average = { weight: 0, rates: NO_RATES, buckets: NO_BUCKETS };
const NEVER: Load = { ...NO_RATES, buckets: NO_BUCKETS };

/** `bornMs`: when the segment was made, if that was seen: its counters were 0 then, and its first sample says a rate. */
export function startWindows(sample: LoadSample, bornMs?: number): LoadWindows {
  const averages = LOAD_WINDOWS_MS.map(() => NOTHING);
  if (bornMs === undefined || bornMs >= sample.atMs)
    return { bornMs: sample.atMs, sinceMs: sample.atMs, sample, latest: NO_RATES, averages };
  return addSample({ bornMs, sinceMs: bornMs, sample: { atMs: bornMs, load: NEVER }, latest: NO_RATES, averages }, sample);
}

/**
 * What came since the last sample is taken to have come evenly, however long that was: samples may be missing. After more than
 * LOAD_KNOWN_MS_MAX that is a forecast and no observation of a flood: one begins anew. A head that was read before, or shows less than is
 * known, is a late answer and says nothing.
 */
export function addSample(windows: LoadWindows, sample: LoadSample): LoadWindows {
  const { atMs, load } = windows.sample;
  const seconds = (sample.atMs - atMs) / 1_000;
  if (seconds <= 0 || sample.load.messages < load.messages || sample.load.commits < load.commits) return windows;
  const rates = mapRates((measure) => (sample.load[measure] - load[measure]) / seconds);
  const buckets = sample.load.buckets.map((count, bucket) => (count - (load.buckets[bucket] ?? 0)) / seconds);
  const averages = windows.averages.map((average, window) => mix(average, { weight: 1, rates, buckets }, kept(window, seconds)));
  const sinceMs = seconds * 1_000 > LOAD_KNOWN_MS_MAX ? sample.atMs : windows.sinceMs;
  return { ...windows, sinceMs, sample, latest: rates, latestMs: seconds * 1_000, averages };
}

/** What holds at a moment after the last sample: silence fades by itself, whether anybody looks or not. */
export function viewAt(windows: LoadWindows, nowMs: number): LoadView {
  const { bornMs, sinceMs, sample, latest, latestMs, averages } = windows;
  const silentSeconds = Math.max(0, (nowMs - sample.atMs) / 1_000);
  return {
    ageMs: nowMs - bornMs,
    observedMs: sample.atMs - sinceMs,
    sampleAgeMs: nowMs - sample.atMs,
    latest,
    latestMs,
    rates: averages.map((average, window) => rateOf(average, kept(window, silentSeconds))),
    buckets: [...averages.map((average) => average.buckets), sample.load.buckets],
  };
}

/** A segment of the topic's list; `bornMs` as in {@link startWindows}. */
export type OpenSegment = { readonly segment: SegmentId; readonly bornMs?: number };

/**
 * The next state of a topic's windows: of every open segment that was sampled now or before. One that could not be read keeps
 * what is known of it; what is known of a replaced one ends.
 */
export function sampleSegments(
  known: ReadonlyMap<SegmentId, LoadWindows>,
  open: readonly OpenSegment[],
  samples: ReadonlyMap<SegmentId, LoadSample>,
): Map<SegmentId, LoadWindows> {
  const next = new Map<SegmentId, LoadWindows>();
  for (const { segment, bornMs } of open) {
    const windows = known.get(segment);
    const sample = samples.get(segment);
    if (sample === undefined && windows !== undefined) next.set(segment, windows);
    if (sample !== undefined) next.set(segment, windows === undefined ? startWindows(sample, bornMs) : addSample(windows, sample));
  }
  return next;
}

/** What is left of an average after some time. A smoothed value is as old, in the mean, as a plain one over twice its time. */
function kept(window: number, seconds: number): number {
  return Math.exp((-2_000 * seconds) / (LOAD_WINDOWS_MS[window] ?? 1));
}

function mix(old: Average, now: Average, keep: number): Average {
  const mixed = (a: number, b: number): number => a * keep + b * (1 - keep);
  return {
    weight: mixed(old.weight, now.weight),
    rates: mapRates((measure) => mixed(old.rates[measure], now.rates[measure])),
    buckets: old.buckets.map((value, bucket) => mixed(value, now.buckets[bucket] ?? 0)),
  };
}

function rateOf({ weight, rates }: Average, keep: number): Rates {
  if (weight === 0) return NO_RATES;
  const whole = weight * keep + 1 - keep;
  return mapRates((measure) => (rates[measure] * keep) / whole);
}

export const mapRates = (value: (measure: keyof Rates) => number): Rates => ({
  messages: value('messages'),
  bytes: value('bytes'),
  commits: value('commits'),
});
