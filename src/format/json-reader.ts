import { type KelpError, invalid } from '../model/errors.ts';
import type { Bytes } from '../model/message.ts';
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  expectEnd,
  OPEN_BRACE,
  OPEN_BRACKET,
  skipBlanks,
  skipColon,
  skipSeparator,
  skipValue,
} from './json-scanner.ts';
import { BACKSLASH, jsonError, QUOTE, skipString, unescapeString } from './json-string.ts';
import { decodeUtf8 } from './utf8.ts';

// Reads the few structures of a request that Kelp looks into, value by value, and leaves all others as slices. Members and
// elements are walked by loops instead of callbacks: this runs once for each of thousands of small messages.

/** A place in a JSON text, and where the name of the member that it stands in is, between its quotes. */
export type JsonReader = { readonly bytes: Bytes; at: number; nameStart: number; nameEnd: number };

/** What kind of value comes next. */
export type JsonKind = 'string' | 'number' | 'object' | 'array' | 'word';

/** Names that are repeated in an error's field; others could carry payload into answers and logs. */
const PRINTABLE_NAME = /^[\w.-]{1,64}$/;
const ASCII_DIGITS_FROM = 0x30;
const ASCII_DIGITS_TO = 0x39;
const MINUS = 0x2d;
/** `.`, `e` and `E`, behind which a number is no integer, or one that is written in another way. */
const NUMBER_GOES_ON: readonly number[] = [0x2e, 0x65, 0x45];

const isDigit = (byte: number): boolean => byte >= ASCII_DIGITS_FROM && byte <= ASCII_DIGITS_TO;

export const readJson = (bytes: Bytes): JsonReader => ({ bytes, at: 0, nameStart: 0, nameEnd: 0 });

/** Error `invalid-json` where something else than blanks is left. */
export const endJson = (reader: JsonReader): void => expectEnd(reader.bytes, reader.at);

/** Moves to the next value. What is no value is a `word`, as `true` and `null` are: reading it tells. */
export function nextKind(reader: JsonReader): JsonKind {
  reader.at = skipBlanks(reader.bytes, reader.at);
  const byte = reader.bytes[reader.at] ?? 0;
  if (byte === QUOTE) return 'string';
  if (byte === OPEN_BRACE) return 'object';
  if (byte === OPEN_BRACKET) return 'array';
  return byte === MINUS || isDigit(byte) ? 'number' : 'word';
}

/** Passes the next value. */
export function skipNext(reader: JsonReader): void {
  reader.at = skipValue(reader.bytes, reader.at);
}

/** The next value as it stands there, from its first byte to its last. */
export function readSlice(reader: JsonReader): Bytes {
  const start = skipBlanks(reader.bytes, reader.at);
  reader.at = skipValue(reader.bytes, start);
  return reader.bytes.subarray(start, reader.at);
}

/**
 * The next value, where it is an integer from 0 to `max` in digits alone; undefined, and nothing passed, where it is anything else.
 * For lists of very many: no text is made of them.
 */
export function readDigits(reader: JsonReader, max: number): number | undefined {
  const { bytes } = reader;
  const start = skipBlanks(bytes, reader.at);
  let at = start;
  let value = 0;
  for (let byte = bytes[at] ?? 0; isDigit(byte); byte = bytes[at] ?? 0) {
    value = value * 10 + (byte - ASCII_DIGITS_FROM);
    if (value > max) return undefined;
    at += 1;
  }
  const hasMore = NUMBER_GOES_ON.includes(bytes[at] ?? 0);
  if (at === start || hasMore || (bytes[start] === ASCII_DIGITS_FROM && at > start + 1)) return undefined;
  reader.at = at;
  return value;
}

/** The content of the next value, a string, as UTF-8. */
export function readString(reader: JsonReader): Bytes {
  const start = skipBlanks(reader.bytes, reader.at);
  if (reader.bytes[start] !== QUOTE) throw jsonError(start, 'a string must stand here');
  reader.at = skipString(reader.bytes, start + 1);
  return unescapeString(reader.bytes.subarray(start + 1, reader.at - 1));
}

/**
 * Enters the next value, an object, up to its first member's value; false: it has no members, and is passed. Together with
 * {@link nextMember}: `for (let more = firstMember(r); more; more = nextMember(r))`, whose body reads the value.
 */
export function firstMember(reader: JsonReader): boolean {
  const start = skipBlanks(reader.bytes, reader.at);
  if (reader.bytes[start] !== OPEN_BRACE) throw jsonError(start, 'an object must stand here');
  reader.at = skipBlanks(reader.bytes, start + 1);
  if (reader.bytes[reader.at] !== CLOSE_BRACE) return enterMember(reader);
  reader.at += 1;
  return false;
}

export function nextMember(reader: JsonReader): boolean {
  return behindSeparator(reader, CLOSE_BRACE) && enterMember(reader);
}

/** The same for an array. */
export function firstElement(reader: JsonReader): boolean {
  const start = skipBlanks(reader.bytes, reader.at);
  if (reader.bytes[start] !== OPEN_BRACKET) throw jsonError(start, 'an array must stand here');
  reader.at = skipBlanks(reader.bytes, start + 1);
  if (reader.bytes[reader.at] !== CLOSE_BRACKET) return true;
  reader.at += 1;
  return false;
}

export const nextElement = (reader: JsonReader): boolean => behindSeparator(reader, CLOSE_BRACKET);

function behindSeparator(reader: JsonReader, close: number): boolean {
  const at = skipSeparator(reader.bytes, reader.at, close);
  reader.at = at < 0 ? -1 - at : at;
  return at >= 0;
}

function enterMember(reader: JsonReader): boolean {
  const { bytes } = reader;
  if (bytes[reader.at] !== QUOTE) throw jsonError(reader.at, 'a name in quotes must stand here');
  const behind = skipString(bytes, reader.at + 1);
  reader.nameStart = reader.at + 1;
  reader.nameEnd = behind - 1;
  reader.at = skipColon(bytes, behind);
  return true;
}

/** Where the member's name stands in a list of names in UTF-8; −1: nowhere. */
export function nameIn(reader: JsonReader, names: readonly Bytes[]): number {
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index];
    if (name !== undefined && nameIs(reader, name)) return index;
  }
  return -1;
}

/** Compares in place; a name with escapes is compared as what it stands for. */
export function nameIs(reader: JsonReader, name: Bytes): boolean {
  const { bytes, nameStart, nameEnd } = reader;
  if (nameEnd - nameStart === name.length) {
    let at = 0;
    while (at < name.length && bytes[nameStart + at] === name[at]) at += 1;
    if (at === name.length) return true;
  }
  for (let at = nameStart; at < nameEnd; at += 1) {
    if (bytes[at] === BACKSLASH) return equalBytes(unescapeString(bytes.subarray(nameStart, nameEnd)), name);
  }
  return false;
}

const equalBytes = (a: Bytes, b: Bytes): boolean => a.length === b.length && a.every((byte, at) => byte === b[at]);

export const nameText = (reader: JsonReader): string =>
  decodeUtf8(unescapeString(reader.bytes.subarray(reader.nameStart, reader.nameEnd))) ?? '';

/** How a member is named in an error's field: by its name, unless that could be anything. */
export const printableField = (name: string): string => (PRINTABLE_NAME.test(name) ? name : '');
export const memberField = (reader: JsonReader): string => printableField(nameText(reader));

export const repeatedMember = (reader: JsonReader): KelpError =>
  invalid('invalid-json', memberField(reader), 'a member with this name is already there');

/** The members of the object that comes next, each once; `visit` reads the member's value. Error `invalid-json`. */
export function forEachMember(reader: JsonReader, visit: (name: string) => void): void {
  const seen = new Set<string>();
  for (let more = firstMember(reader); more; more = nextMember(reader)) {
    const name = nameText(reader);
    if (seen.has(name)) throw repeatedMember(reader);
    seen.add(name);
    visit(name);
  }
}
