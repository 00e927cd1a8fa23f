import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeEntry, encodeEntryBody } from '../../src/format/entry.ts';
import { arbitraryEntryAt } from './arbitrary-head.ts';
import { undetected } from './damage.ts';

test('an entry comes back as it was, with its mask or without', () => {
  fc.assert(
    fc.property(fc.nat().chain(arbitraryEntryAt), (entry) => {
      expect(decodeEntry(entry.cid, entry.offset, encodeEntryBody(entry))).toEqual(entry);
    }),
  );
});

test('an entry with anything of another type, or left out, is corrupt', () => {
  fc.assert(
    fc.property(arbitraryEntryAt(5), (entry) => {
      expect(undetected(encodeEntryBody(entry), (item) => decodeEntry(entry.cid, entry.offset, item), { optional: ['k'] })).toEqual([]);
    }),
    { numRuns: 20 },
  );
});

test.each([{ r: [1, 2] }, { r: [] }, { r: [1, 2, 3, 4] }, { r: [1.5, 2, 3] }, { o: 'o123456789012345' }, { o: '' }])(
  'runs that are cut, and an object without its minute, are corrupt: %j',
  (damage) => {
    const [entry] = fc.sample(arbitraryEntryAt(5), 1);
    if (entry === undefined) throw new Error('no entry');
    const item = { ...encodeEntryBody(entry), ...damage };
    expect(() => decodeEntry(entry.cid, entry.offset, item)).toThrow(expect.objectContaining({ kind: 'corrupt' }));
  },
);
