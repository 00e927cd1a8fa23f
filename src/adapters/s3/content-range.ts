import assert from 'node:assert/strict';

type Lengths = { readonly start: number; readonly asked: number; readonly received: number };

/** The header that asks for so many bytes. */
export const byteRange = (start: number, length: number): string => `bytes=${start}-${start + length - 1}`;

/** Throws unless the answer's range is the one asked for, or ends with the object: less would pass for a shorter object. */
export function checkContentRange(header: string | undefined, { start, asked, received }: Lengths): void {
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(header ?? '') ?? [];
  assert.equal(Number(first), start, 'the answer begins elsewhere');
  assert.equal(Number(last) - start + 1, received, 'the answer is cut');
  assert(received === asked || (received < asked && Number(last) + 1 === Number(total)), 'the answer is another range');
}
