import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkJson } from '../../src/format/json-scanner.ts';
import { nextKind, readJson, readSlice, readString } from '../../src/format/json-reader.ts';
import { KelpError } from '../../src/model/errors.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const latin1 = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

function accepts(bytes: Uint8Array): boolean {
  try {
    checkJson(bytes);
    return true;
  } catch (error) {
    if (error instanceof KelpError && error.kind === 'invalid' && error.code === 'invalid-json') return false;
    throw error;
  }
}

/** What the runtime says: UTF-8 first, then its own parser. It takes half surrogates, so texts with any are left out. */
function runtimeAccepts(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}

const escapeAll = (text: string): string => text.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

describe('JSON scanner', () => {
  test.each([
    '{}',
    ' [ ] ',
    '0',
    '-0',
    '-0.0e-0',
    '1E400',
    '123456789012345678901234567890',
    '1e5',
    '1.5e+5',
    'true',
    'false',
    'null',
    '""',
    '"\\u0000\\"\\\\\\/\\b\\f\\n\\r\\t"',
    '"\\ud83d\\ude95"',
    '"\u2028\u2029\u007f\ufeff"',
    '{"a":{"b":[1,2,{"c":null}]}}',
    '{"":"","":""}',
    '\t\r\n[1\n,\r2\t] ',
  ])('takes %j', (text) => {
    expect(accepts(bytesOf(text))).toBe(true);
  });

  test.each([
    '',
    ' ',
    '{',
    '}',
    '[1,]',
    '[,1]',
    '[1 2]',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{,}',
    '{a:1}',
    "{'a':1}",
    '{1:1}',
    '{"a":1 "b":2}',
    '{"a":1]',
    '[1}',
    '01',
    '-',
    '+1',
    '1.',
    '.5',
    '1e',
    '1e+',
    '0x1',
    '1_000',
    'NaN',
    'Infinity',
    'undefined',
    'tru',
    'nul',
    'True',
    'truex',
    '"',
    '"\\"',
    '"\\x41"',
    '"\\u12"',
    '"\\u12g4"',
    '"\u0000"',
    '"a\nb"',
    '"\t"',
    '1 2',
    '{} {}',
    '// comment\n1',
    '\ufeff{}',
    '\u00a01',
    '\u2028 1',
  ])('refuses %j', (text) => {
    expect(accepts(bytesOf(text))).toBe(false);
  });

  test.each([
    '"\\ud800"',
    '"\\udc00"',
    '"\\udc00\\ud800"',
    '"\\ud800\\ud800"',
    '"\\ud800x"',
    '"\\ud800\\n"',
    '{"\\ud800":1}',
    '"\\uD83D\\u0041"',
    '"\\ud83d\\u"',
  ])('J-04 refuses half a character in %s', (text) => {
    expect(accepts(bytesOf(text))).toBe(false);
  });

  test.each([
    ['a continuation alone', '"\x80"'],
    ['a cut character', '"\xc3"'],
    ['a cut character at the end', '"na\xc3'],
    ['an overlong slash', '"\xc0\xaf"'],
    ['an overlong NUL', '"\xe0\x80\x80"'],
    ['an overlong four', '"\xf0\x80\x80\x80"'],
    ['a surrogate', '"\xed\xa0\x80"'],
    ['above U+10FFFF', '"\xf4\x90\x80\x80"'],
    ['byte ff', '"\xff"'],
    ['a character outside of strings', '\xc3\xa4'],
    ['1 MiB of 80', '\x80'.repeat(1_048_576)],
  ])('J-04 refuses %s', (_name, text) => {
    expect(accepts(latin1(text))).toBe(false);
  });

  test('A16 takes 64 levels, and no more of either kind', () => {
    const texts = [
      nested(64),
      nested(65),
      '{"a":'.repeat(64) + '1' + '}'.repeat(64),
      '{"a":'.repeat(65) + '1' + '}'.repeat(65),
      '['.repeat(1_000_000),
    ];
    expect(texts.map((text) => accepts(bytesOf(text)))).toEqual([true, false, true, false, false]);
  });

  test('agrees with the runtime on well-formed values, written with or without blanks', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 10, stringUnit: 'grapheme' }), fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const bytes = bytesOf(JSON.stringify(value, null, indent));
        expect(accepts(bytes)).toBe(true);
        expect(Buffer.from(readSlice(readJson(bytes))).toString()).toBe(JSON.stringify(value, null, indent));
      }),
    );
  });

  test('agrees with the runtime on damaged texts', () => {
    const damage = fc.record({
      at: fc.nat({ max: 60 }),
      remove: fc.nat({ max: 2 }),
      insert: fc.oneof(
        fc.uint8Array({ maxLength: 3 }),
        fc.constantFrom(...['"', '\\', ',', '}', ']', '[', '{', ':', '0', '-', '.', 'e', ' ', '\n', 'null', '\xc3', '\xa4'].map(latin1)),
      ),
    });
    let taken = 0;
    let refused = 0;
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.array(damage, { minLength: 1, maxLength: 2 }), (value, damages) => {
        let bytes = Buffer.from(JSON.stringify(value));
        for (const { at, remove, insert } of damages) bytes = Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(at + remove)]);
        fc.pre(!/\\u[dD][89a-fA-F]/.test(bytes.toString('latin1')));
        const right = runtimeAccepts(bytes);
        expect(accepts(bytes)).toBe(right);
        if (right) taken += 1;
        else refused += 1;
      }),
      { numRuns: 5_000 },
    );
    expect(taken).toBeGreaterThan(100);
    expect(refused).toBeGreaterThan(1_000);
  });

  test('agrees with the runtime on any bytes in a string', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 6 }), fc.nat({ max: 20 }), (bytes, plain) => {
        const text = Buffer.concat([latin1(`"${'x'.repeat(plain)}`), bytes, latin1('"')]);
        fc.pre(!text.includes('\\'));
        expect(accepts(text)).toBe(runtimeAccepts(text));
      }),
      { numRuns: 5_000 },
    );
  });

  test('says where, and nothing of what stands there', () => {
    expect(() => checkJson(bytesOf('{"a":"secret\u0001"}'))).toThrow(expect.objectContaining({ extra: { position: 12 } }));
    expect(() => checkJson(bytesOf(`["${'secret'.repeat(9)}", secret]`))).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('secret') }),
    );
  });

  test('reads strings as what they stand for, however they are escaped', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), (first, second) => {
        for (const written of [
          JSON.stringify(first + second),
          `"${escapeAll(first + second)}"`,
          `${JSON.stringify(first).slice(0, -1)}${escapeAll(second)}"`,
        ]) {
          expect(Buffer.from(readString(readJson(bytesOf(written)))).toString()).toBe(first + second);
        }
      }),
    );
    expect(Buffer.from(readString(readJson(bytesOf('"\\/\\uD83D\\uDE95"')))).toString()).toBe('/\u{1f695}');
  });

  test('reads values one by one', () => {
    const reader = readJson(bytesOf(' "a" 1 [2] {"b":3} null'));
    const kinds: unknown[] = [];
    while (reader.at < reader.bytes.length) kinds.push([nextKind(reader), Buffer.from(readSlice(reader)).toString()]);
    expect(kinds).toEqual([
      ['string', '"a"'],
      ['number', '1'],
      ['array', '[2]'],
      ['object', '{"b":3}'],
      ['word', 'null'],
    ]);
  });
});
