import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { partitionOf } from '../../src/model/partition.ts';

const utf8 = new TextEncoder();

// Computed with another implementation; a change of any of them moves stored keys to other segments.
const VECTORS: readonly (readonly [name: string, key: string, partition: number])[] = [
  ['empty', '', 54301],
  ['a', 'a', 3265],
  ['b', 'b', 37611],
  ['c', 'c', 19082],
  ['the word null', 'null', 14246],
  ['a b', 'a b', 3273],
  ['a+b', 'a+b', 26056],
  ['größe, composed', 'gr\u00f6\u00dfe', 64955],
  ['größe, decomposed', 'gro\u0308\u00dfe', 31246],
  ['café, composed', 'caf\u00e9', 1809],
  ['café, decomposed', 'cafe\u0301', 4264],
  ['taxi', '\u{1f695}', 23825],
  ['NUL', '\0', 37816],
  ['a NUL b', 'a\0b', 28725],
  ['4,096 times x', 'x'.repeat(4096), 8259],
  ['1', '1', 50378],
  ['1.0', '1.0', 58562],
  ['9007199254740992', '9007199254740992', 14968],
  ['9007199254740993', '9007199254740993', 12845],
  ['lowest', 'k5076', 0],
  ['last of the low half', 'k67821', 32767],
  ['first of the high half', 'k14210', 32768],
  ['highest', 'k11317', 65535],
  ['k0', 'k0', 10454],
  ['k2', 'k2', 24930],
  ['k6', 'k6', 19817],
  ['k1', 'k1', 46647],
  ['k3', 'k3', 63403],
  ['k4', 'k4', 51467],
];

describe('partitionOf', () => {
  test.each(VECTORS)('J-02 %s', (_name, key, partition) => {
    expect(partitionOf(utf8.encode(key))).toBe(partition);
  });

  test('agrees with the MD5 of the runtime on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (key) => {
        expect(partitionOf(key)).toBe(createHash('md5').update(key).digest().readUInt16BE(0));
      }),
    );
  });

  test('looks at the view only, not at the buffer behind it', () => {
    const buffer = utf8.encode('xxaxx');
    expect(partitionOf(buffer.subarray(2, 3))).toBe(3265);
    expect(partitionOf(Buffer.from('a'))).toBe(3265);
  });
});
