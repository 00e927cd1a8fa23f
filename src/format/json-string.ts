import { KelpError } from '../model/errors.ts';
import type { Bytes } from '../model/message.ts';
import { skipMultibyte } from './utf8.ts';

// Strings of JSON (RFC 8259) as bytes: scanned once, and copied only where they have escapes.

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const SURROGATE_LOW = 0xdc00;
const UNICODE_ESCAPE_BYTES = 6;

/** Up to here a loop is faster than a call into the runtime. */
const LOOP_BYTES_MAX = 64;

/** 1 for what stands for itself in a string: printable ASCII but quote and backslash. The loop over it is most of all work. */
const PLAIN = new Uint8Array(256);
for (let byte = 0x20; byte < 0x80; byte += 1) PLAIN[byte] = byte === QUOTE || byte === BACKSLASH ? 0 : 1;

/** What the letter behind a backslash stands for; 0: nothing. */
const ESCAPED = new Uint8Array(256);
for (const [letter, character] of Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' })) {
  ESCAPED[letter.charCodeAt(0)] = character.charCodeAt(0);
}

/** Not the payload, only where in it: `position` counts bytes of the JSON text from 0. */
export const jsonError = (position: number, message: string): KelpError =>
  new KelpError('invalid', 'invalid-json', message, { extra: { position } });

/** From a byte to the next one that is not plain, or to the end. */
export function skipPlain(bytes: Bytes, start: number): number {
  let at = start;
  const last = bytes.length - 8;
  while (at <= last && plainAt(bytes, at) && plainAt(bytes, at + 4)) at += 8;
  while (PLAIN[bytes[at] ?? 0] === 1) at += 1;
  return at;
}

const plainAt = (bytes: Bytes, at: number): boolean =>
  ((PLAIN[bytes[at] as number] as number) &
    (PLAIN[bytes[at + 1] as number] as number) &
    (PLAIN[bytes[at + 2] as number] as number) &
    (PLAIN[bytes[at + 3] as number] as number)) ===
  1;

/** From behind the opening quote to behind the closing one. Reads beyond the end give nothing that a string may hold. */
export function skipString(bytes: Bytes, start: number): number {
  let at = start;
  for (;;) {
    at = skipPlain(bytes, at);
    // Characters of more than one byte come in runs.
    while ((bytes[at] ?? 0) >= 0x80) at = skipCharacter(bytes, at);
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at = skipEscape(bytes, at);
    else if (byte === undefined) throw jsonError(at, 'the text ends inside a string');
    else if (PLAIN[byte] === 0) throw jsonError(at, 'a control character in a string must be escaped');
  }
}

function skipCharacter(bytes: Bytes, at: number): number {
  const next = skipMultibyte(bytes, at);
  if (next === -1) throw jsonError(at, 'not valid UTF-8');
  return next;
}

function skipEscape(bytes: Bytes, at: number): number {
  const letter = bytes[at + 1] ?? 0;
  if (letter !== LETTER_U) {
    if (ESCAPED[letter] === 0) throw jsonError(at, 'an escape that JSON does not have');
    return at + 2;
  }
  const unit = readUnit(bytes, at);
  if (unit === -1) throw jsonError(at, 'four hexadecimal digits must follow \\u');
  if (!isSurrogate(unit)) return at + UNICODE_ESCAPE_BYTES;
  // Half a character can't be stored as UTF-8: the encoder would put another one in its place without a word.
  const low = readUnit(bytes, at + UNICODE_ESCAPE_BYTES);
  if (unit >= SURROGATE_LOW || low < SURROGATE_LOW || !isSurrogate(low)) throw jsonError(at, 'a lone surrogate is no character');
  return at + 2 * UNICODE_ESCAPE_BYTES;
}

const isSurrogate = (unit: number): boolean => (unit & 0xf800) === 0xd800;

/** The number that a `\uXXXX` at `at` stands for; −1: there is none. */
function readUnit(bytes: Bytes, at: number): number {
  if (bytes[at] !== BACKSLASH || bytes[at + 1] !== LETTER_U) return -1;
  let unit = 0;
  for (let digit = at + 2; digit < at + UNICODE_ESCAPE_BYTES; digit += 1) {
    const value = hexDigit(bytes[digit] ?? 0);
    if (value === -1) return -1;
    unit = unit * 16 + value;
  }
  return unit;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}

/**
 * What a string that {@link skipString} has passed stands for, as UTF-8; `content` is what is between its quotes. Without
 * escapes it is the content itself, not a copy.
 */
export function unescapeString(content: Bytes): Bytes {
  return hasEscapes(content) ? unescaped(content) : content;
}

function hasEscapes(content: Bytes): boolean {
  if (content.length > LOOP_BYTES_MAX) return content.includes(BACKSLASH);
  for (let at = 0; at < content.length; at += 1) if (content[at] === BACKSLASH) return true;
  return false;
}

function unescaped(content: Bytes): Bytes {
  // Every escape is longer than what it stands for.
  const text = new Uint8Array(content.length);
  let length = 0;
  for (let at = 0; at < content.length;) {
    const byte = content[at] ?? 0;
    if (byte !== BACKSLASH) {
      text[length++] = byte;
      at += 1;
    } else if (content[at + 1] === LETTER_U) {
      const unit = readUnit(content, at);
      const code = isSurrogate(unit) ? codePoint(unit, readUnit(content, at + UNICODE_ESCAPE_BYTES)) : unit;
      length = writeCodePoint(text, length, code);
      at += code > 0xffff ? 2 * UNICODE_ESCAPE_BYTES : UNICODE_ESCAPE_BYTES;
    } else {
      text[length++] = ESCAPED[content[at + 1] ?? 0] ?? 0;
      at += 2;
    }
  }
  return text.subarray(0, length);
}

const codePoint = (high: number, low: number): number => 0x1_0000 + ((high & 0x3ff) << 10) + (low & 0x3ff);

function writeCodePoint(into: Bytes, at: number, code: number): number {
  let next = at;
  if (code < 0x80) {
    into[next++] = code;
    return next;
  }
  if (code < 0x800) {
    into[next++] = 0xc0 | (code >> 6);
  } else {
    if (code < 0x1_0000) {
      into[next++] = 0xe0 | (code >> 12);
    } else {
      into[next++] = 0xf0 | (code >> 18);
      into[next++] = 0x80 | ((code >> 12) & 0x3f);
    }
    into[next++] = 0x80 | ((code >> 6) & 0x3f);
  }
  into[next++] = 0x80 | (code & 0x3f);
  return next;
}
