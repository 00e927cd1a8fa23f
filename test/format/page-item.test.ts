import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodePage, encodePage } from '../../src/format/page-item.ts';
import { arbitraryPage } from './arbitrary-head.ts';
import { undetected } from './damage.ts';

test('a page comes back as it was', () => {
  fc.assert(
    fc.property(arbitraryPage, (page) => {
      expect(decodePage(encodePage(page))).toEqual(page);
    }),
  );
});

test('a page with anything of another type, or left out, is corrupt', () => {
  fc.assert(
    fc.property(
      arbitraryPage.filter((page) => page.entries.length > 0),
      (page) => {
        expect(undetected(encodePage(page), decodePage, { ignored: ['tenant'] })).toEqual([]);
      },
    ),
    { numRuns: 10 },
  );
});
