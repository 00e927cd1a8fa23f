import { describe, expect, test } from 'vitest';
import { LEASE_MARGIN_MS, LEASE_MS } from '../../../src/model/limits.ts';
import { createScript } from '../../faults/choose.ts';
import { createFaultyTable, type FaultyTable, onTable, type TableFault } from '../../faults/faulty-table.ts';
import { randomTableFaults } from '../../faults/random-faults.ts';
import { type Arena, type Contender, createArena } from './arena.ts';
import { readLeaseItem } from './lease-items.ts';

const forEver = new AbortController().signal;

/** A contender whose requests to the table meet these faults, by the operation and its number. */
function faulty(
  arena: Arena,
  name: string,
  ...faults: readonly [op: 'get' | 'put' | 'update', nth: number | undefined, fault: TableFault][]
) {
  const script = createScript(...faults.map(([op, nth, fault]) => onTable({ op, ...(nth === undefined ? {} : { nth }) }, fault)));
  let table: FaultyTable | undefined;
  const contender = arena.contender(name, {
    through: (near) => (table = createFaultyTable(near, { choose: script.choose, clock: arena.clock })),
  });
  const sent = (op: string): number => (table?.calls ?? []).filter(({ call }) => call.op === op).length;
  return { contender, script, sent, land: () => arena.clock.run(table?.late.land() ?? Promise.resolve()) };
}

describe('a taking whose answer was lost (F5)', () => {
  test('is found by its nonce, and counts from a renewal that is answered', async () => {
    const arena = createArena();
    const { contender, script, sent } = faulty(arena, 'a', ['put', 1, { kind: 'answer-lost' }]);
    contender.begin();
    await arena.until(() => arena.leaders().length === 1);
    expect([script.unmet(), sent('put'), sent('update')]).toEqual([0, 1, 1]);
    expect(contender.leadership.current()).toMatchObject({ term: { epoch: 1 }, version: 2 });
    await arena.clock.advance(60_000);
    expect([arena.terms.terms.length, arena.terms.findings]).toEqual([1, []]);
  });

  test('counts for nothing as long as no renewal is answered', async () => {
    const arena = createArena();
    const { contender, script } = faulty(arena, 'a', ['put', 1, { kind: 'answer-lost' }], ['update', undefined, { kind: 'answer-lost' }]);
    contender.begin();
    await arena.clock.advance(20_000);
    expect([script.unmet(), arena.terms.terms]).toEqual([0, []]);
    expect(await readLeaseItem(arena.table)).toMatchObject({ epoch: 1, broker: 'a' });
    script.clear();
    await arena.until(() => arena.leaders().length === 1);
    expect(arena.terms.terms).toMatchObject([{ epoch: 1 }]);
  });

  test('and was not done: another attempt, under another nonce', async () => {
    const arena = createArena();
    const { contender, script, sent } = faulty(arena, 'a', ['put', 1, { kind: 'failed' }]);
    contender.begin();
    await arena.until(() => arena.leaders().length === 1);
    expect([script.unmet(), sent('put')]).toEqual([0, 2]);
  });

  test('and is done late, after it was asked again, finds itself refused', async () => {
    const arena = createArena();
    const { contender, land, sent } = faulty(arena, 'a', ['put', 1, { kind: 'late' }]);
    contender.begin();
    await arena.until(() => arena.leaders().length === 1);
    await land();
    expect(sent('put')).toBe(2);
    await arena.clock.advance(10_000);
    expect([arena.terms.terms.length, arena.leaders()]).toEqual([1, ['a']]);
  });

  test('and is done just before the second attempt, is found all the same', async () => {
    const arena = createArena();
    const { contender, sent } = faulty(arena, 'a', ['put', 1, { kind: 'late', ms: 60 }], ['put', 2, { kind: 'delayed', ms: 200 }]);
    contender.begin();
    // Not waited for as if it were somebody else's.
    expect(await arena.until(() => arena.leaders().length === 1)).toBeLessThan(1_500);
    expect([sent('put'), arena.terms.terms]).toMatchObject([2, [{ who: 'a', epoch: 1 }]]);
  });

  test('of a caller that has gone is given back', async () => {
    for (const fault of [
      { kind: 'hangs', applied: true },
      { kind: 'hangs', applied: false },
    ] as const) {
      const arena = createArena();
      const { contender } = faulty(arena, 'a', ['put', 1, fault]);
      contender.begin();
      await arena.clock.advance(100);
      await contender.end();
      expect((await readLeaseItem(arena.table))?.holder).toBe(fault.applied ? '' : undefined);
      expect([arena.terms.terms, arena.clock.sleeping()]).toEqual([[], 0]);
    }
  });
});

describe('a renewal whose answer was lost', () => {
  test('is followed by another one, which counts', async () => {
    const arena = createArena();
    const { contender, script } = faulty(arena, 'a', ['update', 1, { kind: 'answer-lost' }], ['update', 3, { kind: 'answer-lost' }]);
    contender.begin();
    await arena.clock.advance(20_000);
    expect([script.unmet(), arena.terms.terms.length, arena.leaders()]).toEqual([0, 1, ['a']]);
    expect(contender.counts.get('kelp.leader.renewals.failed')).toBe(2);
  });

  test('counts for nothing: when all of them are lost the term ends as if none had been done', async () => {
    const arena = createArena();
    const { contender, script } = faulty(arena, 'a', ['update', undefined, { kind: 'answer-lost' }]);
    contender.begin();
    await arena.until(() => arena.leaders().length === 1);
    expect(await arena.until(() => arena.leaders().length === 0)).toBeLessThanOrEqual(LEASE_MS - LEASE_MARGIN_MS);
    expect(script.unmet()).toBe(0);
  });

  test('keeps the others waiting a lease longer, no more, and they take the version as it is', async () => {
    const arena = createArena();
    const { contender } = faulty(arena, 'a', ['update', undefined, { kind: 'answer-lost' }]);
    contender.begin();
    await arena.until(() => arena.leaders().length === 1);
    arena.contender('b').begin();
    await arena.clock.advance(1_600);
    contender.kill();
    await arena.until(() => arena.leaders().some((id) => id === 'b'));
    expect(arena.terms.findings).toEqual([]);
  });

  test('does not come back after the end of its term', async () => {
    const arena = createArena();
    const { contender } = faulty(arena, 'a', ['update', undefined, { kind: 'answer-delayed', ms: 2_000 }]);
    const signals: boolean[] = [];
    const led = contender.leadership.leadOnce(async (term) => {
      await arena.clock.sleep(2_600, forEver);
      signals.push(term.signal.aborted);
      await arena.clock.sleep(2_000, forEver);
      signals.push(term.signal.aborted);
    }, forEver);
    await arena.clock.run(led);
    expect([signals, contender.leadership.current()]).toEqual([[true, true], undefined]);
  });
});

describe('faults by chance, on a third of all requests', () => {
  test('never let two terms be valid at once, nor an epoch come twice; and when they end, somebody leads soon', async () => {
    let terms = 0;
    for (let seed = 0; seed < 40; seed += 1) {
      const arena = createArena(`faults ${seed}`);
      let share = 1 / 3;
      const contenders: Contender[] = ['a', 'b', 'c'].map((name) => {
        const random = arena.random.fork(`faults of ${name}`);
        const choose = randomTableFaults(random, { share: 1, msMax: 4_000 });
        const sometimes = arena.random.fork(`when ${name}`);
        return arena.contender(name, {
          asks: seed % 2 === 0,
          through: (near) =>
            createFaultyTable(near, { choose: (call) => (sometimes.chance(share) ? choose(call) : undefined), clock: arena.clock }),
        });
      });
      for (const contender of contenders) contender.begin();
      for (let turn = 0; turn < 6; turn += 1) {
        await arena.clock.advance(5_000);
        const stopped = arena.random.pick(contenders as [Contender, ...Contender[]]);
        stopped.process.stop();
        await arena.clock.advance(arena.random.integer(8_000));
        stopped.process.go();
      }
      share = 0;
      // What is late lands by then; its sender's lease, and a watcher's, are over.
      await arena.clock.advance(4_000);
      expect(await arena.until(() => arena.leaders().length === 1)).toBeLessThanOrEqual(2 * LEASE_MS);
      expect([seed, arena.terms.findings]).toEqual([seed, []]);
      terms += arena.terms.terms.length;
    }
    expect(terms).toBeGreaterThan(100);
  });
});
