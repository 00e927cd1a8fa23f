import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BATCH_OBJECT_HEADER_BYTES_MAX,
  batchObjectHeaderBytes,
  decodeBatchObjectHeader,
  encodeBatchObjectHeader,
} from '../../src/format/batch-object.ts';
import { segmentId, type TopicId } from '../../src/model/ids.ts';
import { arbitraryId } from './arbitrary-id.ts';

const EXAMPLE = { topic: 'tabcdefghijklmno' as TopicId, segments: [segmentId(0), segmentId(36)] };
const arbitraryHeader = fc.record({
  topic: arbitraryId as fc.Arbitrary<TopicId>,
  segments: fc.array(fc.nat({ max: 36 ** 7 - 1 }).map(segmentId), { minLength: 1, maxLength: 100 }),
});

describe('header of a batch object', () => {
  test('comes back from the front of the object, whatever stands behind it', () => {
    fc.assert(
      fc.property(arbitraryHeader, fc.uint8Array({ maxLength: 100 }), (header, batches) => {
        const bytes = encodeBatchObjectHeader(header);
        expect(bytes).toHaveLength(batchObjectHeaderBytes(header.segments.length));
        expect(decodeBatchObjectHeader(new Uint8Array([...bytes, ...batches]))).toEqual(header);
      }),
    );
  });

  test('is byte by byte what the description says', () => {
    expect(Buffer.from(encodeBatchObjectHeader(EXAMPLE)).toString('hex')).toBe(
      `4b4c504f 01 00 0002 ${Buffer.from('tabcdefghijklmno').toString('hex')} ${Buffer.from('s0000000s0000010').toString('hex')} e12e6af7`.replaceAll(
        ' ',
        '',
      ),
    );
  });

  test('holds as many segments as a topic can have open, and not one more', () => {
    const segments = Array.from({ length: 1_025 }, (_, n) => segmentId(n));
    const bytes = encodeBatchObjectHeader({ ...EXAMPLE, segments: segments.slice(0, 1_024) });
    expect(bytes).toHaveLength(BATCH_OBJECT_HEADER_BYTES_MAX);
    expect(decodeBatchObjectHeader(bytes).segments).toHaveLength(1_024);
    expect(() => encodeBatchObjectHeader({ ...EXAMPLE, segments })).toThrow(RangeError);
    expect(() => encodeBatchObjectHeader({ ...EXAMPLE, segments: [] })).toThrow(RangeError);
  });

  test('F18 each flipped bit and each cut is found', () => {
    const bytes = encodeBatchObjectHeader(EXAMPLE);
    const corrupt = expect.objectContaining({ kind: 'corrupt', code: 'corrupt' });
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Uint8Array.from(bytes, (byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
      expect(() => decodeBatchObjectHeader(flipped)).toThrow(corrupt);
    }
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodeBatchObjectHeader(bytes.subarray(0, length))).toThrow(corrupt);
    }
  });
});
