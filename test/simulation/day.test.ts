import { describe, expect, test } from 'vitest';
import { type DayOptions, simulateDay } from './simulate-day.ts';

// More seeds, from another one on: KELP_SIMULATION_SEEDS=100 KELP_SIMULATION_FROM=2 npx vitest run test/simulation/day.test.ts
const SEEDS = Number(process.env['KELP_SIMULATION_SEEDS'] ?? 1);
const FROM = Number(process.env['KELP_SIMULATION_FROM'] ?? 1);
/** 15 s of processor time each, where nothing else is at work. */
const DAY_MS_MAX = 240_000;

const OPTIONS: DayOptions = {
  brokers: 3,
  faults: { share: 0.1, msMax: 3_000 },
  crashMs: 2_400_000,
  skewMsMax: 600_000,
  hours: 24,
  auditMs: 1_800_000,
  pace: 2_000,
  lag: { share: 0.005, msMax: 7_200_000 },
};

const seeds = Array.from({ length: SEEDS }, (_, n) => FROM + n);

describe('a day in fast-forward', () => {
  test.each(seeds)('seed %i keeps every promise, and leaves nothing behind', { timeout: DAY_MS_MAX }, async (seed) => {
    const day = await simulateDay(seed, OPTIONS);
    expect(day.findings).toEqual([]);
    expect(day.surprises).toEqual([]);
    expect(day.orphans).toEqual([]);
    // What it stands for happens.
    expect(day.messages).toBeGreaterThan(3_000);
    expect(day.audits.fromFiles).toBeGreaterThan(day.audits.messages / 2);
    expect(Math.min(day.archived, day.changes * 10, day.counts.crashes * 10)).toBeGreaterThan(100);
    expect(Math.min(day.dropped, day.collected, day.counts.faults)).toBeGreaterThan(1_000);
  });
});
