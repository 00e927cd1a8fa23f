import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { doubleOf, int64Of } from '../../src/format/json-number.ts';
import { encodeUtf8 } from '../../src/format/utf8.ts';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const int64 = (text: string): bigint | undefined => int64Of(encodeUtf8(text));

describe('a JSON number as 64 bits', () => {
  test('is that number, however it is written', () => {
    const whole = fc.oneof(fc.bigInt({ min: MIN, max: MAX }), fc.bigInt({ min: -1_000n, max: 1_000n }), fc.constantFrom(MIN, MAX));
    fc.assert(
      fc.property(whole, fc.nat({ max: 30 }), fc.nat({ max: 30 }), fc.constantFrom('e', 'E', 'e+'), (value, zeros, shift, e) => {
        const text = String(value);
        const digits = text.replace('-', '').padStart(shift + 1, '0');
        const shifted = `${text.startsWith('-') ? '-' : ''}${digits.slice(0, digits.length - shift)}.${digits.slice(digits.length - shift)}0${e}${shift}`;
        expect([text, `${text}.${'0'.repeat(zeros + 1)}`, `${text}${'0'.repeat(zeros)}e-${zeros}`, shifted].map(int64)).toEqual([
          value,
          value,
          value,
          value,
        ]);
      }),
    );
  });

  test.each([
    '9223372036854775808',
    '-9223372036854775809',
    '1e19',
    '1e400',
    '1e99999999999999999999',
    '0.1',
    '1.5',
    '1e-1',
    '15e-1',
    '9223372036854775807.1',
    '1e-99999999999999999999',
  ])('%s is none', (text) => {
    expect(int64(text)).toBeUndefined();
  });

  test.each(['0', '-0', '0.0', '-0e5', '0e999999', '0.000e-7'])('%s is zero', (text) => {
    expect(int64(text)).toBe(0n);
  });

  test('takes its time only once for each digit', () => {
    const zeros = '0'.repeat(1_000_000);
    expect([`1${zeros}1`, `1.${zeros}1`, `1.${zeros}`, `0.${zeros}1e1000001`].map(int64)).toEqual([undefined, undefined, 1n, 1n]);
  });
});

describe('a JSON number as a double', () => {
  test('is the nearest one', () => {
    fc.assert(
      fc.property(fc.double({ noDefaultInfinity: true, noNaN: true }), (value) => {
        expect(doubleOf(encodeUtf8(Object.is(value, -0) ? '-0' : String(value)))).toBe(value);
      }),
    );
  });

  test.each(['1e309', '-1e309', `1${'0'.repeat(400)}`])('%.8s is beyond all of them', (text) => {
    expect(doubleOf(encodeUtf8(text))).toBeUndefined();
  });
});
