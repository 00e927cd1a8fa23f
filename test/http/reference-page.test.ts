import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BatchPlace } from '../../src/consume/page.ts';
import { createMemoryPresigner } from '../../src/adapters/memory/memory-presigner.ts';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { referencesAnswer, stretchesOf } from '../../src/http/reference-page.ts';
import { segmentId } from '../../src/model/ids.ts';
import { REFERENCE_MS } from '../../src/model/upload-limits.ts';

const steps = fc.array(
  fc.record({
    segment: fc.nat({ max: 1 }),
    object: fc.nat({ max: 1 }),
    count: fc.integer({ min: 1, max: 3 }),
    bytes: fc.integer({ min: 1, max: 9 }),
    /** Bytes and offsets that are left out before it: refused, or quarantined. */
    gap: fc.constantFrom(0, 0, 0, 5),
    passed: fc.constantFrom(0, 0, 0, 1),
  }),
  { maxLength: 20 },
);

/** Places as pages have them: offsets of a segment and bytes of an object go up. */
function placesOf(given: typeof steps extends fc.Arbitrary<infer T> ? T : never): BatchPlace[] {
  const offsets = [0, 0];
  const ends = [0, 0];
  return given.map(({ segment, object, count, bytes, gap, passed }) => {
    const from = (offsets[segment] ?? 0) + passed;
    const start = (ends[object] ?? 0) + gap;
    offsets[segment] = from + count;
    ends[object] = start + bytes;
    return { segment: segmentId(segment), baseOffset: from, count, from, to: from + count, object: `log/${object}`, start, bytes, crc: 0 };
  });
}

test('stretches are the places in their order, each as long as neighbours adjoin in bytes and offsets, and no longer', () => {
  fc.assert(
    fc.property(steps, (given) => {
      const places = placesOf(given);
      const stretches = stretchesOf(places);
      expect(stretches.flatMap(({ batches }) => batches)).toEqual(places);
      const ends = new Map<BatchPlace | undefined, boolean>(stretches.map(({ batches }) => [batches.at(-1), true]));
      for (const [index, place] of places.entries()) {
        const next = places[index + 1];
        const adjoins =
          next !== undefined &&
          next.segment === place.segment &&
          next.object === place.object &&
          next.start === place.start + place.bytes &&
          next.from === place.to;
        expect(ends.get(place) ?? false).toBe(!adjoins);
      }
      for (const { batches, ...stretch } of stretches) {
        const bytes = batches.reduce((sum, batch) => sum + batch.bytes, 0);
        const [first] = batches;
        expect(stretch).toEqual({
          segment: first?.segment,
          object: first?.object,
          start: first?.start,
          bytes,
          from: first?.from,
          to: batches.at(-1)?.to,
        });
      }
    }),
  );
});

test('an answer’s URLs end no sooner than it says: a signature has whole seconds', async () => {
  const nowMs = 1_700_000_000_000;
  const clock = { ...createSystemClock(), nowMs: () => nowMs + 999 };
  const presigner = createMemoryPresigner({ store: createMemoryStore(), clock });
  const { expiresAt } = (await referencesAnswer({ presigner, clock }, [], {}).json()) as { readonly expiresAt: string };
  expect(Date.parse(expiresAt)).toBe(nowMs + REFERENCE_MS);
});
