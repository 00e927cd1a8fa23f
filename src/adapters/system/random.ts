import { randomBytes } from 'node:crypto';
import type { Random } from '../../ports/random.ts';

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz';
/** The greatest multiple of 36 in a byte: higher bytes are drawn again, or low digits would come up more often. */
const FAIR_BELOW = 252;

export function createSystemRandom(): Random {
  return { base36, fraction: () => randomBytes(4).readUInt32LE() / 2 ** 32 };
}

function base36(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) {
      if (byte < FAIR_BELOW) text += DIGITS[byte % DIGITS.length];
    }
  }
  return text;
}
