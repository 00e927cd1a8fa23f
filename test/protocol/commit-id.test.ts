import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CommitId } from '../../src/model/ids.ts';
import { commitTimeMs, createCommitIds, formatCommitId, timeOfCommitMs } from '../../src/protocol/commit-id.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { createVirtualClock } from '../simulation/virtual-clock.ts';

const timeMs = fc.integer({ min: 0, max: 36 ** 9 - 1 });
const instance = fc.stringMatching(/^[0-9a-z]{8}$/);
const counter = fc.integer({ min: 0, max: 36 ** 5 - 1 });
const HOUR_MS = 3_600_000;

test('an id has a fixed width, and sorts by time, then instance, then counter', () => {
  const parts = fc.tuple(timeMs, instance, counter);
  fc.assert(
    fc.property(parts, parts, ([timeA, instanceA, counterA], [timeB, instanceB, counterB]) => {
      const a = formatCommitId(timeA, instanceA, counterA);
      const b = formatCommitId(timeB, instanceB, counterB);
      expect(a).toMatch(/^[0-9a-z]{22}$/);
      expect(timeOfCommitMs(a)).toBe(timeA);
      const [difference] = [timeA - timeB, instanceA < instanceB ? -1 : Number(instanceA > instanceB), counterA - counterB].filter(Boolean);
      expect(Math.sign(a < b ? -1 : Number(a > b))).toBe(Math.sign(difference ?? 0));
    }),
  );
});

test('an id is above every guard, whatever the clock says', () => {
  fc.assert(
    fc.property(timeMs, fc.tuple(timeMs, instance, counter), (nowMs, [guardMs, guardInstance, guardCounter]) => {
      fc.pre(guardMs < 36 ** 9 - 1);
      const guard = formatCommitId(guardMs, guardInstance, guardCounter);
      const cid = formatCommitId(commitTimeMs(nowMs, guard), '00000000', 0);
      expect(cid > guard).toBe(true);
      expect(timeOfCommitMs(cid)).toBe(Math.max(nowMs, guardMs + 1));
    }),
  );
});

function mint(count: number, seed: number): CommitId[] {
  const ids = createCommitIds({ clock: createVirtualClock(), random: createSeededRandom(seed) });
  return Array.from({ length: count }, () => ids.mint(''));
}

describe('minting', () => {
  test('A3: two instances mint different ids in one millisecond', () => {
    const ids = [...mint(1_000, 1), ...mint(1_000, 2)];
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(ids.map(timeOfCommitMs)).size).toBe(1);
  });

  test('ids of one instance rise within a millisecond', () => {
    const ids = mint(1_000, 1);
    expect(ids).toEqual(ids.toSorted());
  });

  test('J-29: a broker an hour behind mints above a guard of now', () => {
    const [guard] = mint(1, 1);
    const behind = createCommitIds({ clock: createVirtualClock().skewed({ ms: -HOUR_MS }), random: createSeededRandom(2) });
    if (guard === undefined) throw new Error('no guard');
    expect(behind.mint('') > guard).toBe(false);
    expect(behind.mint(guard) > guard).toBe(true);
  });
});
