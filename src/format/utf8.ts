import type { Bytes } from '../model/message.ts';

const encoder = new TextEncoder();
// A byte order mark at the start is kept as the character that it is: keys and values come back as they were sent.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Up to here a loop over plain ASCII is faster than a call into the runtime. */
const LOOP_BYTES_MAX = 24;

export const encodeUtf8 = (text: string): Bytes => encoder.encode(text);

/** Undefined where the bytes are not valid UTF-8 (RFC 3629: no overlong forms, no surrogates). */
export function decodeUtf8(bytes: Bytes): string | undefined {
  if (bytes.length <= LOOP_BYTES_MAX) {
    let text = '';
    let at = 0;
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte >= 0x80) break;
      text += String.fromCharCode(byte);
    }
    if (at === bytes.length) return text;
  }
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
