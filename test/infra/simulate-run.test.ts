import { expect, test } from 'vitest';
import { createPanel, drawChart, shadeOf } from '../../infra/simulate/chart.ts';
import { createIntervalScaler } from '../../infra/simulate/interval-scaler.ts';
import { parseOptions } from '../../infra/simulate/options.ts';
import { measurePlans } from '../../infra/simulate/plan-time.ts';
import { formatAims, formatRows, judge } from '../../infra/simulate/report.ts';
import { runBoth } from '../../infra/simulate/run-both.ts';
import { runTrace } from '../../infra/simulate/run-trace.ts';
import type { Scaler } from '../../infra/simulate/scaler.ts';
import { settingsOf, type Trace } from '../../infra/simulate/trace.ts';
import { makeTrace, TRACE_NAMES } from '../../infra/simulate/traces.ts';
import { createWeights } from '../../infra/simulate/weights.ts';
import { createWorld, type SimulatedSegment } from '../../infra/simulate/world.ts';
import { PARTITIONS } from '../../src/model/limits.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { tiles } from '../topology/tiles.ts';

const even = createWeights(new Float64Array(PARTITIONS).fill(1));
const random = createSeededRandom(7);
/** A clock that stands still: what is measured with it is the same at each run. */
const still = (): number => 0;

/** Twelve minutes, the load in times the target: 1.6 over four segments, then `after`. */
function shortTrace(after: number): Trace {
  const flowAt = (second: number) => ({ messagesPerSecond: (second < 60 ? 1.6 : after) * 100, weights: even });
  return { name: 'short', seconds: 720, warmUpSeconds: 60, topics: 1, segments: 4, settings: settingsOf(100), rises: [60], flowAt };
}

test('the same seed, the same run, to the last figure and box', () => {
  const run = (seed: number) => runBoth(makeTrace('zipf', createSeededRandom(seed)), createSeededRandom(seed), still);
  expect(run(3)).toEqual(run(3));
  expect(run(3)).not.toEqual(run(4));
});

test("Kelp's planner relieves a step while the opponent still takes its averages", () => {
  const { ours, theirs, chart } = runBoth(shortTrace(16), random, still);
  expect(ours.score.reliefs).toMatchObject([{ reached: true }]);
  expect(ours.score.reliefs[0]?.seconds).toBeLessThan(60);
  expect(ours.score.oscillationsPerHour).toBe(0);
  expect(theirs.score.reliefs[0]?.seconds).toBeGreaterThan(100);
  const table = formatRows([ours, theirs]).split('\n');
  expect(table).toHaveLength(3);
  expect(table[1]).toContain('kelp');
  expect(formatAims(judge(ours, theirs)).split('\n')).toHaveLength(4);
  expect(chart).toContain('interval');
});

test('a scaler that never splits is not relieved, and one that flutters is found', () => {
  const planted = (decide: Scaler['decide']) => {
    const trace = shortTrace(16);
    const relieved: number[] = [];
    const run = runTrace({
      trace,
      scaler: { name: 'planted', decide },
      random,
      stopwatch: still,
      watch: ({ second, segments }) => segments.every(({ load }) => load <= 1) && relieved.push(second),
    });
    return { run, relieved };
  };
  expect(planted(() => []).relieved.at(-1)).toBe(59);
  const flutter = planted((segments, second) => {
    const [first, next] = segments as [SimulatedSegment, SimulatedSegment];
    if (second < 0) return [];
    if (second % 60 === 0) return [{ kind: 'split', id: first.id, cuts: [first.lo + 5] }];
    return second % 60 === 30 ? [{ kind: 'merge', ids: [first.id, next.id] }] : [];
  });
  expect(flutter.run.changes.map(({ kind, second }) => `${kind} ${second}`).slice(0, 3)).toEqual(['split 1', 'merge 31', 'split 61']);
});

test('a world counts what came, keeps its ranges tiled, and refuses a change of what is gone', () => {
  const world = createWorld(4, 0, random);
  for (let second = 0; second < 5; second += 1) world.pass({ messagesPerSecond: 40_000, weights: even });
  world.count();
  const messages = world.segments.map(({ load }) => load.messages);
  for (const count of messages) expect(Math.abs(count - 50_000)).toBeLessThan(1_500);
  for (const { load } of world.segments) expect(load.buckets.reduce((sum, count) => sum + count, 0)).toBe(load.messages);
  world.apply(
    [
      { kind: 'split', id: 0, cuts: [10, 20] },
      { kind: 'merge', ids: [2, 3] },
    ],
    6,
  );
  expect(tiles(world.segments)).toBe(true);
  expect(world.segments.map(({ lo, cameBy }) => [lo, cameBy])).toEqual([
    [0, 'split'],
    [10, 'split'],
    [20, 'split'],
    [16_384, 'other'],
    [32_768, 'merge'],
  ]);
  expect(world.lives.filter(({ until }) => until === 6)).toHaveLength(3);
  expect(() => world.apply([{ kind: 'split', id: 0, cuts: [10] }], 7)).toThrow('gone');
  expect(() => world.apply([{ kind: 'merge', ids: [1, 1] }], 7)).toThrow('gone');
  const [, second, , , last] = world.segments as SimulatedSegment[];
  expect(() => world.apply([{ kind: 'merge', ids: [second?.id ?? 0, last?.id ?? 0] }], 7)).toThrow('tile');
});

/** The opponent beside a constant rate in each of two segments, tick by tick; what it decides first. */
function intervalDecisions(rates: readonly [number, number], fromSecond: number, untilSecond: number) {
  const scaler = createIntervalScaler(settingsOf(100));
  const world = createWorld(2, 0, random);
  for (let second = fromSecond; second <= untilSecond; second += 5) {
    for (const [n, segment] of world.segments.entries()) {
      segment.load = { ...segment.load, messages: segment.load.messages + (rates[n] as number) * 5 };
    }
    const decisions = scaler.decide(world.segments, second);
    if (decisions.length > 0) return { second, decisions };
  }
  return undefined;
}

test('the opponent splits by its averages into equal parts, after ten minutes, and merges cold neighbours after twenty', () => {
  expect(intervalDecisions([350, 50], 5, 3_600)).toEqual({ second: 600, decisions: [{ kind: 'split', id: 0, cuts: [10_923, 21_846] }] });
  expect(intervalDecisions([101, 99], 5, 3_600)).toMatchObject({ second: 600, decisions: [{ kind: 'split', id: 0, cuts: [16_384] }] });
  expect(intervalDecisions([49, 49], 5, 3_600)).toEqual({ second: 1_205, decisions: [{ kind: 'merge', ids: [0, 1] }] });
  expect(intervalDecisions([51, 49], 5, 3_600)).toBeUndefined();
});

test('a chart has a box for as long as a segment and its shade stay', () => {
  const panel = createPanel('some <name>', 240);
  for (let second = 0; second < 240; second += 1) {
    const whole = { lo: 0, hi: 65_535, load: second < 60 ? 0.9 : 5, hottest: 0 };
    panel.watch({
      second,
      segments:
        second < 120
          ? [whole]
          : [
              { ...whole, hi: 9 },
              { ...whole, lo: 10 },
            ],
    });
  }
  expect(panel.boxes().map(({ lo, from, until }) => [lo, from, until])).toEqual([
    [0, 0, 60],
    [0, 60, 120],
    [0, 120, 240],
    [10, 120, 240],
  ]);
  const svg = drawChart('t & u', 240, [panel]);
  expect(svg.match(/<rect/g)).toHaveLength(5);
  expect(svg).toContain('some &lt;name>');
  expect(new Set([0, 0.1, 0.4, 0.9, 1.2, 2, 3, 5, 20].map(shadeOf)).size).toBe(9);
});

test('weights: all of it is 1, and the hottest partition of a range is found', () => {
  const hot = createWeights(new Float64Array(PARTITIONS).fill(1).with(100, PARTITIONS + 1));
  expect(hot.of({ lo: 0, hi: PARTITIONS - 1 })).toBeCloseTo(1);
  expect(hot.hottest({ lo: 0, hi: 200 })).toBeCloseTo(0.5, 3);
  expect(hot.hottest({ lo: 60_000, hi: 60_001 })).toBeLessThan(0.001);
});

test('planning alone is measured over as many segments as it is told', () => {
  expect(measurePlans(50, 1, still)).toMatchObject({ segments: 50, plan: { medianMs: 0, longestMs: 0 } });
});

test('options are taken, and what is wrong is said in one line', () => {
  expect(parseOptions([])).toEqual({ traces: TRACE_NAMES, seed: 1, out: 'dist/simulate' });
  expect(parseOptions(['--only', 'zipf,step', '--seed=7', '--out', 'x'])).toEqual({ traces: ['step', 'zipf'], seed: 7, out: 'x' });
  expect(parseOptions(['-h'])).toBeUndefined();
  for (const args of [['--only', 'steps'], ['--only='], ['--seed', '-1'], ['--seed', '1.5'], ['--seed='], ['--out='], ['--other'], ['x']]) {
    expect(() => parseOptions(args)).toThrow(/^.+$/);
  }
});
