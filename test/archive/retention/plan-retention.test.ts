import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Cut, type Kept, planRetention, type RetentionBounds, type Unit } from '../../../src/archive/retention/plan-retention.ts';
import { planWalks } from '../../../src/archive/retention/walk-segments.ts';
import { RETENTION_UNITS_AHEAD_MAX, RETENTION_UNITS_MAX } from '../../../src/model/archive-limits.ts';
import { segmentId } from '../../../src/model/ids.ts';

const forEver = new AbortController().signal;

/** Sizes and times of each segment's units, the first of which begins at `start`. */
type Sketch = { readonly start: number; readonly gone: number; readonly units: readonly (readonly [bytes: number, laterMs: number])[] };

function keptOf({ start, gone, units }: Sketch, index: number): Kept {
  const made: Unit[] = [];
  let last: Unit = { end: start, committedMs: 1_000, bytes: gone };
  for (const [bytes, laterMs] of units) {
    last = { end: last.end + 3, committedMs: last.committedMs + laterMs, bytes: last.bytes + bytes };
    made.push(last);
  }
  return { segment: segmentId(index), start, goneBytes: gone, bytes: last.bytes, units: made, more: false };
}

const sketch = fc.record({
  start: fc.nat(100),
  gone: fc.nat(1_000),
  units: fc.array(fc.tuple(fc.nat(50), fc.nat(20)), { maxLength: 12 }),
});
const topic = fc.array(sketch, { minLength: 1, maxLength: 5 }).map((sketches) => sketches.map(keptOf));
const bounds: fc.Arbitrary<RetentionBounds> = fc.record(
  { committedMs: fc.integer({ min: 990, max: 1_150 }), bytesMax: fc.integer({ min: 1, max: 1_200 }) },
  { requiredKeys: [] },
);

/** What is kept of each segment after the cuts of these reasons. */
function after(kept: readonly Kept[], cuts: readonly Cut[]): Kept[] {
  return kept.map((one) => {
    const last = cuts.findLast(({ segment }) => segment === one.segment)?.to;
    return last === undefined
      ? one
      : { ...one, start: last.end, goneBytes: last.bytes, units: one.units.filter(({ end }) => end > last.end) };
  });
}
const bytesOf = (kept: readonly Kept[]): number => kept.reduce((sum, { bytes, goneBytes }) => sum + bytes - goneBytes, 0);

describe('what retention lets go', () => {
  test('is by age what was committed then or before, and nothing else', () => {
    fc.assert(
      fc.property(topic, fc.integer({ min: 990, max: 1_150 }), (kept, committedMs) => {
        const cuts = planRetention(kept, { committedMs });
        expect(cuts.every(({ reason }) => reason === 'max-age')).toBe(true);
        for (const one of after(kept, cuts)) expect(one.units.every((unit) => unit.committedMs > committedMs)).toBe(true);
        for (const { to } of cuts) expect(to.committedMs).toBeLessThanOrEqual(committedMs);
      }),
    );
  });

  test('is by size the oldest of all segments, as long as so much is kept', () => {
    fc.assert(
      fc.property(topic, fc.integer({ min: 1, max: 1_200 }), (kept, bytesMax) => {
        const cuts = planRetention(kept, { bytesMax });
        const left = after(kept, cuts);
        expect(bytesOf(left)).toBeGreaterThanOrEqual(Math.min(bytesMax, bytesOf(kept)));
        const oldest = Math.min(...left.map(({ units }) => units[0]?.committedMs ?? Infinity));
        const sizes = left.flatMap(({ units: [first], goneBytes }) => (first?.committedMs === oldest ? [first.bytes - goneBytes] : []));
        // Of the oldest that is left, none could go as well.
        if (bytesOf(left) > bytesMax) for (const size of sizes.slice(0, 1)) expect(bytesOf(left) - size).toBeLessThan(bytesMax);
        for (const { to } of cuts) expect(to.committedMs).toBeLessThanOrEqual(oldest);
      }),
    );
  });

  test('is said once for each segment and reason, and where it begins and ends', () => {
    fc.assert(
      fc.property(topic, bounds, (kept, wanted) => {
        const cuts = planRetention(kept, wanted);
        for (const one of kept) {
          const ours = cuts.filter(({ segment }) => segment === one.segment);
          expect(ours.map(({ reason }) => reason)).toEqual(
            ['max-age', 'max-bytes'].filter((reason) => ours.some((cut) => cut.reason === reason)),
          );
          let [from, gone] = [one.start, one.goneBytes];
          for (const cut of ours) {
            expect([cut.from, cut.bytes]).toEqual([from, cut.to.bytes - gone]);
            expect(cut.to.end).toBeGreaterThan(from);
            [from, gone] = [cut.to.end, cut.to.bytes];
          }
        }
      }),
    );
  });

  test('is nothing whose age or size has to be compared with what nobody has looked at', () => {
    const [old, other] = [
      keptOf({ start: 0, gone: 0, units: [[10, 0]] }, 0),
      keptOf(
        {
          start: 0,
          gone: 0,
          units: [
            [10, 5],
            [10, 5],
          ],
        },
        1,
      ),
    ];
    expect(planRetention([old, other], { bytesMax: 1 })).toHaveLength(2);
    // Behind that one there may be some that are older than the other segment's.
    expect(planRetention([{ ...old, more: true }, other], { bytesMax: 1 }).map(({ segment }) => segment)).toEqual([old.segment]);
    expect(planRetention([{ ...old, units: [], more: true }, other], { bytesMax: 1 })).toEqual([]);
  });

  test('is the same where it is read bit by bit', async () => {
    await fc.assert(
      fc.asyncProperty(topic, bounds, async (kept, wanted) => {
        const { cuts, complete } = await planWalks({ walks: kept.map(walkOf), bounds: wanted, onFailed: () => undefined }, forEver);
        expect(complete).toBe(true);
        expect(cuts.toSorted(bySegment)).toEqual(planRetention(kept, wanted).toSorted(bySegment));
      }),
    );
  });
});

const bySegment = (a: Cut, b: Cut): number => (a.segment + a.reason < b.segment + b.reason ? -1 : 1);
const walkOf = (kept: Kept) => ({ kept: { ...kept, units: [], more: true }, units: inTurn(kept.units) });

async function* inTurn(units: readonly Unit[]): AsyncGenerator<Unit, void> {
  yield* units;
}

async function* endless(): AsyncGenerator<Unit, void> {
  for (let end = 1; ; end += 1) yield { end, committedMs: 1, bytes: end };
}

describe('what is read of a segment for it', () => {
  const many = (index: number, laterMs: number): Kept =>
    keptOf({ start: 0, gone: 0, units: Array.from({ length: 2_000 }, () => [10, laterMs] as const) }, index);
  const counted = (kept: Kept) => {
    const read = { units: 0 };
    async function* units(): AsyncGenerator<Unit, void> {
      for (const unit of kept.units) {
        read.units += 1;
        yield unit;
      }
    }
    return { walk: { kept: { ...kept, units: [], more: true }, units: units() }, read };
  };

  test('is by age what is old, and one more', async () => {
    const { walk, read } = counted(many(0, 1));
    const { cuts } = await planWalks({ walks: [walk], bounds: { committedMs: 1_500 }, onFailed: () => undefined }, forEver);
    expect(cuts).toMatchObject([{ from: 0, to: { end: 1_500 }, bytes: 5_000 }]);
    expect(read.units).toBe(501);
  });

  test('is by size little more than what goes', async () => {
    const [old, young] = [counted(many(0, 1)), counted(many(1, 100))];
    const { cuts } = await planWalks({ walks: [old.walk, young.walk], bounds: { bytesMax: 30_000 }, onFailed: () => undefined }, forEver);
    expect(cuts.map(({ segment, bytes }) => [segment, bytes])).toEqual([
      ['s0000000', 9_910],
      ['s0000001', 90],
    ]);
    expect(old.read.units).toBeLessThanOrEqual(991 + RETENTION_UNITS_AHEAD_MAX);
    expect(young.read.units).toBeLessThanOrEqual(9 + RETENTION_UNITS_AHEAD_MAX);
  });

  test('has an end: what was found by then goes, and the next one goes on', async () => {
    const walk = { kept: { ...many(0, 1), units: [], more: true }, units: endless() };
    const plan = await planWalks({ walks: [walk], bounds: { committedMs: 1 }, onFailed: () => undefined }, forEver);
    const end = RETENTION_UNITS_MAX;
    expect(plan).toEqual({
      cuts: [{ segment: 's0000000', reason: 'max-age', from: 0, to: { end, committedMs: 1, bytes: end }, bytes: end }],
      complete: false,
    });
  });

  test('is not all there is where so many segments leave no look for the last one', async () => {
    const count = RETENTION_UNITS_MAX / RETENTION_UNITS_AHEAD_MAX + 1;
    const walks = Array.from({ length: count }, (_, segment) => ({
      kept: { ...many(segment, 1), units: [], more: true },
      units: endless(),
    }));
    expect(await planWalks({ walks, bounds: { bytesMax: 0 }, onFailed: () => undefined }, forEver)).toEqual({ cuts: [], complete: false });
  });

  test('leaves out a segment that cannot be read, and lets the others go on', async () => {
    const good = counted(many(0, 1));
    const bad = { kept: { ...many(1, 0), units: [], more: true }, units: broken() };
    const failed: string[] = [];
    const onFailed = (segment: string): number => failed.push(segment);
    const { cuts } = await planWalks({ walks: [good.walk, bad], bounds: { bytesMax: 10_000 }, onFailed }, forEver);
    expect(failed).toEqual(['s0000001']);
    expect(cuts).toMatchObject([{ segment: 's0000000', bytes: 10_000 }]);
  });

  async function* broken(): AsyncGenerator<Unit, void> {
    yield* [];
    throw new Error('planted');
  }
});
