import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Candidate, chooseBrokers } from '../../../src/control/assignment/choose-brokers.ts';
import { createSeededRandom } from '../../simulation/seeded-random.ts';
import { brokerId } from '../some-broker.ts';

const candidate = (id: string, zone = '', segments = 0, busyPercent = 0): Candidate => ({ id: brokerId(id), zone, segments, busyPercent });

/** As many brokers in each zone, all of them idle. */
const equal = (zones: readonly number[]): Candidate[] =>
  zones.flatMap((size, zone) => Array.from({ length: size }, (_, n) => candidate(`b${zone}-${n}`, `z${zone}`)));

const arbitraryCandidates = fc.uniqueArray(
  fc.record({
    id: fc.stringMatching(/^[a-z]{1,4}$/).map(brokerId),
    zone: fc.constantFrom('', 'a', 'b', 'c'),
    segments: fc.nat(1_000),
    busyPercent: fc.nat(100),
  }),
  { minLength: 1, maxLength: 12, selector: ({ id }) => id },
);
const arbitraryReplicas = fc.integer({ min: 1, max: 8 });
/** Also 0 and what is just below 1. */
const arbitraryFraction = fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }));

const ASSIGNMENTS = 1_000;

/** How many of so many segments each broker is given. */
function assign(brokers: readonly Candidate[], replicas: number, seed: number): Map<string, number> {
  const { fraction } = createSeededRandom(seed);
  const segments = new Map(brokers.map(({ id }) => [id, 0]));
  for (let n = 0; n < ASSIGNMENTS; n += 1) {
    const counted = brokers.map((broker) => ({ ...broker, segments: segments.get(broker.id) ?? 0 }));
    for (const id of chooseBrokers(counted, { replicas, fraction })) segments.set(id, (segments.get(id) ?? 0) + 1);
  }
  return new Map(segments);
}

describe('a choice', () => {
  test('is of different brokers among those that may be chosen, as many as are wanted and there', () => {
    fc.assert(
      fc.property(arbitraryCandidates, arbitraryReplicas, arbitraryFraction, (candidates, replicas, fractions) => {
        const chosen = chooseBrokers(candidates, { replicas, fraction: () => fractions.next().value as number });
        expect(new Set(chosen).size).toBe(chosen.length);
        expect(chosen).toHaveLength(Math.min(replicas, candidates.length));
        const ids = new Set(candidates.map(({ id }) => id));
        expect(chosen.every((id) => ids.has(id))).toBe(true);
      }),
    );
  });

  test('takes a second one of a zone only when every zone has given one, or has none left', () => {
    fc.assert(
      fc.property(arbitraryCandidates, arbitraryReplicas, arbitraryFraction, (candidates, replicas, fractions) => {
        const chosen = new Set(chooseBrokers(candidates, { replicas, fraction: () => fractions.next().value as number }));
        const zones = Map.groupBy(candidates, ({ zone }) => zone);
        const given = [...zones.values()].map((all) => ({ all: all.length, used: all.filter(({ id }) => chosen.has(id)).length }));
        const most = Math.max(...given.map(({ used }) => used));
        expect(given.every(({ all, used }) => used >= most - 1 || used === all)).toBe(true);
      }),
    );
  });

  test('of nobody is empty', () => {
    expect(chooseBrokers([], { replicas: 2, fraction: () => 0 })).toEqual([]);
  });
});

describe('after 1,000 assignments', () => {
  test('no broker has more than 1.25 times the mean of equal brokers', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 10 }),
        fc.integer({ min: 1, max: 4 }),
        fc.nat(),
        (zones, size, replicas, seed) => {
          const brokers = equal(Array.from({ length: zones }, () => size));
          const counts = [...assign(brokers, replicas, seed).values()];
          const total = counts.reduce((sum, count) => sum + count, 0);
          expect(total).toBe(ASSIGNMENTS * Math.min(replicas, brokers.length));
          expect(Math.max(...counts)).toBeLessThanOrEqual((1.25 * total) / brokers.length);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('zones of different sizes are used as their size allows, and each is used evenly', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 4 }), fc.nat(), (sizes, seed) => {
        const brokers = equal(sizes);
        const counts = assign(brokers, 2, seed);
        for (const ofZone of Map.groupBy(brokers, ({ zone }) => zone).values()) {
          const given = ofZone.map(({ id }) => counts.get(id) ?? 0);
          const mean = given.reduce((sum, count) => sum + count, 0) / given.length;
          expect(Math.max(...given)).toBeLessThanOrEqual(1.25 * mean);
        }
        // No zone is so large that half of all segments' brokers can't be elsewhere: then all brokers have the same.
        const feasible = 2 * Math.max(...sizes) <= brokers.length;
        if (feasible) expect(Math.max(...counts.values())).toBeLessThanOrEqual((1.25 * 2 * ASSIGNMENTS) / brokers.length);
      }),
      { numRuns: 40 },
    );
  });

  test('a broker that is busy has fewer, and one that joins catches up', () => {
    const busy = [candidate('busy', '', 0, 100), ...['a', 'b', 'c'].map((id) => candidate(id))];
    const counts = assign(busy, 1, 7);
    expect(counts.get('busy')).toBeLessThan((counts.get('a') ?? 0) * 0.75);
    expect(counts.get('busy')).toBeGreaterThan(0);
    const { fraction } = createSeededRandom(3);
    const joined = [candidate('new'), candidate('a', '', 500), candidate('b', '', 500)];
    const firsts = Array.from({ length: 300 }, () => chooseBrokers(joined, { replicas: 1, fraction })[0]);
    // It is one of the two that are picked two times of three, and then it is the better one.
    expect(firsts.filter((id) => id === 'new').length).toBeGreaterThan(150);
  });
});
