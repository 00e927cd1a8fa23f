import { describe, expect, test } from 'vitest';
import { checkHistory } from '../checkers/check-history.ts';
import { tiles } from '../topology/tiles.ts';
import { type Simulated, type SimulationOptions, simulateLog } from './simulate-log.ts';

// More seeds, from another one on: KELP_SIMULATION_SEEDS=1000 KELP_SIMULATION_FROM=21 npx vitest run test/simulation/log.test.ts
const SEEDS = Number(process.env['KELP_SIMULATION_SEEDS'] ?? 20);
const FROM = Number(process.env['KELP_SIMULATION_FROM'] ?? 1);
const HOUR_MS = 3_600_000;

const OPTIONS: SimulationOptions = {
  brokers: 3,
  faults: { share: 0.25, msMax: 3_000 },
  crashMs: 2_500,
  skewMsMax: HOUR_MS,
  faultyMs: 8_000,
  segments: 2,
  plainWriters: 2,
  producers: 3,
  keyedWriters: 2,
  matchingWriters: 1,
  uploadWriters: 1,
  readers: 1,
  changers: 1,
};
/** One segment that stays, with more producers than a head holds. */
const CROWDED: SimulationOptions = { ...OPTIONS, segments: 1, changers: 0, producers: 8, plainWriters: 1, keyedWriters: 1 };

const seeds = Array.from({ length: SEEDS }, (_, n) => FROM + n);

describe('simulated log', () => {
  test.each(seeds)('seed %i keeps every promise under all faults', async (seed) => {
    const { history, surprises, open, topology } = await simulateLog(seed, OPTIONS);
    expect(checkHistory(history)).toEqual([]);
    expect([surprises, topology]).toEqual([[], []]);
    expect(tiles(open)).toBe(true);
  });

  test.each(seeds.slice(0, Math.ceil(SEEDS / 4)))('seed %i keeps every promise to more producers than a head holds', async (seed) => {
    const { history, surprises } = await simulateLog(seed, CROWDED);
    expect(checkHistory(history)).toEqual([]);
    expect(surprises).toEqual([]);
  });

  test('without faults keeps them, too, and refuses nothing', async () => {
    const calm = { ...OPTIONS, faults: { share: 0, msMax: 0 }, crashMs: 1e9, skewMsMax: 0, matchingWriters: 0 };
    const { history, surprises, counts } = await simulateLog(0, calm);
    expect(checkHistory(history)).toEqual([]);
    expect([surprises, counts.faults, counts.crashes]).toEqual([[], 0, 0]);
    expect(new Set(history.publishes.map(({ outcome }) => outcome))).toEqual(new Set(['acked']));
  });

  test('two runs of one seed are equal', async () => {
    const [first, second] = [await simulateLog(7, OPTIONS), await simulateLog(7, OPTIONS)];
    expect(second).toEqual(first);
  });

  test('what it stands for happens: answers of all kinds, crashes, changes of topology, faults', async () => {
    const runs: Simulated[] = [];
    for (const seed of [1, 2, 3, 4]) runs.push(await simulateLog(seed, OPTIONS));
    const outcomes = Object.groupBy(
      runs.flatMap(({ history }) => history.publishes),
      ({ outcome }) => outcome,
    );
    expect(outcomes.acked?.length).toBeGreaterThan(300);
    expect(outcomes.acked?.filter(({ id }) => id.startsWith('upload')).length).toBeGreaterThan(20);
    expect(outcomes.unknown?.length).toBeGreaterThan(5);
    expect(outcomes.refused?.length).toBeGreaterThan(5);
    const total = (count: (run: Simulated) => number): number => runs.reduce((sum, run) => sum + count(run), 0);
    expect(total(({ counts }) => counts.crashes)).toBeGreaterThan(5);
    expect(total(({ changes }) => changes)).toBeGreaterThan(5);
    expect(total(({ counts }) => counts.faults)).toBeGreaterThan(500);
  });
});
