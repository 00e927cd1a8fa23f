import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeLine, encodeLine } from '../../src/format/line.ts';
import { arbitraryLine } from './arbitrary-head.ts';
import { undetected } from './damage.ts';

test('a line comes back as it was', () => {
  fc.assert(
    fc.property(arbitraryLine, (line) => {
      expect(decodeLine(encodeLine(line))).toEqual(line);
    }),
  );
});

test('a line with anything of another type, or left out, is corrupt', () => {
  fc.assert(
    fc.property(arbitraryLine, (line) => {
      expect(undetected(encodeLine(line), decodeLine)).toEqual([]);
    }),
    { numRuns: 20 },
  );
});
