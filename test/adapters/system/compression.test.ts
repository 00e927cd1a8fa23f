import { randomBytes } from 'node:crypto';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createCompression } from '../../../src/adapters/system/compression.ts';

const MEBIBYTE = 1_048_576;
const text = (length: number): Buffer => Buffer.from('{"origin":"SEA","delay":12}\n'.repeat(Math.ceil(length / 28)).slice(0, length));
const codecs = ['zstd', 'gzip'] as const;
const packed = { zstd: zlib.zstdCompressSync, gzip: zlib.gzipSync };

describe.each(codecs)('compression by %s', (codec) => {
  const compression = createCompression({ codec });

  test.each([1, 2_000, 65_536, 65_537, 3 * MEBIBYTE])('%i bytes come back as they were', async (length) => {
    const bytes = text(length);
    const result = await compression.compress(bytes);
    expect(result.codec).toBe(length > 100 ? codec : 'none');
    expect(Buffer.compare(await compression.decompress(result.codec, result.bytes, length), bytes)).toBe(0);
  });

  test('any bytes come back as they were, and never larger', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 2_000 }), async (bytes) => {
        const result = await compression.compress(bytes);
        expect(result.bytes.length).toBeLessThanOrEqual(bytes.length);
        expect(Buffer.from(await compression.decompress(result.codec, result.bytes, bytes.length || 1))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test.each([500, 70_000, MEBIBYTE])('%i random bytes stay as they are', async (length) => {
    const bytes = randomBytes(length);
    const result = await compression.compress(bytes);
    expect(result).toEqual({ codec: 'none', bytes });
    expect(result.bytes).toBe(bytes);
  });

  test('A14 more than the bound is refused, exactly the bound is not', async () => {
    for (const length of [1_000, 300_000, 4 * MEBIBYTE]) {
      const bomb = packed[codec](Buffer.alloc(length));
      expect(await compression.decompress(codec, bomb, length)).toHaveLength(length);
      await expect(compression.decompress(codec, bomb, length - 1)).rejects.toMatchObject({ kind: 'invalid', code: 'too-large' });
    }
    await expect(compression.decompress(codec, packed[codec](text(10)), 0)).rejects.toMatchObject({ code: 'too-large' });
  });

  test.each([
    ['nothing', (bytes: Buffer) => bytes.subarray(0, 0)],
    ['a cut input', (bytes: Buffer) => bytes.subarray(0, bytes.length - 3)],
    ['something else', () => text(100)],
    ['an input with more behind it', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('more')])],
    ['an input with zeros behind it', (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(4)])],
  ])('%s is refused', async (_name, damage) => {
    for (const length of [1_000, 200_000]) {
      const damaged = damage(packed[codec](randomBytes(length)));
      await expect(compression.decompress(codec, damaged, MEBIBYTE)).rejects.toMatchObject({
        kind: 'invalid',
        code: 'invalid-compression',
      });
    }
  });
});

test('a zstd frame that asks for a window of 128 MiB is refused', async () => {
  // Magic, a header without content size and with the window's size, one raw block of 3 bytes, the last one.
  const frame = Buffer.from('28b52ffd0088190000616263', 'hex');
  expect(zlib.zstdDecompressSync(frame).toString()).toBe('abc');
  const refused = createCompression({ codec: 'zstd' }).decompress('zstd', frame, 1_000);
  await expect(refused).rejects.toMatchObject({ code: 'invalid-compression' });
});

test('without a codec nothing is compressed, and the others can still be read', async () => {
  const compression = createCompression({ codec: 'none' });
  const bytes = text(MEBIBYTE);
  expect((await compression.compress(bytes)).bytes).toBe(bytes);
  expect(await compression.decompress('none', bytes, MEBIBYTE)).toBe(bytes);
  await expect(compression.decompress('none', bytes, MEBIBYTE - 1)).rejects.toMatchObject({ code: 'too-large' });
  expect(Buffer.compare(await compression.decompress('gzip', zlib.gzipSync(bytes), MEBIBYTE), bytes)).toBe(0);
});

test('the sample looks at all of the input: text behind a random start is found', async () => {
  const mixed = Buffer.concat([randomBytes(8_192), text(MEBIBYTE)]);
  expect((await createCompression({ codec: 'zstd' }).compress(mixed)).codec).toBe('zstd');
});
