import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { splitRun } from '../../src/consume/split-run.ts';
import { encodeBatch } from '../../src/format/record-batch-encode.ts';
import { compression, message } from './fixture.ts';

const runs = fc.record({
  counts: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 6 }),
  offset: fc.integer({ min: 0, max: 1_000 }),
});

async function runOf(counts: readonly number[]): Promise<{ bytes: Uint8Array; batches: Uint8Array[]; count: number }> {
  const batches = await Promise.all(
    counts.map((count, at) =>
      encodeBatch(
        Array.from({ length: count }, (_, n) => message(`batch ${at} message ${n}`)),
        compression,
      ),
    ),
  );
  return { batches, bytes: Buffer.concat(batches), count: counts.reduce((sum, count) => sum + count, 0) };
}

describe('splitRun', () => {
  test('gives each batch its offsets', async () => {
    await fc.assert(
      fc.asyncProperty(runs, async ({ counts, offset }) => {
        const { bytes, batches, count } = await runOf(counts);
        const parts = splitRun(bytes, { offset, count, bytes: bytes.length });
        expect(parts.map((part) => part.count)).toEqual(counts);
        parts.forEach((part, at) => expect(Buffer.compare(part.bytes ?? Buffer.of(), batches[at] ?? Buffer.of())).toBe(0));
        expect(parts.map((part) => part.offset)).toEqual(counts.map((_, at) => offset + counts.slice(0, at).reduce((a, b) => a + b, 0)));
      }),
    );
  });

  test('F18 with any bits flipped or the end missing, what it still gives is right, and the rest is named as damage', async () => {
    await fc.assert(
      fc.asyncProperty(
        runs,
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 7 })), { maxLength: 2 }),
        fc.option(fc.nat(), { nil: undefined }),
        async ({ counts, offset }, flips, cut) => {
          const { bytes, batches, count } = await runOf(counts);
          const damaged = Uint8Array.from(bytes);
          for (const [at, bit] of flips) damaged[at % bytes.length] = (damaged[at % bytes.length] ?? 0) ^ (1 << bit);
          const left = cut === undefined ? damaged : damaged.subarray(0, cut % bytes.length);
          const parts = splitRun(left, { offset, count, bytes: bytes.length });
          let next = offset;
          for (const part of parts) {
            expect(part.offset).toBe(next);
            expect(part.count).toBeGreaterThan(0);
            next += part.count;
            if (part.bytes === undefined) continue;
            const at = counts.findIndex((_, index) => offset + counts.slice(0, index).reduce((a, b) => a + b, 0) === part.offset);
            // Base offset and leader epoch are outside the checksum, and nobody reads them.
            expect(Buffer.compare(part.bytes.subarray(16), batches[at]?.subarray(16) ?? Buffer.of())).toBe(0);
          }
          expect(next).toBe(offset + count);
          expect(cut === undefined || parts.some((part) => part.bytes === undefined)).toBe(true);
        },
      ),
      { numRuns: 400 },
    );
  });

  test('one damaged payload costs one batch: those behind it are placed from the end', async () => {
    const { bytes, batches, count } = await runOf([2, 1, 3, 1]);
    const at = (batches[0]?.length ?? 0) + (batches[1]?.length ?? 0) - 1;
    const damaged = Uint8Array.from(bytes, (byte, index) => (index === at ? byte ^ 1 : byte));
    const parts = splitRun(damaged, { offset: 10, count, bytes: bytes.length });
    expect(parts.map(({ offset, count: n, bytes: found }) => [offset, n, found !== undefined])).toEqual([
      [10, 2, true],
      [12, 1, false],
      [13, 3, true],
      [16, 1, true],
    ]);
  });

  test('counts that contradict the index make the whole run damage', async () => {
    const { bytes } = await runOf([2, 1]);
    for (const count of [2, 4]) {
      expect(splitRun(bytes, { offset: 5, count, bytes: bytes.length })).toEqual([{ offset: 5, count, bytes: undefined }]);
    }
  });
});
