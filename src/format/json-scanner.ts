import { JSON_DEPTH_MAX } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import { jsonError, QUOTE, skipString } from './json-string.ts';

// A strict scanner of JSON (RFC 8259) over bytes. It builds nothing: a value is found as the slice of the text that it is,
// so that it is stored as it was sent, with numbers of any size, the order of members, blanks. UTF-8 is checked on the way.
// Functions go from a position to the one behind; reads beyond the end give undefined, which no rule accepts.

export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
const COLON = 0x3a;
const COMMA = 0x2c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LETTER_E = 0x65;
const LOWER_CASE = 0x20;
const LITERALS = ['true', 'false', 'null'].map((word) => ({ word, first: word.charCodeAt(0) }));

/** Whether the bytes are one JSON text and nothing else. Error `invalid-json`. */
export function checkJson(bytes: Bytes): void {
  expectEnd(bytes, skipValue(bytes, 0));
}

export function expectEnd(bytes: Bytes, at: number): void {
  const end = skipBlanks(bytes, at);
  if (end < bytes.length) throw jsonError(end, 'something follows the JSON text');
}

/** `depth`: how many objects and arrays the value stands in. */
export function skipValue(bytes: Bytes, start: number, depth = 0): number {
  const at = skipBlanks(bytes, start);
  const byte = bytes[at] ?? 0;
  if (byte === QUOTE) return skipString(bytes, at + 1);
  if (byte === OPEN_BRACE) return skipObject(bytes, at, depth + 1);
  if (byte === OPEN_BRACKET) return skipArray(bytes, at, depth + 1);
  return isDigit(byte) || byte === MINUS ? skipNumber(bytes, at) : skipLiteral(bytes, at);
}

export function skipBlanks(bytes: Bytes, start: number): number {
  let at = start;
  for (let byte = bytes[at] ?? 0; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = bytes[at] ?? 0) at += 1;
  return at;
}

function skipName(bytes: Bytes, start: number): number {
  if (bytes[start] !== QUOTE) throw jsonError(start, 'a name in quotes must stand here');
  return skipColon(bytes, skipString(bytes, start + 1));
}

export function skipColon(bytes: Bytes, start: number): number {
  const at = skipBlanks(bytes, start);
  if (bytes[at] !== COLON) throw jsonError(at, 'a colon must follow the name');
  return at + 1;
}

/** From behind an element or member to the next one; −1 − (the position behind) where the object or array ends. */
export function skipSeparator(bytes: Bytes, start: number, close: number): number {
  const at = skipBlanks(bytes, start);
  const byte = bytes[at];
  if (byte === COMMA) return skipBlanks(bytes, at + 1);
  if (byte === close) return -2 - at;
  throw jsonError(at, 'a comma or the closing bracket must stand here');
}

function skipObject(bytes: Bytes, start: number, depth: number): number {
  checkDepth(start, depth);
  let at = skipBlanks(bytes, start + 1);
  if (bytes[at] === CLOSE_BRACE) return at + 1;
  while (at >= 0) at = skipSeparator(bytes, skipValue(bytes, skipName(bytes, at), depth), CLOSE_BRACE);
  return -1 - at;
}

function skipArray(bytes: Bytes, start: number, depth: number): number {
  checkDepth(start, depth);
  let at = skipBlanks(bytes, start + 1);
  if (bytes[at] === CLOSE_BRACKET) return at + 1;
  while (at >= 0) at = skipSeparator(bytes, skipValue(bytes, at, depth), CLOSE_BRACKET);
  return -1 - at;
}

function checkDepth(at: number, depth: number): void {
  if (depth > JSON_DEPTH_MAX) throw jsonError(at, `objects and arrays may be nested ${JSON_DEPTH_MAX} deep`);
}

function skipNumber(bytes: Bytes, start: number): number {
  let at = bytes[start] === MINUS ? start + 1 : start;
  at = bytes[at] === ZERO ? at + 1 : skipDigits(bytes, at);
  if (bytes[at] === POINT) at = skipDigits(bytes, at + 1);
  if (((bytes[at] ?? 0) | LOWER_CASE) !== LETTER_E) return at;
  const sign = bytes[at + 1];
  return skipDigits(bytes, sign === PLUS || sign === MINUS ? at + 2 : at + 1);
}

const isDigit = (byte: number): boolean => byte >= ZERO && byte <= NINE;

function skipDigits(bytes: Bytes, start: number): number {
  let at = start;
  while (isDigit(bytes[at] ?? 0)) at += 1;
  if (at === start) throw jsonError(at, 'a digit must stand here');
  return at;
}

function skipLiteral(bytes: Bytes, at: number): number {
  const word = LITERALS.find(({ first }) => first === bytes[at])?.word ?? '';
  for (let index = 0; index < word.length; index += 1) {
    if (bytes[at + index] !== word.charCodeAt(index)) throw jsonError(at, 'a value must stand here');
  }
  if (word === '') throw jsonError(at, at < bytes.length ? 'a value must stand here' : 'the text ends too early');
  return at + word.length;
}
