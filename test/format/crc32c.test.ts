import { crc32c } from '#crc32c';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { crc32c as native } from '../../src/format/crc32c-native.ts';
import { crc32c as portable } from '../../src/format/crc32c-portable.ts';

const implementations = [
  ['portable', portable],
  ['native', native],
  ['chosen by the package', crc32c],
] as const;

// The check value of the CRC catalogue and the examples of RFC 3720, appendix B.4.
const VECTORS: readonly (readonly [name: string, bytes: Uint8Array, crc: number])[] = [
  ['nothing', new Uint8Array(0), 0],
  ['123456789', new TextEncoder().encode('123456789'), 0xe3069283],
  ['32 zeros', new Uint8Array(32), 0x8a9136aa],
  ['32 times ff', new Uint8Array(32).fill(0xff), 0x62a8ab43],
  ['0 to 31', Uint8Array.from({ length: 32 }, (_, index) => index), 0x46dd794e],
  ['31 to 0', Uint8Array.from({ length: 32 }, (_, index) => 31 - index), 0x113fdb5c],
];

describe.each(implementations)('crc32c, %s', (_name, crcOf) => {
  test.each(VECTORS)('%s', (_vector, bytes, crc) => {
    expect(crcOf(bytes)).toBe(crc);
  });

  test('goes on from the CRC of what came before', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.uint8Array({ maxLength: 100 }), (before, after) => {
        expect(crcOf(after, crcOf(before))).toBe(crcOf(new Uint8Array([...before, ...after])));
      }),
    );
  });
});

test('both implementations agree on any bytes, at any alignment', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 1_000 }),
      fc.nat({ max: 20 }),
      fc.integer({ min: 0, max: 0xffffffff }),
      (bytes, start, initial) => {
        const part = bytes.subarray(start);
        expect(portable(part, initial)).toBe(native(part, initial));
      },
    ),
  );
});
