import { expect, test } from 'vitest';
import { LEASE_MS } from '../../../src/model/limits.ts';
import { createArena } from './arena.ts';

const unreachable = { isReachable: () => Promise.resolve(false) };

test.each([1, 2, 3, 4, 5, 6, 7, 8])('whoever nobody can ask lets the others lead, however often the leader dies (%i)', async (seed) => {
  const arena = createArena(seed);
  const first = arena.contender('first');
  first.begin();
  await arena.until(() => arena.leaders().includes(first.id));
  const [lost, second, third] = [arena.contender('lost', unreachable), arena.contender('second'), arena.contender('third')];
  for (const contender of [lost, second, third]) contender.begin();
  await arena.clock.advance(10_000);
  first.kill();
  await arena.until(() => arena.leaders().some((id) => id === second.id || id === third.id));
  const [leader, other] = arena.leaders().includes(second.id) ? [second, third] : [third, second];
  await arena.clock.advance(10_000);
  // Released: free at once.
  await leader.end();
  await arena.until(() => arena.leaders().length > 0);
  expect(arena.leaders()).toEqual([other.id]);
  expect(arena.terms.findings).toEqual([]);
});

test('and leads where nobody else does, one lease later', async () => {
  const arena = createArena();
  const first = arena.contender('first');
  first.begin();
  await arena.until(() => arena.leaders().includes(first.id));
  const lost = arena.contender('lost', unreachable);
  lost.begin();
  await arena.clock.advance(10_000);
  first.kill();
  await arena.until(() => arena.leaders().length === 0 || arena.leaders().includes(lost.id));
  const tookMs = await arena.until(() => arena.leaders().includes(lost.id));
  expect(tookMs).toBeLessThanOrEqual(2 * LEASE_MS + 1_000);
  expect(tookMs).toBeGreaterThan(LEASE_MS);
});

test('the very first leader asks nobody', async () => {
  const arena = createArena();
  arena.contender('lost', unreachable).begin();
  expect(await arena.until(() => arena.leaders().length === 1)).toBeLessThan(1_000);
});
