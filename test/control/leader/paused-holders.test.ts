import { describe, expect, test } from 'vitest';
import type { Term } from '../../../src/control/leader/leadership.ts';
import { FUNCTION_LEASE_MS } from '../../../src/model/function-limits.ts';
import { LEASE_MARGIN_MS, LEASE_MS } from '../../../src/model/limits.ts';
import { createArena } from './arena.ts';
import { readLeaseItem, writeLease } from './lease-items.ts';

const { signal } = new AbortController();
const HOUR_MS = 3_600_000;
const asFunction = { expires: true, leaseMs: FUNCTION_LEASE_MS, asks: false } as const;

/** The next value of a signal's life, without letting anything run in between. */
const look = (term: Term | undefined): boolean | undefined => term?.signal.aborted;

describe('J-28 c, F6: a holder that was stopped past its lease', () => {
  test('does nothing as a leader when it goes on, and its release leaves the lease of the other one alone', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const arena = createArena(seed);
      const [a, b] = ['a', 'b'].map((name) => arena.contender(name, { asks: seed % 2 === 0 }));
      if (a === undefined || b === undefined) throw new Error('there are two');
      a.begin();
      await arena.until(() => arena.leaders().length === 1);
      b.begin();
      await arena.clock.advance(3_000 + arena.random.integer(3_000));
      const term = a.leadership.current()?.term;
      a.process.stop();
      const actions = arena.terms.actions('a');
      await arena.clock.advance(10_000);
      expect(arena.terms.terms.at(-1)).toMatchObject({ who: 'b', epoch: 2, predecessor: 'a' });
      const before = await readLeaseItem(arena.table);
      a.process.go();
      // No timer of it has run.
      expect([look(term), a.leadership.current()]).toEqual([true, undefined]);
      await arena.clock.advance(100);
      expect(arena.terms.actions('a')).toBe(actions);
      expect(a.requests.get('update') ?? 0).toBeGreaterThan(0);
      expect(await readLeaseItem(arena.table)).toMatchObject({ holder: before?.holder, epoch: 2, broker: 'b' });
      await arena.clock.advance(30_000);
      expect([arena.leaders(), arena.terms.terms.length, arena.terms.findings]).toEqual([['b'], 2, []]);
    }
  });

  test('and had sent a renewal: its answer, when it comes, does not bring the term back', async () => {
    for (let stopMs = 0; stopMs < 40; stopMs += 1) {
      const arena = createArena(stopMs);
      const [a, b] = ['a', 'b'].map((name) => arena.contender(name, { asks: false }));
      a?.begin();
      await arena.until(() => arena.leaders().length === 1);
      b?.begin();
      // Around the sending of the first renewal.
      await arena.clock.advance(1_480 + stopMs);
      a?.process.stop();
      await arena.clock.advance(10_000);
      a?.process.go();
      await arena.clock.advance(1_000);
      expect([arena.leaders(), arena.terms.findings]).toEqual([['b'], []]);
    }
  });

  test('together with its clock, which stood still: its next renewal is refused, and it stops', async () => {
    const arena = createArena();
    const a = arena.contender('a', { asks: false, frozen: true });
    const b = arena.contender('b', { asks: false });
    a.begin();
    await arena.until(() => arena.leaders().length === 1);
    b.begin();
    await arena.clock.advance(5_000);
    a.process.stop();
    await arena.clock.advance(10_000);
    a.process.go();
    expect(await arena.until(() => a.leadership.current() === undefined)).toBeLessThanOrEqual(LEASE_MS / 2 + 50);
    await arena.clock.advance(30_000);
    expect(arena.leaders()).toEqual(['b']);
  });
});

describe('F10: a frozen function thaws', () => {
  test('and finds its term over before it does anything, though its clock stood still and no timer has run', async () => {
    const arena = createArena();
    const a = arena.contender('a', { ...asFunction, frozen: true });
    let term: Term | undefined;
    let acts = 0;
    const led = a.leadership.leadOnce(async (own) => {
      term = own;
      await a.process.clock.sleep(2_000, signal);
      if (!own.signal.aborted) acts += 1;
    }, signal);
    await arena.clock.advance(1_000);
    a.process.stop();
    await arena.clock.advance(HOUR_MS);
    const b = arena.contender('b', asFunction);
    const seen = arena.clock.run(b.leadership.leadOnce(async ({ epoch, predecessor }) => ({ epoch, predecessor }), signal));
    // By its expiry, without timing anything: it has just begun.
    expect(await seen).toEqual({ epoch: 2, predecessor: undefined });
    const before = await readLeaseItem(arena.table);
    a.process.go();
    expect([look(term), a.leadership.current()]).toEqual([true, undefined]);
    await arena.clock.run(led);
    expect([acts, await readLeaseItem(arena.table)]).toEqual([0, before]);
  });

  test('in the middle of its taking: the answer comes an hour late, and no term begins by it', async () => {
    const arena = createArena();
    const a = arena.contender('a', { ...asFunction, frozen: true });
    const acts: (number | boolean)[] = [];
    const led = a.leadership.leadOnce(async (term) => void acts.push(term.epoch, term.signal.aborted), signal);
    await arena.until(() => a.requests.get('put') === 1);
    a.process.stop();
    await arena.clock.advance(HOUR_MS);
    a.process.go();
    await arena.clock.run(led);
    expect(acts).toEqual([2, false]);
  });

  test('its term ends by itself, a margin before the item says so', async () => {
    const arena = createArena();
    const a = arena.contender('a', asFunction);
    const led = a.leadership.leadOnce(async (term) => {
      const fromMs = arena.clock.monotonicMs();
      await a.process.clock.sleep(60_000, term.signal).catch(() => undefined);
      return arena.clock.monotonicMs() - fromMs;
    }, signal);
    const lastedMs = await arena.clock.run(led);
    expect(lastedMs).toBeLessThanOrEqual(FUNCTION_LEASE_MS - LEASE_MARGIN_MS);
    expect(lastedMs).toBeGreaterThan(FUNCTION_LEASE_MS - LEASE_MARGIN_MS - 50);
    expect(await readLeaseItem(arena.table)).toMatchObject({ holder: '', epoch: 1, expiresMs: expect.any(Number) as number });
  });
});

describe('J-28 b: a dead holder, and a waiter that never waits for long', () => {
  test('a function that is called every second for a second leads within two leases: what it has seen outlives a call', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const arena = createArena(seed);
      const a = arena.contender('a');
      a.begin();
      await arena.until(() => arena.leaders().length === 1);
      await arena.clock.advance(4_000 + arena.random.integer(3_000));
      a.kill();
      const killedMs = arena.clock.monotonicMs();
      const b = arena.contender('b', asFunction);
      for (let led: unknown; led !== 'led';) {
        led = await arena.clock.run(b.leadership.leadOnce(async () => 'led', arena.clock.deadline(1_000))).catch((error: unknown) => error);
        if (led !== 'led') expect(led).toMatchObject({ kind: 'unavailable', code: 'no-lease', cause: { name: 'TimeoutError' } });
      }
      expect(arena.clock.monotonicMs() - killedMs).toBeLessThanOrEqual(2 * LEASE_MS);
    }
  });

  test('of a holder that was a function, one that was never there before goes by its expiry', async () => {
    const arena = createArena();
    await writeLease(arena.table, {
      broker: 'a',
      leaseMs: FUNCTION_LEASE_MS,
      expiresMs: arena.clock.nowMs() + FUNCTION_LEASE_MS,
    });
    for (let [call, led] = [0, false]; !led; call += 1) {
      const { leadership } = arena.contender(`b${call}`, asFunction);
      led = await arena.clock.run(leadership.leadOnce(async () => true, arena.clock.deadline(1_000))).catch(() => false);
      if (!led) await arena.clock.advance(100);
    }
    expect(arena.clock.monotonicMs()).toBeGreaterThanOrEqual(FUNCTION_LEASE_MS + LEASE_MARGIN_MS);
    expect(arena.clock.monotonicMs()).toBeLessThanOrEqual(FUNCTION_LEASE_MS + LEASE_MARGIN_MS + 1_200);
  });

  test('a process lets a function have its whole lease, and goes by no wall clock', async () => {
    const arena = createArena();
    const a = arena.contender('a', asFunction);
    const b = arena.contender('b', { asks: false });
    b.skew.ms = HOUR_MS;
    void a.leadership.leadOnce((term) => a.process.clock.sleep(8_000, term.signal), signal);
    await arena.clock.advance(50);
    b.begin();
    await arena.clock.advance(7_500);
    expect(arena.leaders()).toEqual(['a']);
    a.kill();
    await arena.clock.advance(2_400);
    expect(arena.terms.terms).toEqual([]);
    expect(await arena.until(() => arena.terms.terms.length === 1)).toBeLessThanOrEqual(1_000);
    expect(arena.terms.terms).toMatchObject([{ who: 'b', epoch: 2, predecessor: undefined }]);
  });
});

describe('an invocation', () => {
  test('releases whatever happens: it failed, or its caller has gone in the middle', async () => {
    const arena = createArena();
    const a = arena.contender('a', asFunction);
    const failure = new Error('it failed');
    await expect(arena.clock.run(a.leadership.leadOnce(() => Promise.reject(failure), signal))).rejects.toBe(failure);
    expect(await readLeaseItem(arena.table)).toMatchObject({ holder: '', epoch: 1 });
    const caller = new AbortController();
    const reason = new Error('gone');
    const left = a.leadership.leadOnce((term) => a.process.clock.sleep(5_000, term.signal), caller.signal);
    await arena.clock.advance(100);
    caller.abort(reason);
    await expect(arena.clock.run(left)).rejects.toBe(reason);
    expect(await readLeaseItem(arena.table)).toMatchObject({ holder: '', epoch: 2 });
    expect(arena.clock.sleeping()).toBe(0);
  });

  test('that is over before it has the lease runs nothing, and leaves nothing behind', async () => {
    const arena = createArena();
    const a = arena.contender('a');
    a.begin();
    await arena.until(() => arena.leaders().length === 1);
    const b = arena.contender('b', asFunction);
    const reason = new Error('gone');
    for (const ended of [AbortSignal.abort(reason), undefined]) {
      const caller = new AbortController();
      let ran = false;
      const [led] = await Promise.all([
        Promise.allSettled([b.leadership.leadOnce(async () => void (ran = true), ended ?? caller.signal)]),
        arena.clock.advance(500).then(() => caller.abort(reason)),
      ]);
      expect(led).toMatchObject([{ status: 'rejected', reason: { code: 'no-lease', cause: reason } }]);
      expect(ran).toBe(false);
    }
    await arena.clock.advance(20_000);
    expect([arena.terms.terms.length, arena.leaders()]).toEqual([1, ['a']]);
  });

  test('takes turns with others, a thousand times, and never two at once', async () => {
    const arena = createArena();
    const epochs: number[] = [];
    let inside = 0;
    const work = ['a', 'b', 'c'].map(async (name) => {
      const { leadership, process } = arena.contender(name, { ...asFunction, leaseMs: 60 });
      for (let turn = 0; turn < 350; turn += 1) {
        await leadership.leadOnce(async (term) => {
          epochs.push(term.epoch);
          inside += 1;
          expect(inside).toBe(1);
          await process.clock.sleep(arena.random.integer(10), signal);
          inside -= 1;
        }, signal);
      }
    });
    await arena.clock.run(Promise.all(work));
    expect(epochs).toHaveLength(1_050);
    expect(epochs.toSorted((x, y) => x - y)).toEqual(epochs);
    expect(new Set(epochs).size).toBe(epochs.length);
  });
});
