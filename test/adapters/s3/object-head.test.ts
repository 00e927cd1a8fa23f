import { expect, test } from 'vitest';
import { parseObjectHead } from '../../../src/adapters/s3/object-head.ts';

const CHECKSUM = 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=';
const SHA256 = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';

const parse = (contentLength: string, checksum?: string, contentEncoding?: string) =>
  parseObjectHead({ contentLength, checksum, contentEncoding });

test('length and hash of an object', () => {
  expect(parse('5', CHECKSUM)).toEqual({ bytes: 5, sha256: SHA256 });
  expect(parse('0')).toEqual({ bytes: 0, sha256: undefined });
  expect(parse('5368709120', CHECKSUM).bytes).toBe(5_368_709_120);
});

test.each(['gzip', 'zstd', 'identity, gzip', 'aws-chunked'])('what is handed out as %s has no hash: readers get other bytes', (encoding) =>
  expect(parse('5', CHECKSUM, encoding)).toEqual({ bytes: 5, sha256: undefined }),
);

test.each(['', 'identity', 'Identity'])('an encoding that changes nothing is none: "%s"', (encoding) =>
  expect(parse('5', CHECKSUM, encoding)).toEqual({ bytes: 5, sha256: SHA256 }),
);

test.each([`${CHECKSUM}-3`, SHA256, CHECKSUM.slice(0, -1), '', 'x'.repeat(44)])(
  'what is no hash of the bytes, such as one of the hashes of parts, is not taken for one: %s',
  (checksum) => expect(parse('5', checksum)).toEqual({ bytes: 5, sha256: undefined }),
);

test.each(['undefined', '', '-1', '5.0', '0x5', '9'.repeat(16)])('a length that is none is not believed: "%s"', (length) =>
  expect(() => parse(length, CHECKSUM)).toThrow('does not tell the length'),
);
