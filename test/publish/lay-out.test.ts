import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type SegmentId, segmentId, uploadId } from '../../src/model/ids.ts';
import { UPLOAD_RUN_BYTES_MAX } from '../../src/model/upload-limits.ts';
import type { UploadedBatch } from '../../src/model/upload.ts';
import { uploadRuns } from '../../src/publish/encode-slice.ts';
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
        const [run = { start: 0, bytes: 0, count: 0 }, ...others] = member.runs;
        expect(object.subarray(run.start, run.start + run.bytes)).toEqual(Buffer.concat(part.batches));
        expect([others, run.count, member.count]).toEqual([[], part.count, part.count]);
      }
      expect(object).toHaveLength(bodyStart + parts.reduce((sum, part) => sum + part.bytes, 0));
      for (const segment of segments) expect(joinRuns(segment.parts.map(({ member }) => member))).toHaveLength(1);
    }),
  );
});

const run = (start: number, bytes: number) => ({ start, bytes, count: 1 });

test('runs with a member left out between them stay apart', () => {
  expect(joinRuns([run(0, 10), run(10, 5), run(20, 5), run(25, 5)].map((one) => ({ runs: [one] })))).toEqual([
    { start: 0, bytes: 15, count: 2 },
    { start: 20, bytes: 10, count: 2 },
  ]);
  expect(joinRuns([])).toEqual([]);
});

test('the runs of an upload are those that it has: neighbours up to a bound, and never joined again', () => {
  const batch = (start: number, bytes: number, count: number): UploadedBatch => ({
    start,
    bytes,
    count,
    partitions: [],
    highestTimestampMs: 0,
  });
  const half = UPLOAD_RUN_BYTES_MAX / 2;
  const runs = uploadRuns([batch(0, half, 1), batch(half, half, 2), batch(2 * half, 1, 3), batch(2 * half + 1, 2 * half, 4)]);
  expect(runs).toEqual([
    { start: 0, bytes: 2 * half, count: 3 },
    { start: 2 * half, bytes: 1, count: 3 },
    { start: 2 * half + 1, bytes: 2 * half, count: 4 },
  ]);
  const part: Part = { ...partOf(segmentId(0), [], 10), bytes: 4 * half + 1, uploaded: { upload: uploadId(0, '0'.repeat(9)), runs } };
  const layout = layOut([part], 0);
  expect(layout.body).toEqual([]);
  expect(layout.segments[0]?.parts[0]?.member).toMatchObject({ runs, count: 10 });
  expect(joinRuns(layout.segments[0]?.parts.map(({ member }) => member) ?? [])).toEqual(runs);
});
