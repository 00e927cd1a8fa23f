import { expect, test } from 'vitest';
import type { LoadView } from '../../../src/control/scaling/load-windows.ts';
import type { Throttling } from '../../../src/control/scaling/plan-merges.ts';
import { planScaling, type ScalingInput, type ScalingPlan } from '../../../src/control/scaling/plan-scaling.ts';
import type { ScaledSegment } from '../../../src/control/scaling/segment-load.ts';
import { segmentId } from '../../../src/model/ids.ts';
import {
  LOAD_KNOWN_MS_MAX,
  MERGE_COOL_DOWN_MS,
  SPLIT_COOL_DOWN_MS,
  THROTTLED_HASTE_MS,
  THROTTLED_KNOWN_MS,
} from '../../../src/model/scaling-limits.ts';
import { EVEN, ratesOf, segmentsOf, SETTINGS, viewOf } from './scaled-topic.ts';

function plan(segments: readonly ScaledSegment[], input: Partial<ScalingInput> = {}): ScalingPlan {
  return planScaling({ settings: SETTINGS, scheduledMin: 0, keptMin: 0, segments, state: {}, nowMs: 1e9, ...input });
}

/** One segment over everything. */
const alone = (changes: Partial<ScaledSegment>): ScaledSegment[] => segmentsOf([viewOf(0)]).map((segment) => ({ ...segment, ...changes }));
const SPLIT = { kind: 'split', segment: segmentId(0), at: 32_768 };
const MERGE = { kind: 'merge', segments: [segmentId(0), segmentId(1)] };

test('1.3 times the target makes two segments; the target itself none', () => {
  const { changes, held, hotKeys } = plan(alone({ view: viewOf(1_300) }));
  expect(changes).toEqual([{ ...SPLIT, reason: { why: 'over-target', load: 1.3, measure: 'messages' } }]);
  expect({ held, hotKeys }).toEqual({ held: [], hotKeys: [] });
  expect(plan(alone({ view: viewOf(1_000) })).changes).toEqual([]);
});

test.each(['messages', 'bytes', 'commits'] as const)('too many %s a second are too much', (measure) => {
  const rates = { messages: 0, bytes: 0, commits: 0, [measure]: 130 };
  const targets = { targetMessagesPerSecond: 1e9, targetBytesPerSecond: 1e9, targetCommitsPerSecond: 1e9 };
  const name = `target${measure[0]?.toUpperCase()}${measure.slice(1)}PerSecond`;
  const view = { ...viewOf(0), latest: rates, rates: [rates, rates, rates] };
  const { changes } = plan(alone({ view }), { settings: { ...SETTINGS, ...targets, [name]: 100 } });
  expect(changes).toEqual([{ ...SPLIT, reason: { why: 'over-target', load: 1.3, measure } }]);
});

test('a flood has to last, unless it is severe; one that has ended splits nothing any more', () => {
  expect(plan(alone({ view: viewOf(0, { windows: [3_000, 900, 200] }) })).changes).toEqual([]);
  expect(plan(alone({ view: viewOf(0, { windows: [900, 3_000, 200] }) })).changes).toEqual([]);
  expect(plan(alone({ view: viewOf(0, { windows: [4_000, 900, 200] }) })).changes).toMatchObject([{ reason: { why: 'severe', load: 4 } }]);
  expect(plan(alone({ view: viewOf(0, { windows: [4_000, 3_000, 200], latest: ratesOf(900) }) })).changes).toEqual([]);
});

test('a young segment is left alone, unless the flood is severe or the table throttles it', () => {
  const young = { ageMs: SPLIT_COOL_DOWN_MS - 1, observedMs: SPLIT_COOL_DOWN_MS - 1 };
  expect(plan(alone({ view: viewOf(3_900, young) }))).toMatchObject({ changes: [], held: [{ why: 'cool-down', load: 3.9 }] });
  expect(plan(alone({ view: viewOf(3_900, { ageMs: SPLIT_COOL_DOWN_MS }) })).changes).toMatchObject([SPLIT]);
  expect(plan(alone({ view: viewOf(4_000, young) })).changes).toMatchObject([SPLIT]);
  expect(plan(alone({ view: viewOf(100, young), throttled: true })).changes).toMatchObject([{ ...SPLIT, reason: { why: 'throttled' } }]);
  // So little is not what the table can't take.
  expect(plan(alone({ view: viewOf(50, young), throttled: true })).changes).toEqual([]);
});

test('where the table has throttled twice as much a moment ago, a young segment is not left alone, and to know it a second is enough', () => {
  const young = { ageMs: 1_000, observedMs: 1_000 };
  const planned = (load: number, agoMs: number): ScalingPlan =>
    plan(alone({ view: viewOf(1_300, young) }), { state: { throttling: { load, atMs: 1e9 - agoMs } } });
  expect(planned(2.6, THROTTLED_HASTE_MS - 1).changes).toMatchObject([{ ...SPLIT, reason: { why: 'over-target' } }]);
  expect(planned(1.3, THROTTLED_HASTE_MS)).toMatchObject({ changes: [], held: [{ why: 'not-known' }] });
  expect(planned(2.61, 0)).toMatchObject({ changes: [], held: [{ why: 'not-known' }] });
  const older = { view: viewOf(1_300, { ageMs: 2_000, observedMs: 2_000 }) };
  expect(plan(alone(older), { state: { throttling: { load: 2.61, atMs: 1e9 } } }).held).toMatchObject([{ why: 'cool-down' }]);
  const beside = segmentsOf([viewOf(1_300, young), viewOf(1_400, young)]).map((segment, n) => ({ ...segment, throttled: n === 0 }));
  expect(plan(beside).changes).toMatchObject([{ reason: { why: 'throttled' } }, { reason: { why: 'throttled' } }]);

  const observed = (observedMs: number, throttled: boolean): ScalingPlan =>
    plan(alone({ view: viewOf(5_000, { ageMs: observedMs, observedMs }), throttled }));
  expect(observed(1_000, true).changes).toMatchObject([SPLIT]);
  expect(observed(999, true)).toMatchObject({ changes: [], held: [{ why: 'not-known' }] });
  expect(observed(1_999, false)).toMatchObject({ changes: [], held: [{ why: 'not-known' }] });
  expect(observed(2_000, false).changes).toMatchObject([{ reason: { why: 'severe' } }]);
});

test('nothing is decided of a segment that is being changed, or that nobody has read lately', () => {
  const flood = viewOf(9_000);
  expect(plan(alone({ view: flood, busy: true }))).toMatchObject({ changes: [], held: [{ why: 'busy' }] });
  expect(plan(alone({ view: { ...flood, observedMs: 0 } }))).toMatchObject({ changes: [], held: [{ why: 'not-known' }] });
  expect(plan(alone({ view: { ...flood, sampleAgeMs: LOAD_KNOWN_MS_MAX + 1 } }))).toMatchObject({
    changes: [],
    held: [{ why: 'not-known' }],
  });
  expect(plan(alone({ view: undefined })).changes).toEqual([]);
  for (const stale of [{ sampleAgeMs: LOAD_KNOWN_MS_MAX + 1 }, { observedMs: 0 }]) {
    expect(plan(segmentsOf([viewOf(0), viewOf(0, stale)])).changes).toEqual([]);
  }
  expect(plan(segmentsOf([viewOf(0), viewOf(0)]).map((segment, n) => ({ ...segment, busy: n === 1 }))).changes).toEqual([]);
  expect(plan(segmentsOf([viewOf(0), undefined])).changes).toEqual([]);
});

test('the hottest segments are split first where not all may be', () => {
  const segments = segmentsOf([1_200, 2_000, 1_500, 900].map((rate) => viewOf(rate)));
  const { changes, held } = plan(segments, { settings: { ...SETTINGS, maxSegments: 6 } });
  expect(changes).toMatchObject([{ segment: segmentId(1) }, { segment: segmentId(2) }]);
  expect(held).toEqual([{ segment: segmentId(0), why: 'limit', load: 1.2 }]);
});

test('a hot partition is reported, and not split in vain; a hot bucket is, to find it', () => {
  const buckets = [0, 0, 0, 0].map(() => EVEN.map((_, n) => (n === 5 ? 99 : 0.01)));
  const wide = plan(alone({ view: viewOf(5_000, { buckets }) }));
  expect(wide.changes).toMatchObject([{ kind: 'split' }]);
  expect(wide.hotKeys).toEqual([{ segment: segmentId(0), lo: 20_480, hi: 24_575, share: expect.closeTo(0.998, 2), load: 5 }]);
  const [lower, upper] = segmentsOf([viewOf(100), viewOf(100)]) as [ScaledSegment, ScaledSegment];
  const parts = [
    { ...lower, hi: 99 },
    { ...lower, segment: segmentId(7), lo: 100, hi: 115, view: viewOf(5_000, { buckets }) },
    { ...upper, lo: 116 },
  ];
  const found = plan(parts);
  expect(found.hotKeys).toMatchObject([{ segment: segmentId(7), lo: 105, hi: 105 }]);
  expect(found).toMatchObject({ changes: [], held: [{ segment: segmentId(7), why: 'hot-key', load: 5 }] });
  const single = [
    { ...lower, hi: 99 },
    { ...lower, segment: segmentId(7), lo: 100, hi: 100, view: viewOf(5_000) },
    { ...upper, lo: 101 },
  ];
  expect(plan(single)).toMatchObject({ changes: [], held: [{ why: 'one-partition' }] });
  expect(plan(alone({ view: viewOf(500, { buckets }) })).hotKeys).toEqual([]);
});

test('a segment that was split for its commits in vain is not split for them again', () => {
  const rates = { messages: 900, bytes: 0, commits: 130 };
  const view = { ...viewOf(0), latest: rates, rates: [rates, rates, rates] };
  const settings = { ...SETTINGS, targetCommitsPerSecond: 100 };
  expect(plan(alone({ view, parentCommits: 135 }), { settings })).toMatchObject({ changes: [], held: [{ why: 'in-vain' }] });
  expect(plan(alone({ view, parentCommits: 260 }), { settings }).changes).toMatchObject([SPLIT]);
  const forMessages = { ...settings, targetMessagesPerSecond: 600 };
  expect(plan(alone({ view, parentCommits: 135 }), { settings: forMessages }).changes).toMatchObject([{ reason: { measure: 'messages' } }]);
});

test('a throttled segment that carries little is halved once, and again only if that took commits from it', () => {
  const rates = { messages: 200, bytes: 0, commits: 12 };
  const view = { ...viewOf(0), latest: rates, rates: [rates, rates, rates] };
  const settings = { ...SETTINGS, targetMessagesPerSecond: 10_000, targetCommitsPerSecond: 100 };
  const throttled = { view, throttled: true };
  expect(plan(alone(throttled), { settings }).changes).toMatchObject([SPLIT]);
  expect(plan(alone({ ...throttled, parentCommits: 24 }), { settings }).changes).toMatchObject([SPLIT]);
  expect(plan(alone({ ...throttled, parentCommits: 13 }), { settings })).toMatchObject({ changes: [], held: [{ why: 'in-vain' }] });
  const much = { ...settings, targetMessagesPerSecond: 300 };
  expect(plan(alone({ ...throttled, parentCommits: 13 }), { settings: much }).changes).toMatchObject([SPLIT]);
});

test('commits of few messages are never halved in vain, whatever the parent had: the table took no more, or the flood had only begun', () => {
  const settings = { ...SETTINGS, targetMessagesPerSecond: 10_000, targetCommitsPerSecond: 10 };
  const of = (messages: number, throttled: boolean): ScalingPlan => {
    const rates = { messages, bytes: 0, commits: 15 };
    return plan(alone({ view: { ...viewOf(0), latest: rates, rates: [rates, rates, rates] }, throttled, parentCommits: 13 }), { settings });
  };
  expect(of(30, false).changes).toMatchObject([{ ...SPLIT, reason: { why: 'over-target', measure: 'commits' } }]);
  expect(of(31, false)).toMatchObject({ changes: [], held: [{ why: 'in-vain' }] });
  expect(of(120, true).changes).toMatchObject([{ ...SPLIT, reason: { why: 'throttled' } }]);
  expect(of(121, true)).toMatchObject({ changes: [], held: [{ why: 'in-vain' }] });
});

test('quiet neighbours merge, up to six tenths of the target in every window', () => {
  const pair = (windows: readonly number[]): ScaledSegment[] => segmentsOf([viewOf(0, { windows }), viewOf(0, { windows })]);
  const { changes } = plan(pair([100, 200, 300]));
  expect(changes).toEqual([{ ...MERGE, reason: { why: 'quiet', load: 0.6, loadMax: 0.6, average: 0.6 } }]);
  for (const windows of [
    [301, 0, 0],
    [0, 301, 0],
    [0, 0, 301],
  ])
    expect(plan(pair(windows)).changes).toEqual([]);
});

test('after a time in which nobody looked, what came in it merges by all of it at once, and splits nothing', () => {
  const gap = (perSecond: number): ScaledSegment[] => {
    const view = viewOf(perSecond, { observedMs: 0, latestMs: 200_000 });
    return segmentsOf([view, view]);
  };
  expect(plan(gap(0)).changes).toMatchObject([MERGE]);
  // 600 together in the shortest window, were it all that it had.
  expect(plan(gap(15)).changes).toMatchObject([{ ...MERGE, reason: { load: 0.6 } }]);
  expect(plan(gap(16)).changes).toEqual([]);
  expect(plan(gap(9_000))).toMatchObject({ changes: [], held: [{ why: 'not-known' }, { why: 'not-known' }] });
  // Long ago, that says nothing either.
  expect(
    plan(segmentsOf([viewOf(0, { observedMs: 0, latestMs: 200_000, sampleAgeMs: LOAD_KNOWN_MS_MAX + 1 }), viewOf(0)])).changes,
  ).toEqual([]);
});

test('only pairs below the average merge, the quietest first, and no more than a third of the segments', () => {
  const rates = [100, 100, 900, 20, 10, 900, 900, 250, 250, 900, 900, 5];
  const { changes } = plan(segmentsOf(rates.map((rate) => viewOf(rate))));
  expect(changes).toMatchObject([
    { kind: 'merge', segments: [segmentId(3), segmentId(4)] },
    { kind: 'merge', segments: [segmentId(0), segmentId(1)] },
  ]);
  expect(plan(segmentsOf(Array.from({ length: 12 }, () => viewOf(0)))).changes).toMatchObject([
    { segments: [segmentId(0), segmentId(1)] },
    { segments: [segmentId(2), segmentId(3)] },
  ]);
  expect(plan(segmentsOf(Array.from({ length: 1_024 }, () => viewOf(0)))).changes).toHaveLength(170);
});

test('all the same and more than are needed: no dead zone', () => {
  expect(plan(segmentsOf(Array.from({ length: 16 }, () => viewOf(50)))).changes).toHaveLength(2);
  // Two carry what two of three would have to, and one more is no waste worth a change.
  expect(plan(segmentsOf([300, 300, 300].map((rate) => viewOf(rate)))).changes).toEqual([]);
});

test('what came by a split waits long before it merges, what came by a merge does not', () => {
  const pair = (ageMs: number, cameBy: ScaledSegment['cameBy']): ScaledSegment[] =>
    segmentsOf([viewOf(0), viewOf(0, { ageMs })]).map((segment) => ({ ...segment, cameBy }));
  expect(plan(pair(MERGE_COOL_DOWN_MS - 1, 'split')).changes).toEqual([]);
  expect(plan(pair(MERGE_COOL_DOWN_MS - 1, 'other')).changes).toEqual([]);
  expect(plan(pair(MERGE_COOL_DOWN_MS, 'split')).changes).toMatchObject([MERGE]);
  expect(plan(pair(60_000, 'merge')).changes).toMatchObject([MERGE]);
  expect(plan(pair(59_999, 'merge')).changes).toEqual([]);
});

test('never below the minimum of the settings, of the schedule, or of what is due soon', () => {
  const quiet = segmentsOf(Array.from({ length: 8 }, () => viewOf(0)));
  expect(plan(quiet, { settings: { ...SETTINGS, minSegments: 8 } }).changes).toEqual([]);
  expect(plan(quiet, { scheduledMin: 8 }).changes).toEqual([]);
  expect(plan(quiet, { keptMin: 8 }).changes).toEqual([]);
  expect(plan(quiet, { keptMin: 9 }).changes).toEqual([]);
  expect(plan(quiet, { settings: { ...SETTINGS, minSegments: 7 } }).changes).toMatchObject([{ kind: 'merge' }]);
});

test('missing segments come from those that carry most, of the same load the widest, where messages went so far', () => {
  const buckets = [...[0, 0, 0].map(() => EVEN.map(() => 0)), EVEN.map((_, n) => (n < 2 ? 8 : 0))];
  const segments = segmentsOf([viewOf(0), viewOf(10, { buckets }), viewOf(0)]);
  const { changes } = plan(segments, { scheduledMin: 5 });
  expect(changes).toEqual([
    { kind: 'split', segment: segmentId(1), at: 21_846 + 1_366, reason: { why: 'minimum', load: 0.01, minSegments: 5 } },
    { kind: 'split', segment: segmentId(0), at: 10_923, reason: { why: 'minimum', load: 0, minSegments: 5 } },
  ]);
  expect(plan(segments, { scheduledMin: 5, settings: { ...SETTINGS, maxSegments: 4 } }).changes).toHaveLength(1);
  expect(plan(segments, { scheduledMin: 500 }).changes).toHaveLength(3);
  const [lower, upper] = segmentsOf([viewOf(0), viewOf(0)]) as [ScaledSegment, ScaledSegment];
  const uneven = [
    { ...lower, hi: 99 },
    { ...upper, lo: 100 },
  ];
  expect(plan(uneven, { scheduledMin: 3 }).changes).toMatchObject([{ segment: upper.segment, reason: { why: 'minimum' } }]);
});

test('what the table throttled is not merged up to there again within the hour', () => {
  const nowMs = 1e9;
  const [first] = segmentsOf([viewOf(400)]) as [ScaledSegment];
  const { state } = plan([{ ...first, throttled: true }], { nowMs });
  expect(state).toEqual({ throttling: { load: 0.4, atMs: nowMs } });
  const pair = segmentsOf([viewOf(200), viewOf(200)]);
  expect(plan(pair, { state, nowMs: nowMs + 1 }).changes).toEqual([]);
  expect(plan(segmentsOf([viewOf(100), viewOf(100)]), { state, nowMs: nowMs + 1 }).changes).toMatchObject([MERGE]);
  // The lowest load counts, and for an hour from the last time.
  expect(plan([{ ...first, throttled: true }], { state: { throttling: { load: 0.2, atMs: nowMs - 1 } }, nowMs }).state.throttling).toEqual({
    load: expect.closeTo(0.2, 6),
    atMs: nowMs,
  });
  // What is throttled and may not be split is not merged either.
  const full = { ...SETTINGS, maxSegments: 2 };
  expect(
    plan(
      pair.map((segment, n) => ({ ...segment, throttled: n === 0 })),
      { settings: full },
    ),
  ).toMatchObject({ changes: [], held: [{ why: 'limit' }] });
  const later = plan(pair, { state, nowMs: nowMs + THROTTLED_KNOWN_MS });
  expect(later).toMatchObject({ changes: [MERGE], state: {} });
  expect(plan(pair.map((segment) => ({ ...segment, throttled: true }))).changes).toMatchObject([{ kind: 'split' }, { kind: 'split' }]);
});

test('as a flood begins, what is throttled is what comes now, and not what came before: nothing of it is kept from merging for long', () => {
  const nowMs = 1e9;
  const remembered = (
    view: Partial<LoadView> & { readonly windows: readonly number[] },
    throttling?: Throttling,
  ): Throttling | undefined => {
    const segments = alone({ view: viewOf(0, view), throttled: true });
    return plan(segments, { nowMs, ...(throttling === undefined ? {} : { state: { throttling } }) }).state.throttling;
  };
  const windows = [100, 20, 4];
  expect(remembered({ windows, latest: ratesOf(900), latestMs: 2_000 })).toEqual({ load: 0.9, atMs: nowMs });
  // Most of that time there was no flood.
  expect(remembered({ windows, latest: ratesOf(100), latestMs: 120_000 })).toBeUndefined();
  // What was low once is raised by what is refused later: all of the way in an hour.
  const raised = (agoMs: number): number =>
    remembered({ windows: [900, 900, 900] }, { load: 0.1, atMs: nowMs - agoMs })?.load ?? Number.NaN;
  expect(raised(0)).toBe(0.1);
  expect(raised(THROTTLED_KNOWN_MS / 4)).toBeCloseTo(0.3);
  expect(raised(THROTTLED_KNOWN_MS)).toBe(0.9);
});

test('a list that does not tile is not planned on', () => {
  const [lower, upper] = segmentsOf([viewOf(0), viewOf(0)]) as [ScaledSegment, ScaledSegment];
  expect(() => plan([lower])).toThrow('tile');
  expect(() => plan([lower, { ...upper, lo: upper.lo + 1 }])).toThrow('tile');
  expect(() => plan([])).toThrow('tile');
});
