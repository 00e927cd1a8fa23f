import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type SegmentId, segmentId } from '../../src/model/ids.ts';
import { layOut } from '../../src/publish/lay-out.ts';
import type { Part } from '../../src/publish/part.ts';
import { joinRuns } from '../../src/publish/plan-commit.ts';

const partOf = (segment: SegmentId, batches: readonly Uint8Array[], count: number): Part => ({
  segment,
  batches,
  bytes: batches.reduce((sum, batch) => sum + batch.length, 0),
  count,
  buckets: [count],
  highestTimestampMs: 0,
});
const arbitraryPart = fc
  .tuple(
    fc.nat({ max: 3 }),
    fc.array(fc.uint8Array({ minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 3 }),
    fc.integer({ min: 1, max: 9 }),
  )
  .map(([segment, batches, count]) => partOf(segmentId(segment), batches, count));

test('each part has its bytes in the object, and a whole segment is one run', () => {
  fc.assert(
    fc.property(fc.array(arbitraryPart, { minLength: 1, maxLength: 20 }), fc.nat({ max: 100 }), (parts, bodyStart) => {
      const { segments, body } = layOut(parts, bodyStart);
      const object = Buffer.concat([Buffer.alloc(bodyStart), ...body]);
      const placed = segments.flatMap((segment) => segment.parts);
      expect(placed.map(({ part }) => part).toSorted((a, b) => parts.indexOf(a) - parts.indexOf(b))).toEqual(parts);
      for (const { part, member } of placed) {
        expect(object.subarray(member.run.start, member.run.start + member.run.bytes)).toEqual(Buffer.concat(part.batches));
        expect(member.run.count).toBe(part.count);
      }
      expect(object).toHaveLength(bodyStart + parts.reduce((sum, part) => sum + part.bytes, 0));
      for (const segment of segments) expect(joinRuns(segment.parts.map(({ member }) => member.run))).toHaveLength(1);
    }),
  );
});

test('runs with a member left out between them stay apart', () => {
  const run = (start: number, bytes: number) => ({ start, bytes, count: 1 });
  expect(joinRuns([run(0, 10), run(10, 5), run(20, 5), run(25, 5)])).toEqual([
    { start: 0, bytes: 15, count: 2 },
    { start: 20, bytes: 10, count: 2 },
  ]);
  expect(joinRuns([])).toEqual([]);
});
