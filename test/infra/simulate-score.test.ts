import { expect, test } from 'vitest';
import { judge, type Row } from '../../infra/simulate/report.ts';
import type { Instant } from '../../infra/simulate/run-trace.ts';
import { combineScores, countOscillations, createWatcher, isRelieved, meanRelief, type Score } from '../../infra/simulate/score.ts';
import type { DoneChange } from '../../infra/simulate/world.ts';

/** Segments with these loads; of a pair, the second is what the hottest partition carries. */
const loads = (...some: readonly (number | readonly [number, number])[]): Instant['segments'] =>
  some.map((one, n) =>
    typeof one === 'number' ? { lo: n, hi: n, load: one, hottest: 0 } : { lo: n, hi: n, load: one[0], hottest: one[1] },
  );
const split = (second: number, ...cuts: readonly number[]): DoneChange => ({
  second,
  kind: 'split',
  cuts,
  sealed: 1,
  made: cuts.length + 1,
});
const merge = (second: number, cut: number): DoneChange => ({ second, kind: 'merge', cuts: [cut], sealed: 2, made: 1 });

test('a topic is relieved where nobody is over the target, or all are so evenly', () => {
  expect(isRelieved(loads(0.9, 0.1, 0))).toBe(true);
  expect(isRelieved(loads(1.4, 1.4, 1.3))).toBe(true);
  expect(isRelieved(loads())).toBe(true);
  // The average is far below, and one is not.
  expect(isRelieved(loads(1.01, 0.1, 0.1))).toBe(false);
  // Even, and all of it too much.
  expect(isRelieved(loads(6, 6))).toBe(false);
  expect(isRelieved(loads(1.51, 1.51))).toBe(false);
  expect(isRelieved(loads(1.4, 1.4, 0.4))).toBe(true);
  expect(isRelieved(loads(1.4, 1.4, 0.1, 0.1))).toBe(false);
});

test('what one partition carries needs no relief, its neighbours do', () => {
  expect(isRelieved(loads([5.4, 5], 0.5))).toBe(true);
  expect(isRelieved(loads([5.6, 5], 0.5))).toBe(false);
  // Nor does it lift the average behind which others hide.
  expect(isRelieved(loads([50, 50], 1.2, 0.1))).toBe(false);
});

/** A watcher that has seen these loads, one instant a second from 0 on. */
function watched(rises: readonly number[], instants: readonly Instant['segments'][]) {
  const watcher = createWatcher(rises);
  instants.forEach((segments, second) => watcher.watch({ second, segments }));
  return (changes: readonly DoneChange[] = [], seconds = instants.length): Score =>
    watcher.score({ seconds, changes, lives: [], planMs: [1, 5, 3] });
}

test('relief is counted from each rise to the first relieved second, and up to the next rise where there is none', () => {
  const calm = loads(0.5);
  const flood = loads(3);
  const score = watched([2, 5, 8], [calm, calm, flood, flood, calm, flood, flood, flood, calm, calm])();
  expect(score.reliefs).toEqual([
    { at: 2, seconds: 2, reached: true },
    { at: 5, seconds: 3, reached: false },
    { at: 8, seconds: 0, reached: true },
  ]);
  expect(meanRelief(score)).toBeCloseTo(5 / 3);
  expect(watched([1], [calm, flood, flood])().reliefs).toEqual([{ at: 1, seconds: 2, reached: false }]);
  expect(meanRelief(watched([], [calm])())).toBeUndefined();
});

test('peak, overload and segments are those of every second', () => {
  const score = watched([], [loads(0.5), loads(3, 1.5, 0.2), loads([9, 8.5], 1)])();
  expect(score).toMatchObject({ peakLoad: 9, overloadSeconds: 2 + 0.5 + 0.5, segmentsMax: 3, segmentsEnd: 2, planMsMax: 5, planMsMean: 3 });
});

test('changes are counted an hour: one for each, its borders, and the segments that were left', () => {
  const score = watched([], [])([split(10, 1, 2, 3), merge(700, 2), merge(900, 9)], 1_800);
  expect(score).toMatchObject({ changesPerHour: 6, cutsPerHour: 10, sealedPerHour: 10, oscillationsPerHour: 0 });
});

test('a border that comes and goes within ten minutes is an oscillation, however the segments are called by then', () => {
  expect(countOscillations([split(0, 100), merge(599, 100)])).toBe(1);
  expect(countOscillations([split(0, 100), merge(600, 100)])).toBe(0);
  expect(countOscillations([split(0, 100), merge(500, 200)])).toBe(0);
  // Merged first, then split there again: no.
  expect(countOscillations([merge(0, 100), split(10, 100)])).toBe(0);
  expect(countOscillations([split(0, 100), merge(700, 100), split(800, 100), merge(900, 100)])).toBe(1);
  expect(countOscillations([split(0, 100, 200, 300), merge(10, 300), merge(20, 100)])).toBe(2);
});

test('of several topics it is the mean, and the worst of what has a worst', () => {
  const a = watched([0], [loads(0.5)])([split(0, 5)], 3_600);
  const b = watched([0], [loads(4, 4)])([], 3_600);
  expect(combineScores([a, b])).toMatchObject({
    cutsPerHour: 0.5,
    peakLoad: 4,
    overloadSeconds: 3,
    segmentsMax: 2,
    reliefs: [{ reached: true }, { reached: false }],
  });
});

test('an aim is met by the figures alone: five times as fast, no more borders, no oscillation', () => {
  const base = watched([0], [loads(4)])([split(0, 5)], 3_600);
  const row = (scaler: string, changes: Partial<Score>): Row => ({ trace: 't', scaler, score: { ...base, ...changes } });
  const relief = (seconds: number): Score['reliefs'] => [{ at: 0, seconds, reached: true }];
  const met = (ours: Partial<Score>, theirs: Partial<Score>): boolean[] => judge(row('a', ours), row('b', theirs)).map((aim) => aim.met);
  expect(met({ reliefs: relief(20) }, { reliefs: relief(100) })).toEqual([true, true, true]);
  expect(met({ reliefs: relief(21) }, { reliefs: relief(100) })).toEqual([false, true, true]);
  expect(met({ reliefs: [], cutsPerHour: 1.01 }, { reliefs: [] })).toEqual([false, true]);
  expect(met({ reliefs: [], oscillationsPerHour: 0.01 }, { reliefs: [] })).toEqual([true, false]);
});
