import { describe, expect, test } from 'vitest';
import { SCALING_DEFAULT } from '../../src/model/scaling.ts';
import { checkHistory } from '../checkers/check-history.ts';
import { tiles } from '../topology/tiles.ts';
import { type Simulated, type SimulationOptions, simulateLog } from './simulate-log.ts';

// Brokers that know each other: they register, lead, serve segments, forward, are left by a leader, which splits and merges as well; and
// so does somebody by hand. More seeds:
// KELP_SIMULATION_SEEDS=1000 KELP_SIMULATION_FROM=21 npx vitest run test/simulation/members.test.ts
const SEEDS = Number(process.env['KELP_SIMULATION_SEEDS'] ?? 8);
const FROM = Number(process.env['KELP_SIMULATION_FROM'] ?? 1);
const HOUR_MS = 3_600_000;

const OPTIONS: SimulationOptions = {
  brokers: 3,
  faults: { share: 0.1, msMax: 2_000 },
  crashMs: 5_000,
  skewMsMax: HOUR_MS,
  members: { faultsShare: 0.1, freezeMs: 6_000, drainMs: 6_000, rebalanceMs: 1_000 },
  // So little that some of its segments are to split.
  scaling: { ...SCALING_DEFAULT, targetMessagesPerSecond: 1, maxSegments: 8 },
  faultyMs: 25_000,
  segments: 3,
  plainWriters: 2,
  producers: 3,
  keyedWriters: 1,
  uploadWriters: 1,
  matchingWriters: 1,
  readers: 1,
  changers: 1,
};

const seeds = Array.from({ length: SEEDS }, (_, n) => FROM + n);

describe('simulated brokers that know each other', () => {
  test.each(seeds)('F6, F8, F15: seed %i keeps every promise through crashes, pauses, drains, splits and merges', async (seed) => {
    const { history, surprises, open, topology } = await simulateLog(seed, OPTIONS);
    expect(checkHistory(history)).toEqual([]);
    expect([surprises, topology]).toEqual([[], []]);
    expect(tiles(open)).toBe(true);
  });

  test('without faults keeps them, too, and refuses nothing, though brokers are drained', async () => {
    const calm = { ...OPTIONS, faults: { share: 0, msMax: 0 }, crashMs: 1e9, skewMsMax: 0, matchingWriters: 0, changers: 0 };
    const members = { faultsShare: 0, freezeMs: 1e9, drainMs: 3_000, rebalanceMs: 1_000 };
    const { history, surprises, counts } = await simulateLog(0, { ...calm, members });
    expect(checkHistory(history)).toEqual([]);
    expect([surprises, counts.faults, counts.crashes]).toEqual([[], 0, 0]);
    expect(new Set(history.publishes.map(({ outcome }) => outcome))).toEqual(new Set(['acked']));
    expect(counts.drains).toBeGreaterThan(2);
  });

  test('two runs of one seed are equal', async () => {
    const [first, second] = [await simulateLog(7, OPTIONS), await simulateLog(7, OPTIONS)];
    expect(second).toEqual(first);
  });

  test('what it stands for happens: new leaders, forwards, dead brokers, moved segments, pauses, drains, splits by hand and by the leader', async () => {
    const runs: Simulated[] = [];
    for (const seed of [1, 2]) runs.push(await simulateLog(seed, OPTIONS));
    const total = (count: (run: Simulated) => number): number => runs.reduce((sum, run) => sum + count(run), 0);
    const told = (name: string): number => total(({ counts }) => counts.told.get(`kelp.${name}`) ?? 0);
    expect(total(({ history }) => history.publishes.filter(({ outcome }) => outcome === 'acked').length)).toBeGreaterThan(500);
    expect(total(({ counts }) => counts.crashes)).toBeGreaterThan(3);
    expect(total(({ counts }) => counts.freezes)).toBeGreaterThan(3);
    expect(total(({ counts }) => counts.drains)).toBeGreaterThan(3);
    expect(told('leader.terms')).toBeGreaterThan(3);
    expect(told('forwards')).toBeGreaterThan(50);
    expect(told('brokers.dead')).toBeGreaterThan(1);
    expect(told('segments.moved')).toBeGreaterThan(5);
    expect(total(({ changes }) => changes)).toBeGreaterThan(3);
    expect(told('segments.changed')).toBeGreaterThan(5);
    expect(told('rebalance.changes')).toBeGreaterThan(1);
    expect(total(({ history }) => history.reads.filter(({ since }) => since !== undefined).length)).toBe(2);
  });
});
