import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ByteRange } from '../../src/consume/object-ranges.ts';
import { planRanges } from '../../src/consume/plan-ranges.ts';
import { READ_GAP_BYTES_MAX, READ_RANGE_BYTES_MAX } from '../../src/model/limits.ts';

const wanted = fc.array(
  fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    start: fc.integer({ min: 0, max: 20 }).map((n) => n * 700_000),
    length: fc.integer({ min: 1, max: 6_000_000 }),
  }),
  { maxLength: 12 },
);

const run = (start: number, length: number, key = 'a'): ByteRange => ({ key, start, length });
const end = (range: ByteRange): number => range.start + range.length;

describe('planRanges', () => {
  test('every run lies in its range; ranges come in the order of their first run, and only a single run passes the bound', () => {
    fc.assert(
      fc.property(wanted, (runs) => {
        const { ranges, rangeOf } = planRanges(runs, READ_GAP_BYTES_MAX);
        expect(rangeOf).toHaveLength(runs.length);
        const firsts = ranges.map((_, at) => rangeOf.indexOf(at));
        expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
        runs.forEach((wantedRun, index) => {
          const range = ranges[rangeOf[index] ?? -1];
          expect(range?.key).toBe(wantedRun.key);
          expect(range?.start).toBeLessThanOrEqual(wantedRun.start);
          expect(end(range ?? wantedRun)).toBeGreaterThanOrEqual(end(wantedRun));
        });
        for (const [at, range] of ranges.entries()) {
          const longest = Math.max(...runs.filter((_, index) => rangeOf[index] === at).map((one) => one.length));
          expect(range.length).toBeLessThanOrEqual(Math.max(longest, READ_RANGE_BYTES_MAX));
        }
      }),
    );
  });

  test('neighbours of one object share a range, across a small gap and whatever the order; a wide gap parts them', () => {
    expect(planRanges([run(300, 100), run(0, 100), run(100, 200)], READ_GAP_BYTES_MAX)).toEqual({
      ranges: [run(0, 400)],
      rangeOf: [0, 0, 0],
    });
    const near = 100 + READ_GAP_BYTES_MAX;
    expect(planRanges([run(0, 100), run(near, 10)], READ_GAP_BYTES_MAX).ranges).toEqual([run(0, near + 10)]);
    expect(planRanges([run(0, 100), run(near + 1, 10)], READ_GAP_BYTES_MAX).ranges).toEqual([run(0, 100), run(near + 1, 10)]);
    expect(planRanges([run(0, 100), run(100, 100, 'b')], READ_GAP_BYTES_MAX).ranges).toHaveLength(2);
    expect(planRanges([run(0, READ_RANGE_BYTES_MAX), run(READ_RANGE_BYTES_MAX, 1)], READ_GAP_BYTES_MAX).ranges).toHaveLength(2);
  });
});
