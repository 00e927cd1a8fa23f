import { expect, test } from 'vitest';
import { createRecordingTelemetry } from '../../src/adapters/memory/recording-telemetry.ts';
import { sweepRegularly } from '../../src/broker/sweep-regularly.ts';
import type { SweepReport } from '../../src/model/sweep-report.ts';
import { SWEEP_MS_MAX } from '../../src/model/upload-limits.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';

const EVERY_MS = 1_000;
const uploads = { examined: 0, expired: 0, submitted: 0, staged: 0, orphans: 0, checked: 0, quarantined: 0, bytes: 0, failed: 0 };
const retention = { examined: 0, messages: 0, bytes: 0, failed: 0, cuts: [] };
const garbage = { neverCommitted: 0, archived: 0, files: 0, uploads: 0, pages: 0, lines: 0, requests: 0, bytes: 0, failed: 0 };
const nothing: SweepReport = {
  dryRun: false,
  complete: true,
  uploads,
  deletions: { carriedOn: 0, cleaned: 0, strays: 0, failed: 0 },
  retention,
  garbage,
};

/** When it has swept within so long, and how it went on. */
async function sweeps(options: {
  readonly everyMs?: number;
  readonly seed?: number;
  readonly sweep?: (n: number, signal: AbortSignal) => Promise<SweepReport>;
}) {
  const { everyMs = EVERY_MS, seed = 1, sweep = () => Promise.resolve(nothing) } = options;
  const clock = createVirtualClock();
  const telemetry = createRecordingTelemetry();
  const life = new AbortController();
  const atMs: number[] = [];
  const running = sweepRegularly(
    {
      clock,
      telemetry,
      random: createSeededRandom(seed),
      everyMs,
      sweep: async ({ dryRun }, signal) => {
        expect(dryRun).toBe(false);
        return sweep(atMs.push(clock.monotonicMs()), signal);
      },
    },
    life.signal,
  );
  return { clock, telemetry, atMs, life, running };
}

test('sweeps for the first time within its time, then as often on average, at no fixed time', async () => {
  const { clock, atMs, life, running } = await sweeps({});
  await clock.advance(200 * EVERY_MS);
  life.abort();
  await running;
  expect(atMs[0]).toBeLessThanOrEqual(EVERY_MS);
  const gaps = atMs.slice(1).map((ms, index) => ms - (atMs[index] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(EVERY_MS / 2);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(1.5 * EVERY_MS);
  expect(new Set(gaps).size).toBeGreaterThan(100);
  expect(Math.abs(gaps.length - 200)).toBeLessThan(20);
});

test('two that begin together do not go on together', async () => {
  const [one, other] = [await sweeps({ seed: 1 }), await sweeps({ seed: 2 })];
  for (const { clock, life, running } of [one, other]) {
    await clock.advance(20 * EVERY_MS);
    life.abort();
    await running;
  }
  expect(one.atMs.filter((ms) => other.atMs.includes(ms))).toEqual([]);
});

test('tells what was done, what was left, and what failed; and goes on', async () => {
  const { clock, telemetry, atMs, life, running } = await sweeps({
    sweep: async (n) => {
      if (n === 2) throw new Error('planted');
      return n === 3 ? { ...nothing, uploads: { ...uploads, failed: 1 } } : nothing;
    },
  });
  await clock.advance(6 * EVERY_MS);
  life.abort();
  await running;
  expect(atMs.length).toBeGreaterThan(3);
  expect(telemetry.logs.slice(0, 4).map(({ level, message }) => [level, message])).toEqual([
    ['info', 'swept'],
    ['warn', 'sweeping failed'],
    ['warn', 'swept'],
    ['info', 'swept'],
  ]);
  expect(telemetry.total('kelp.sweeps.failed')).toBe(1);
});

test('ends a sweep that takes too long, and ends with its signal', async () => {
  const { clock, atMs, life, running } = await sweeps({
    sweep: async (_, signal) => {
      await clock.sleep(10 * SWEEP_MS_MAX, signal).catch(() => undefined);
      return { ...nothing, complete: false };
    },
  });
  await clock.advance(SWEEP_MS_MAX + 4 * EVERY_MS);
  expect(atMs).toHaveLength(2);
  expect((atMs[1] ?? 0) - (atMs[0] ?? 0)).toBeGreaterThanOrEqual(SWEEP_MS_MAX);
  life.abort();
  await running;
  expect(clock.sleeping()).toBe(0);
});

test('never, where it is only to be asked', async () => {
  const { clock, atMs, running } = await sweeps({ everyMs: 0 });
  await running;
  await clock.advance(100 * EVERY_MS);
  expect(atMs).toEqual([]);
});
