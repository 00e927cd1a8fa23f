import fc from 'fast-check';
import { expect, test } from 'vitest';
import { endJson, firstElement, nextElement, readDigits, readJson } from '../../src/format/json-reader.ts';
import { bytesOf, caught } from './both-routes.ts';

const listOf = (text: string, max: number): (number | undefined)[] => {
  const reader = readJson(bytesOf(text));
  const found: (number | undefined)[] = [];
  for (let more = firstElement(reader); more; more = nextElement(reader)) found.push(readDigits(reader, max));
  endJson(reader);
  return found;
};

test('integers in digits alone are read, whatever blanks stand between them', () => {
  fc.assert(
    fc.property(fc.array(fc.maxSafeNat()), fc.constantFrom(0, 1, '\n'), (numbers, indent) => {
      expect(listOf(JSON.stringify(numbers, null, indent), Number.MAX_SAFE_INTEGER)).toEqual(numbers);
    }),
  );
});

test.each(['-1', '01', '1.5', '1.0', '1e3', '1E3', '00', '-0', '"1"', 'null', 'true', '[1]', '{}', '8', '99999999999999999999', '', 'x'])(
  '%j is none up to 7, and is not passed',
  (text) => {
    const reader = readJson(bytesOf(text));
    expect(readDigits(reader, 7)).toBeUndefined();
    expect(reader.at).toBe(0);
  },
);

test('what follows an integer is for whoever reads on', () => {
  expect(listOf('[0,7]', 7)).toEqual([0, 7]);
  expect(caught(() => listOf('[7x]', 7))).toMatchObject({ code: 'invalid-json', extra: { position: 2 } });
  expect(caught(() => listOf('[7', 7))).toMatchObject({ code: 'invalid-json' });
});
