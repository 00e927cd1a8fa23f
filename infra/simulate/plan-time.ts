import { addSample, type LoadWindows, startWindows, viewAt } from '../../src/control/scaling/load-windows.ts';
import { planScaling } from '../../src/control/scaling/plan-scaling.ts';
import type { Load } from '../../src/model/head.ts';
import { LOAD_BUCKETS } from '../../src/model/limits.ts';
import { equalRanges } from '../../src/topology/plan-change.ts';
import { createSeededRandom, type SeededRandom } from '../../test/simulation/seeded-random.ts';
import { settingsOf } from './trace.ts';

/** Median and longest, in milliseconds. */
export type Times = { readonly medianMs: number; readonly longestMs: number };
export type PlanTimes = { readonly segments: number; readonly changes: number; readonly sample: Times; readonly plan: Times };

const ROUNDS = 40;
const ROUND_MS = 15_000;
const TARGET = 1_000;
/** One segment in so many is over its target. */
const HOT_EVERY = 10;

/** Rounds over one list of so many segments, more than a topic may have: some are too hot, the others are quiet. */
export function measurePlans(segments: number, seed: number, stopwatch: () => number): PlanTimes {
  const random = createSeededRandom(seed);
  const ranges = equalRanges(segments, 0);
  const settings = { ...settingsOf(TARGET), maxSegments: 2 * segments };
  let loads: Load[] = ranges.map(() => ({ messages: 0, bytes: 0, commits: 0, buckets: Array.from({ length: LOAD_BUCKETS }, () => 0) }));
  let windows: LoadWindows[] = loads.map((load) => startWindows({ atMs: 0, load }));
  const sampleMs: number[] = [];
  const planMs: number[] = [];
  let changes = 0;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const nowMs = round * ROUND_MS;
    loads = loads.map((load, n) => grown(load, n % HOT_EVERY === 0 ? 8 : 0.2, random));
    const begunMs = stopwatch();
    windows = windows.map((known, n) => addSample(known, { atMs: nowMs, load: loads[n] as Load }));
    const sampledMs = stopwatch();
    const views = ranges.map((range, n) => {
      return { ...range, view: viewAt(windows[n] as LoadWindows, nowMs), cameBy: 'other' as const, throttled: false, busy: false };
    });
    changes = planScaling({ settings, scheduledMin: 0, keptMin: 0, segments: views, state: {}, nowMs }).changes.length;
    planMs.push(stopwatch() - sampledMs);
    sampleMs.push(sampledMs - begunMs);
  }
  return { segments, changes, sample: timesOf(sampleMs), plan: timesOf(planMs) };
}

function grown(load: Load, times: number, random: SeededRandom): Load {
  const perBucket = ((TARGET * ROUND_MS) / 1_000 / LOAD_BUCKETS) * times;
  const came = load.buckets.map(() => Math.floor(2 * perBucket * random.fraction()));
  const messages = came.reduce((sum, count) => sum + count, 0);
  return {
    messages: load.messages + messages,
    bytes: load.bytes + messages,
    commits: load.commits + 1,
    buckets: load.buckets.map((count, bucket) => count + (came[bucket] ?? 0)),
  };
}

function timesOf(ms: readonly number[]): Times {
  const sorted = ms.toSorted((a, b) => a - b);
  return { medianMs: sorted[Math.floor(sorted.length / 2)] ?? 0, longestMs: sorted.at(-1) ?? 0 };
}
