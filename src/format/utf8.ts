import type { Bytes } from '../model/message.ts';

const encoder = new TextEncoder();
// A byte order mark at the start is kept as the character that it is: keys and values come back as they were sent.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Up to here a loop over plain ASCII writes faster than a call into the runtime. */
const LOOP_BYTES_MAX = 24;

export const encodeUtf8 = (text: string): Bytes => encoder.encode(text);

/** Undefined where the bytes are not valid UTF-8 (RFC 3629: no overlong forms, no surrogates). */
export function decodeUtf8(bytes: Bytes): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The length of the text as UTF-8; a lone surrogate counts as the three bytes that the encoder makes of it. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.codePointAt(at) ?? 0;
    if (code > 0xffff) at += 1;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x1_0000 ? 3 : 4;
  }
  return bytes;
}

/** Writes the text at `at`, where it takes `length` bytes ({@link utf8Bytes}). */
export function writeUtf8(text: string, length: number, into: { readonly bytes: Bytes; readonly at: number }): void {
  if (length === text.length && length <= LOOP_BYTES_MAX) {
    for (let from = 0; from < length; from += 1) into.bytes[into.at + from] = text.charCodeAt(from);
  } else {
    encoder.encodeInto(text, into.bytes.subarray(into.at, into.at + length));
  }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/**
 * From the first byte of a character of more than one byte to behind its last; −1 where it is not well-formed (RFC 3629: no
 * overlong forms, no surrogates, nothing above U+10FFFF).
 */
export function skipMultibyte(bytes: Bytes, at: number): number {
  const first = bytes[at] ?? 0;
  const second = bytes[at + 1];
  if (first < 0xc2 || first > 0xf4 || second === undefined || !isContinuation(second)) return -1;
  if (first < 0xe0) return at + 2;
  if (!isContinuation(bytes[at + 2])) return -1;
  if (first < 0xf0) return (first === 0xe0 && second < 0xa0) || (first === 0xed && second > 0x9f) ? -1 : at + 3;
  if ((first === 0xf0 && second < 0x90) || (first === 0xf4 && second > 0x8f)) return -1;
  return isContinuation(bytes[at + 3]) ? at + 4 : -1;
}
