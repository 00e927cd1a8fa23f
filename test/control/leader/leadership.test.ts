import { describe, expect, test } from 'vitest';
import { LEADER_WATCH_MS, LEASE_MARGIN_MS, LEASE_MS, LEASE_RELEASE_MS_MAX } from '../../../src/model/limits.ts';
import { createFaultyTable, onTable } from '../../faults/faulty-table.ts';
import { createScript } from '../../faults/choose.ts';
import { createArena } from './arena.ts';
import { readLeaseItem, writeLease } from './lease-items.ts';

const NAMES = ['a', 'b', 'c'];
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

describe('in calm', () => {
  test('one of several leads, for as long as it renews (J-28 a)', async () => {
    for (const asks of [true, false]) {
      for (let seed = 0; seed < 5; seed += 1) {
        const arena = createArena(seed);
        for (const name of NAMES) arena.contender(name, { asks }).begin();
        await arena.until(() => arena.leaders().length > 0);
        await arena.clock.advance(2 * MINUTE_MS);
        expect([arena.leaders().length, arena.terms.terms.length, arena.terms.findings]).toEqual([1, 1, []]);
      }
    }
  });

  test('who has seen no lease at all takes it at once', async () => {
    const arena = createArena();
    arena.contender('a').begin();
    expect(await arena.until(() => arena.leaders().length === 1)).toBeLessThan(50);
    expect(arena.terms.terms).toMatchObject([{ who: 'a', epoch: 1, predecessor: undefined }]);
  });

  test('an idle minute costs a holder 40 renewals, and a watcher 10 reads', async () => {
    const arena = createArena();
    const contenders = NAMES.map((name) => arena.contender(name));
    for (const contender of contenders) contender.begin();
    await arena.until(() => arena.leaders().length === 1);
    for (const { requests } of contenders) requests.clear();
    await arena.clock.advance(MINUTE_MS);
    const [holder] = arena.leaders();
    for (const { id, requests } of contenders) {
      const { get = 0, update = 0, ...others } = Object.fromEntries(requests) as Record<string, number>;
      expect(others).toEqual({});
      if (id === holder) expect([get, update <= 40, update >= 35]).toEqual([0, true, true]);
      else expect([update, get <= 10, get >= 8]).toEqual([0, true, true]);
    }
  });

  test('wall clocks an hour ahead, an hour behind and jumping change nothing (J-29, F9)', async () => {
    const arena = createArena();
    const contenders = NAMES.map((name) => arena.contender(name, { asks: false }));
    for (const contender of contenders) contender.begin();
    await arena.until(() => arena.leaders().length === 1);
    for (const ms of [HOUR_MS, -HOUR_MS, 0, HOUR_MS]) {
      for (const { skew } of contenders) {
        skew.ms = ms;
        await arena.clock.advance(10_000);
      }
    }
    expect([arena.terms.terms.length, arena.terms.findings]).toEqual([1, []]);
    expect(contenders.map(({ counts }) => counts.get('kelp.leader.renewals.failed'))).toEqual([undefined, undefined, undefined]);
  });

  test('watchers know the leader without asking the table', async () => {
    const arena = createArena();
    const [a, b] = ['a', 'b'].map((name) => arena.contender(name));
    a?.begin();
    await arena.until(() => arena.leaders().length === 1);
    b?.begin();
    await arena.clock.advance(1_000);
    b?.requests.clear();
    expect(await b?.finder.find(new AbortController().signal)).toEqual({ id: 'a', url: 'http://a', epoch: 1 });
    expect(b?.requests.size).toBe(0);
  });
});

describe('another one takes over', () => {
  test('within a lease of the last renewal and half a second of a kill, and knows who was timed out', async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const arena = createArena(seed);
      const contenders = NAMES.map((name) => arena.contender(name, { asks: seed % 2 === 0 }));
      for (const contender of contenders) contender.begin();
      await arena.until(() => arena.leaders().length === 1);
      await arena.clock.advance(5_000 + arena.random.integer(5_000));
      const [dead] = arena.leaders();
      contenders.find(({ id }) => id === dead)?.kill();
      const tookMs = await arena.until(() => arena.terms.terms.length === 2);
      expect(tookMs).toBeLessThanOrEqual(LEASE_MS + LEADER_WATCH_MS);
      expect(arena.terms.terms[1]).toMatchObject({ epoch: 2, predecessor: dead });
      expect(arena.terms.findings).toEqual([]);
    }
  });

  test('at its next look when the lease is released, and nobody was timed out', async () => {
    const arena = createArena();
    const [a, b] = ['a', 'b'].map((name) => arena.contender(name));
    a?.begin();
    await arena.until(() => arena.leaders().length === 1);
    b?.begin();
    await arena.clock.advance(4_000);
    await a?.end();
    expect(await readLeaseItem(arena.table)).toMatchObject({ holder: '', epoch: 1 });
    expect(await arena.until(() => arena.leaders().length === 1)).toBeLessThanOrEqual(LEADER_WATCH_MS + 50);
    expect(arena.terms.terms[1]).toMatchObject({ who: 'b', epoch: 2, predecessor: undefined });
    expect(arena.terms.findings).toEqual([]);
  });

  test('its own former life counts as anybody’s: it is waited for, and is no predecessor', async () => {
    const arena = createArena();
    await writeLease(arena.table, { broker: 'a', epoch: 6, version: 60 });
    arena.contender('a').begin();
    expect(await arena.until(() => arena.leaders().length === 1)).toBeGreaterThanOrEqual(LEASE_MS);
    expect(arena.terms.terms).toMatchObject([{ epoch: 7, predecessor: undefined }]);
  });
});

describe('a term', () => {
  test('whose leader fails or has had enough ends, and others get their chance', async () => {
    for (const fails of [true, false]) {
      const arena = createArena();
      const tired = arena.contender('a');
      void tired.leadership.run(async () => {
        if (fails) throw new Error('it can’t');
      }, new AbortController().signal);
      await arena.clock.advance(20);
      arena.contender('b').begin();
      await arena.until(() => arena.leaders()[0] === 'b');
      await arena.clock.advance(MINUTE_MS);
      expect([arena.terms.terms.length, arena.terms.findings]).toEqual([1, []]);
      expect(tired.counts.get('kelp.leader.failures')).toBe(fails ? 1 : undefined);
      expect(tired.logs.includes('error: leading failed')).toBe(fails);
    }
  });

  test('ends a margin before its lease does when nothing can be renewed, and begins anew when it can', async () => {
    const arena = createArena();
    const script = createScript(onTable({ op: 'update' }, { kind: 'failed' }));
    const a = arena.contender('a', { through: (table) => createFaultyTable(table, { choose: script.choose, clock: arena.clock }) });
    a.begin();
    await arena.until(() => arena.leaders().length === 1);
    const endedMs = await arena.until(() => arena.leaders().length === 0);
    expect(endedMs).toBeGreaterThan(LEASE_MS - LEASE_MARGIN_MS - 50);
    expect(endedMs).toBeLessThanOrEqual(LEASE_MS - LEASE_MARGIN_MS);
    expect(script.unmet()).toBe(0);
    script.clear();
    await arena.until(() => arena.leaders().length === 1);
    expect(arena.terms.terms).toMatchObject([{ epoch: 1 }, { epoch: 2, predecessor: undefined }]);
    expect(arena.terms.findings).toEqual([]);
  });

  test('goes on while a renewal hangs: another one is sent beside it', async () => {
    const arena = createArena();
    const script = createScript(onTable({ op: 'update', nth: 2 }, { kind: 'hangs', applied: false }));
    const a = arena.contender('a', { through: (table) => createFaultyTable(table, { choose: script.choose, clock: arena.clock }) });
    a.begin();
    await arena.clock.advance(MINUTE_MS);
    expect([script.unmet(), arena.terms.terms.length, arena.leaders()]).toEqual([0, 1, ['a']]);
  });

  test('goes on with a table that takes longer than the pause between two attempts', async () => {
    const arena = createArena();
    const script = createScript(onTable({ op: 'update' }, { kind: 'answer-delayed', ms: 800 }));
    const a = arena.contender('a', { through: (table) => createFaultyTable(table, { choose: script.choose, clock: arena.clock }) });
    a.begin();
    await arena.clock.advance(MINUTE_MS);
    expect([arena.terms.terms.length, arena.leaders()]).toEqual([1, ['a']]);
  });
});

describe('the release', () => {
  test('is made though the caller has gone, and is bounded where the table hangs', async () => {
    const arena = createArena();
    const script = createScript(onTable({ op: 'update' }, { kind: 'hangs', applied: true }));
    const a = arena.contender('a', { through: (table) => createFaultyTable(table, { choose: script.choose, clock: arena.clock }) });
    a.begin();
    await arena.until(() => arena.leaders().length === 1);
    const fromMs = arena.clock.monotonicMs();
    await a.end();
    expect(arena.clock.monotonicMs() - fromMs).toBe(LEASE_RELEASE_MS_MAX);
    expect(await readLeaseItem(arena.table)).toMatchObject({ holder: '', epoch: 1 });
    expect(a.counts.get('kelp.leader.releases.failed')).toBe(1);
    expect([arena.clock.sleeping(), arena.leaders()]).toEqual([0, []]);
  });

  test('ends nothing but its own term: one that began meanwhile goes on', async () => {
    const arena = createArena();
    const script = createScript(onTable({ op: 'update', nth: 1 }, { kind: 'answer-delayed', ms: 1_000 }));
    const a = arena.contender('a', {
      expires: true,
      through: (table) => createFaultyTable(table, { choose: script.choose, clock: arena.clock }),
    });
    const { signal } = new AbortController();
    const first = a.leadership.leadOnce(async ({ epoch }) => epoch, signal);
    await arena.clock.advance(200);
    // The release of the first is done, and its answer is on its way.
    const second = a.leadership.leadOnce(async ({ epoch }) => {
      expect(await first).toBe(1);
      expect(a.leadership.current()).toMatchObject({ term: { epoch: 2 } });
      return epoch;
    }, signal);
    expect(await arena.clock.run(second)).toBe(2);
    expect(script.unmet()).toBe(0);
    expect(a.leadership.current()).toBeUndefined();
  });
});
