import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isContentType } from '../../src/format/content-type.ts';
import { decodeReference, encodeReference, referenceOf } from '../../src/format/reference.ts';
import type { UploadId } from '../../src/model/ids.ts';
import type { Header } from '../../src/model/message.ts';
import { arbitraryReference } from './arbitrary-reference.ts';
import { bytesOf } from './both-routes.ts';

const SHA256 = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
const REFERENCE = { upload: 'u00hvd5k0123abcd' as UploadId, bytes: 5, sha256: SHA256, contentType: 'text/plain' };
const TEXT = `{"upload":"u00hvd5k0123abcd","bytes":5,"sha256":"${SHA256}","contentType":"text/plain"}`;
const KIND: Header = { name: 'kelp-kind', value: bytesOf('upload') };

describe('a reference', () => {
  test('is what the format says', () => {
    expect(Buffer.from(encodeReference(REFERENCE)).toString()).toBe(TEXT);
  });

  test('comes back as it was, and is one that Kelp has made', () => {
    fc.assert(
      fc.property(arbitraryReference, (reference) => {
        const value = encodeReference(reference);
        expect(decodeReference(value)).toEqual(reference);
        expect(referenceOf({ value, headers: [KIND] })).toEqual(reference);
      }),
    );
  });

  test('with the longest type still comes back', () => {
    const contentType = `a/b;c="${String.raw`\"`.repeat(123)}a"`;
    expect([contentType.length, isContentType(contentType), isContentType(`${contentType};d=e`)]).toEqual([255, true, false]);
    const longest = { ...REFERENCE, contentType };
    expect(referenceOf({ value: encodeReference(longest), headers: [KIND] })).toEqual(longest);
  });

  test.each([
    ['blanks', TEXT.replace(':5', ': 5')],
    ['something behind it', `${TEXT} `],
    ['another order', TEXT.replace(`"bytes":5,"sha256":"${SHA256}"`, `"sha256":"${SHA256}","bytes":5`)],
    ['another member', TEXT.replace('}', ',"url":"http://169.254.169.254/"}')],
    ['a member twice', TEXT.replace('"bytes":5', '"bytes":5,"bytes":5')],
    ['no type', TEXT.replace(',"contentType":"text/plain"', '')],
    ['a type that is none', TEXT.replace('text/plain', 'text')],
    ['a type with a line break', TEXT.replace('text/plain', String.raw`text/plain\r\nx: y`)],
    ['a URL in place of the id', TEXT.replace('u00hvd5k0123abcd', 'http://a.example')],
    ['an id of something else', TEXT.replace('u00hvd5k', 'o00hvd5k')],
    ['a hash in capitals', TEXT.replace('2cf24dba', '2CF24DBA')],
    ['half a hash', TEXT.replace('2cf24dba', '')],
    ['negative bytes', TEXT.replace(':5,', ':-5,')],
    ['half a byte', TEXT.replace(':5,', ':5.5,')],
    ['the same number in other words', TEXT.replace(':5,', ':5e0,')],
    ['more bytes than an upload has', TEXT.replace(':5,', ':5368709121,')],
    ['a number as text', TEXT.replace(':5,', ':"5",')],
    ['an escape', TEXT.replace('text/plain', String.raw`text\/plain`)],
    ['no JSON', TEXT.slice(0, -1)],
    ['nothing', ''],
    ['null', 'null'],
    ['a list', '[]'],
  ])('is none with %s', (_what, text) => {
    expect(decodeReference(bytesOf(text))).toBeUndefined();
  });

  test('is none that is not UTF-8, or as long as a value may be', () => {
    expect(decodeReference(Buffer.from(TEXT.replace('plain', '\xff'), 'latin1'))).toBeUndefined();
    expect(referenceOf({ value: bytesOf(`${TEXT}${' '.repeat(1_000_000)}`), headers: [KIND] })).toBeUndefined();
  });

  test('is one only where the headers say so, once', () => {
    const value = bytesOf(TEXT);
    for (const headers of [[], [KIND, KIND], [{ ...KIND, name: 'Kelp-Kind' }], [{ ...KIND, value: bytesOf('json') }]]) {
      expect(referenceOf({ value, headers })).toBeUndefined();
    }
    expect(referenceOf({ value: null, headers: [KIND] })).toBeUndefined();
    expect(referenceOf({ value, headers: [{ name: 'a', value: null }, KIND] })).toEqual(REFERENCE);
  });
});

describe('a content type', () => {
  test.each([
    'text/plain',
    'text/plain; charset=utf-8',
    'text/plain;charset=utf-8',
    'a/b;c="d e;\\"f"',
    'application/vnd.kelp+json;a=b; c=d',
  ])('may be %s', (text) => {
    expect(isContentType(text)).toBe(true);
  });

  test.each([
    '',
    'text',
    'text/',
    '/plain',
    'text/plain ',
    ' text/plain',
    'text/plain;',
    'text/plain; charset',
    'text/plain;  charset=utf-8',
    'text/plain\r\nx-amz-acl: public-read',
    'text/plain\n',
    'text/pl\u00e4in',
    'text/plain;a="\u00e4"',
    'text/plain;a="\t"',
    'text/plain, text/html',
    `text/${'a'.repeat(300)}`,
  ])('is not %j', (text) => {
    expect(isContentType(text)).toBe(false);
  });
});
