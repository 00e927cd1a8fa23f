import { describe, expect, test } from 'vitest';
import { findByPointer, parsePointer, scalarText } from '../../src/format/json-pointer.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array | undefined): string | undefined => bytes && Buffer.from(bytes).toString();
const key = (json: string): string | undefined => textOf(scalarText(bytesOf(json)));
const find = (json: string, pointer: string): string | undefined => textOf(findByPointer(bytesOf(json), parsePointer(pointer)));

// The document of RFC 6901, section 5.
const EXAMPLE = '{"foo":["bar", "baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\\\j":5,"k\\"l":6," ":7,"m~n":8}';

describe('JSON Pointer', () => {
  test.each([
    ['', EXAMPLE],
    ['/foo', '["bar", "baz"]'],
    ['/foo/0', '"bar"'],
    ['/', '0'],
    ['/a~1b', '1'],
    ['/c%d', '2'],
    ['/e^f', '3'],
    ['/g|h', '4'],
    ['/i\\j', '5'],
    ['/k"l', '6'],
    ['/ ', '7'],
    ['/m~0n', '8'],
  ])('%j leads to %s', (pointer, found) => {
    expect(find(EXAMPLE, pointer)).toBe(found);
  });

  test.each(['/bar', '/foo/2', '/foo/-', '/foo/00', '/foo/01', '/foo/+1', '/foo/bar', '/foo/0/x', '//', '/foo/', '/a/b'])(
    '%j leads nowhere',
    (pointer) => {
      expect(find(EXAMPLE, pointer)).toBeUndefined();
    },
  );

  test.each(['foo', '/~', '/~2', '/a~', '#/a'])('%j is none', (pointer) => {
    expect(() => parsePointer(pointer)).toThrow(expect.objectContaining({ code: 'invalid-pointer' }));
  });

  test('~01 is the text ~1, not a slash', () => {
    expect(find('{"~1":1,"/":2}', '/~01')).toBe('1');
  });

  test('names are compared as what they stand for', () => {
    expect(find('{"\\u0061":1}', '/a')).toBe('1');
    expect(find('{"\u00e4":1}', '/\u00e4')).toBe('1');
    expect(find('{"\\u00e4":1}', '/\u00e4')).toBe('1');
    expect(find('{"a\\u0308":1}', '/\u00e4')).toBeUndefined();
    expect(find('{"__proto__":{"a":1}}', '/__proto__/a')).toBe('1');
    expect(find('{}', '/constructor')).toBeUndefined();
  });

  test.each([
    ['{"u":{"id":"a","id":"b"}}', '/u/id'],
    ['{"u":{"id":"a","\\u0069d":"b"}}', '/u/id'],
    ['{"u":1,"u":{"id":"b"}}', '/u/id'],
    ['{"u":{"id":"a"},"x":{},"u":2}', '/u/id'],
  ])('J-06 %s is refused for %s', (json, pointer) => {
    expect(() => find(json, pointer)).toThrow(expect.objectContaining({ kind: 'invalid', code: 'invalid-json' }));
  });

  test('J-06 other repeated names are data', () => {
    expect(find('{"x":1,"u":{"id":"a","y":1,"y":2},"x":2}', '/u/id')).toBe('"a"');
  });

  test('J-05 a key is the very text of a number or word, and the content of a string', () => {
    expect(['9007199254740993', '1', '1.0', '"1"', '-0', '1e400', 'true', 'false', '"\\u0061"', '""'].map(key)).toEqual([
      '9007199254740993',
      '1',
      '1.0',
      '1',
      '-0',
      '1e400',
      'true',
      'false',
      'a',
      '',
    ]);
    expect(['null', '{}', '[]', '{"a":1}', '[1]'].map(key)).toEqual([undefined, undefined, undefined, undefined, undefined]);
  });
});
