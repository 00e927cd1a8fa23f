import type { Bytes } from '../model/message.ts';

const DIGITS_EXACT_MAX = 15;
const INT64_DIGITS_MAX = 19;
const ZERO = 0x30;
const NINE = 0x39;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * A number of a JSON text, as it stands there, as a whole number of 64 bits, exactly: `1`, `1.0` and `10e-1` are the same. Undefined: it is
 * not whole, or beyond −2^63 … 2^63 − 1.
 */
export function int64Of(number: Bytes): bigint | undefined {
  if (number.length > DIGITS_EXACT_MAX) return exact(number);
  let value = 0;
  for (const byte of number) {
    if (byte < ZERO || byte > NINE) return exact(number);
    value = value * 10 + (byte - ZERO);
  }
  return BigInt(value);
}

/** The nearest double; undefined: it is beyond all of them. */
export function doubleOf(number: Bytes): number | undefined {
  const value = Number(ascii(number));
  return Number.isFinite(value) ? value : undefined;
}

function exact(number: Bytes): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(ascii(number)) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.slice(0, endOfSignificant(digits));
  if (significant === '') return 0n;
  const zeros = Number(exponent) - fraction.length + digits.length - significant.length;
  if (zeros < 0 || significant.length + zeros > INT64_DIGITS_MAX) return undefined;
  const value = BigInt(`${sign}${significant}${'0'.repeat(zeros)}`);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** No regular expression: it would try from each zero, and a number may have a million of them. */
function endOfSignificant(digits: string): number {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return end;
}

const ascii = (bytes: Bytes): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
