import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFileCompression } from '../../../src/adapters/system/file-compression.ts';

const { compress, decompress } = createFileCompression();
const text = Buffer.from('{"origin":"SEA","delay":12}\n'.repeat(5_000));
/** In the frame's header: a checksum is at the end. */
const CHECKSUM_FLAG = 4;

test('any bytes come back as they were, from a frame that everybody reads', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5_000 }), (bytes) => {
      const packed = compress(bytes);
      expect(Buffer.compare(decompress(packed, bytes.length), bytes)).toBe(0);
      if (bytes.length > 0) expect(Buffer.compare(zstdDecompressSync(packed), bytes)).toBe(0);
    }),
  );
});

test('no bytes stay none, others have a checksum', () => {
  expect(compress(Buffer.alloc(0))).toHaveLength(0);
  expect((compress(text)[4] ?? 0) & CHECKSUM_FLAG).toBe(CHECKSUM_FLAG);
});

test.each<[string, Buffer, number]>([
  ['a flipped bit', Buffer.from(compress(text)).map((byte, at) => (at === 40 ? byte ^ 1 : byte)) as Buffer, text.length],
  ['a frame that ends early', Buffer.from(compress(text)).subarray(0, 60), text.length],
  ['no bytes where there should be some', Buffer.alloc(0), 5],
  ['fewer bytes than there should be', Buffer.from(compress(text)), text.length + 1],
  ['more bytes than there should be', Buffer.from(compress(text)), text.length - 1],
  ['many more', zstdCompressSync(Buffer.alloc(10_000_000)), 100],
  ['bytes where there should be none', Buffer.from(compress(text)), 0],
])('%s is refused', (_, bytes, length) => {
  expect(() => decompress(bytes, length)).toThrow(expect.objectContaining({ kind: 'invalid', code: 'invalid-compression' }) as Error);
});
