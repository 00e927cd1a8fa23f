import { describe, expect, test } from 'vitest';
import { FUNCTION_LEASE_MS } from '../../../src/model/function-limits.ts';
import { createArena } from './arena.ts';
import { readLeaseItem } from './lease-items.ts';

const { signal } = new AbortController();
const asFunction = { expires: true, leaseMs: FUNCTION_LEASE_MS, asks: false } as const;
/** A take and a release, two trips of the arena each. */
const LEASE_TRIPS_MS = 4 * 5;

describe('calls that one instance leads for at once', () => {
  test('come one after the other, and none of them waits for longer than those before it take', async () => {
    for (let seed = 0; seed < 10; seed += 1) {
      const arena = createArena(seed);
      const { leadership, process } = arena.contender('a', asFunction);
      let leading = 0;
      const lead = (n: number): Promise<number> =>
        leadership.leadOnce(async () => {
          leading += 1;
          expect(leading).toBe(1);
          await process.clock.sleep(100, signal);
          leading -= 1;
          return n;
        }, signal);
      const fromMs = arena.clock.monotonicMs();
      expect(await arena.clock.run(Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(lead)))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      expect(arena.clock.monotonicMs() - fromMs).toBeLessThan(8 * (100 + 2 * LEASE_TRIPS_MS));
      expect(await readLeaseItem(arena.table)).toMatchObject({ holder: '', epoch: 8 });
    }
  });

  test('end with their own time, whoever leads before them, and keep nobody behind them', async () => {
    const arena = createArena();
    const { leadership, process } = arena.contender('a', asFunction);
    const first = leadership.leadOnce(() => process.clock.sleep(2_000, signal), signal);
    const second = leadership.leadOnce(async () => 'led', process.clock.deadline(500)).catch((error: unknown) => error);
    const third = leadership.leadOnce(async () => process.clock.monotonicMs(), signal);
    const fromMs = arena.clock.monotonicMs();
    expect(await arena.clock.run(second)).toMatchObject({ code: 'no-lease', cause: { name: 'TimeoutError' } });
    expect(arena.clock.monotonicMs() - fromMs).toBe(500);
    await arena.clock.run(first);
    expect((await arena.clock.run(third)) - fromMs).toBeLessThan(2_000 + 4 * LEASE_TRIPS_MS);
  });

  test('fail alone', async () => {
    const arena = createArena();
    const { leadership } = arena.contender('a', asFunction);
    const failing = leadership.leadOnce(() => Promise.reject(new Error('of its own')), signal).catch(String);
    expect(await arena.clock.run(Promise.all([failing, leadership.leadOnce(async () => 'led', signal)]))).toEqual([
      'Error: of its own',
      'led',
    ]);
  });
});

describe('the end of an instance', () => {
  test.each([0, 5, 10, 15, 20, 50, 500])('%i ms after it was asked to lead leaves no lease', async (afterMs) => {
    for (let seed = 0; seed < 10; seed += 1) {
      const arena = createArena(seed);
      const { leadership, process } = arena.contender('a', asFunction);
      const lead = (): Promise<unknown> =>
        leadership.leadOnce((term) => process.clock.sleep(9_000, term.signal), signal).catch((error: unknown) => error);
      const calls = Promise.all([lead(), lead()]);
      await arena.clock.advance(afterMs);
      const fromMs = arena.clock.monotonicMs();
      await arena.clock.run(leadership.end());
      expect(arena.clock.monotonicMs() - fromMs).toBeLessThan(100);
      expect((await readLeaseItem(arena.table))?.holder ?? '').toBe('');
      // The one that has led by then ends with the reason, the other one has never led.
      for (const error of (await arena.clock.run(calls)) as Record<string, unknown>[]) {
        expect([error['code'], (error['cause'] as typeof error | undefined)?.['code']]).toContain('stopping');
      }
      expect(await arena.clock.run(lead())).toMatchObject({ code: 'no-lease', cause: { code: 'stopping' } });
      await arena.clock.advance(1_000);
      expect((await readLeaseItem(arena.table))?.holder ?? '').toBe('');
    }
  });
});
