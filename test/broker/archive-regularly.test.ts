import { describe, expect, test } from 'vitest';
import { createRecordingTelemetry } from '../../src/adapters/memory/recording-telemetry.ts';
import type { ArchiveRun } from '../../src/archive/archive-topics.ts';
import { archiveRegularly } from '../../src/broker/archive-regularly.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';

const EVERY_MS = 1_000;
const NOTHING: ArchiveRun = { archived: 0, held: 0, busy: 0, failed: 0, lagMs: 0, complete: true };

/** `runs`: what each answers, or how it fails; from the last one on all are the same. */
function archiving(runs: readonly (Partial<ArchiveRun> | Error)[], everyMs = EVERY_MS) {
  const clock = createVirtualClock();
  const telemetry = createRecordingTelemetry();
  const life = new AbortController();
  const atMs: number[] = [];
  const running = archiveRegularly(
    {
      clock,
      telemetry,
      random: createSeededRandom(1),
      everyMs,
      archive: async ({ until }, signal) => {
        expect([until, signal]).toEqual([life.signal, life.signal]);
        const run = runs[Math.min(atMs.push(clock.monotonicMs()), runs.length) - 1];
        if (run instanceof Error) throw run;
        return { ...NOTHING, ...run };
      },
    },
    life.signal,
  );
  return { clock, telemetry, life, atMs, running };
}

describe('archiving regularly', () => {
  test('looks as often as it should on average, and tells only of what was done', async () => {
    const { clock, telemetry, life, atMs, running } = archiving([{}, { archived: 2 }, { held: 1 }, { failed: 1 }, {}]);
    await clock.advance(100 * EVERY_MS);
    life.abort();
    await running;
    expect(atMs[0]).toBeLessThanOrEqual(EVERY_MS);
    expect(Math.abs(atMs.length - 100)).toBeLessThan(15);
    expect(telemetry.logs.map(({ level, message }) => [level, message])).toEqual([
      ['info', 'archived'],
      ['warn', 'archived'],
      ['warn', 'archived'],
    ]);
    expect(clock.sleeping()).toBe(0);
  });

  test('goes on at once where something is left, and not where it fails', async () => {
    const { clock, telemetry, life, atMs, running } = archiving([{ complete: false }, { complete: false }, new Error('planted'), {}]);
    await clock.advance(20 * EVERY_MS);
    life.abort();
    await running;
    expect(atMs.slice(1, 3)).toEqual([atMs[0], atMs[0]]);
    expect((atMs[3] ?? 0) - (atMs[2] ?? 0)).toBeGreaterThanOrEqual(EVERY_MS / 2);
    expect(telemetry.total('kelp.archive.failed')).toBe(1);
    expect(telemetry.logs.map(({ level, message }) => [level, message])).toEqual([['warn', 'archiving failed']]);
  });

  test('shows how far behind it is, as of the last run', async () => {
    const { clock, telemetry, life, running } = archiving([{ lagMs: 5_400 }, { lagMs: 9_000 }, new Error('planted'), { lagMs: 2_000 }]);
    await clock.advance(20 * EVERY_MS);
    life.abort();
    await running;
    expect(telemetry.adjustments.slice(0, 3).map(({ value }) => value)).toEqual([5, 4, -7]);
    expect(telemetry.total('kelp.archive.lag.seconds')).toBe(2);
  });

  test('never, where it is not to', async () => {
    const { clock, atMs, running } = archiving([{}], 0);
    await running;
    await clock.advance(100 * EVERY_MS);
    expect(atMs).toEqual([]);
  });
});
