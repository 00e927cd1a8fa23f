import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { segmentId } from '../../src/model/ids.ts';
import { LOAD_BUCKETS, PARTITIONS } from '../../src/model/limits.ts';
import { partitionOf } from '../../src/model/partition.ts';
import type { SegmentRange } from '../../src/model/topic.ts';
import type { PublishContent, SentBatch } from '../../src/publish/request.ts';
import { cut, loadBuckets, type Slice, wholeContent } from '../../src/publish/slice.ts';
import { equalRanges } from '../../src/topology/plan-change.ts';
import { message } from './requests.ts';

const WHOLE: SegmentRange = { segment: segmentId(0), lo: 0, hi: PARTITIONS - 1 };
const messagesOf = (keys: readonly string[]): PublishContent => ({
  kind: 'messages',
  messages: keys.map((key, n) => message(key, String(n))),
});
const batchOf = (...partitions: number[]): SentBatch => ({ bytes: new Uint8Array(1), partitions, highestTimestampMs: 0 });
const batchesOf = (...batches: SentBatch[]): PublishContent => ({ kind: 'batches', batches });
const decoder = new TextDecoder();
const valuesOf = ({ content }: Slice): number[] =>
  content.kind === 'messages' ? content.messages.map(({ value }) => Number(decoder.decode(value ?? undefined))) : [];

test('every message is in one slice, at its position, in its range, in order; however often it is cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ maxLength: 3 }), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 64 }),
      fc.integer({ min: 1, max: 5 }),
      (keys, count, again) => {
        const slices = cut(wholeContent(messagesOf(keys), WHOLE), equalRanges(count, 1)).flatMap((slice) => {
          const width = slice.range.hi - slice.range.lo + 1;
          const finer = equalRanges(again, 100).map(({ segment, lo, hi }) => ({
            segment,
            lo: slice.range.lo + Math.floor((lo * width) / PARTITIONS),
            hi: slice.range.lo + Math.floor(((hi + 1) * width) / PARTITIONS) - 1,
          }));
          return cut(slice, finer);
        });
        expect(slices.flatMap(({ positions }) => positions).toSorted((a, b) => a - b)).toEqual(keys.map((_, n) => n));
        for (const slice of slices) {
          expect(valuesOf(slice)).toEqual(slice.positions);
          expect(slice.positions).toEqual(slice.positions.toSorted((a, b) => a - b));
          expect(slice.partitions).toEqual(slice.positions.map((position) => partitionOf(new TextEncoder().encode(keys[position]))));
          expect(slice.partitions.every((partition) => partition >= slice.range.lo && partition <= slice.range.hi)).toBe(true);
        }
      },
    ),
  );
});

describe('record batches', () => {
  const [low, high] = equalRanges(2, 0) as [SegmentRange, SegmentRange];

  test('go whole, each with all its partitions', () => {
    const slices = cut(wholeContent(batchesOf(batchOf(40_000), batchOf(1, 2), batchOf(3)), WHOLE), [low, high]);
    expect(slices.map(({ range, positions, partitions }) => [range.segment, positions, partitions])).toEqual([
      [high.segment, [0], [40_000]],
      [low.segment, [1, 2], [1, 2, 3]],
    ]);
  });

  test('with keys of several segments are refused', () => {
    expect(() => cut(wholeContent(batchesOf(batchOf(1), batchOf(2, 40_000)), WHOLE), [low, high])).toThrow(
      expect.objectContaining({ code: 'invalid-batch', field: 'batches[1]' }),
    );
  });

  test('outside the segment that was named are refused, as messages are', () => {
    expect(() => cut(wholeContent(batchesOf(batchOf(40_000)), WHOLE), [low])).toThrow(expect.objectContaining({ code: 'invalid-segment' }));
    expect(() => cut(wholeContent(messagesOf(['k0', 'k1']), WHOLE), [low])).toThrow(
      expect.objectContaining({ code: 'invalid-segment', field: 'messages[1].key' }),
    );
  });
});

test('load falls into sixteenths of the range', () => {
  fc.assert(
    fc.property(
      fc.nat({ max: PARTITIONS - 1 }),
      fc.nat({ max: PARTITIONS - 1 }),
      fc.array(fc.nat({ max: PARTITIONS - 1 })),
      (a, b, some) => {
        const range = { lo: Math.min(a, b), hi: Math.max(a, b) };
        const partitions = some.filter((partition) => partition >= range.lo && partition <= range.hi);
        const buckets = loadBuckets([range.lo, ...partitions, range.hi], range);
        expect(buckets).toHaveLength(LOAD_BUCKETS);
        expect(buckets.reduce((sum, count) => sum + count, 0)).toBe(partitions.length + 2);
        expect(buckets[0]).toBeGreaterThan(0);
      },
    ),
  );
  expect(loadBuckets([0, 4_095, 4_096, 65_535], WHOLE)).toEqual([2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
});
