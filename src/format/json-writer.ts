import type { Bytes } from '../model/message.ts';
import { BACKSLASH, skipPlain } from './json-string.ts';
import { skipMultibyte } from './utf8.ts';

// JSON text as bytes that grow: what is stored goes to the answer by copying runs, without becoming a string in between.

export type JsonWriter = { bytes: Bytes; at: number };

const BYTES_MIN = 256;
/** Up to here a loop copies faster than a call into the runtime. */
const LOOP_LENGTH_MAX = 48;
/** The most that a UTF-16 unit takes in UTF-8. */
const UNIT_BYTES_MAX = 3;
const encoder = new TextEncoder();

/** How a control character, a quote or a backslash stands in a string. */
const ESCAPES: readonly string[] = Array.from({ length: BACKSLASH + 1 }, (_, code) =>
  JSON.stringify(String.fromCharCode(code)).slice(1, -1),
);

/** `bytesExpected`: what will probably be written; more is fine. */
export function writeJson(bytesExpected: number): JsonWriter {
  return { bytes: new Uint8Array(Math.max(bytesExpected, BYTES_MIN)), at: 0 };
}

export const writtenJson = (writer: JsonWriter): Bytes => writer.bytes.subarray(0, writer.at);

/** Text that is JSON already. */
export function writeText(writer: JsonWriter, text: string): void {
  reserve(writer, text.length * UNIT_BYTES_MAX);
  writer.at += encoder.encodeInto(text, writer.bytes.subarray(writer.at)).written;
}

/** The same, for what is known to be ASCII: names, numbers, base64. */
export function writeAscii(writer: JsonWriter, text: string): void {
  if (text.length > LOOP_LENGTH_MAX) {
    writeText(writer, text);
    return;
  }
  reserve(writer, text.length);
  const { bytes, at } = writer;
  for (let from = 0; from < text.length; from += 1) bytes[at + from] = text.charCodeAt(from);
  writer.at = at + text.length;
}

/** Bytes that are JSON already. */
export function writeBytes(writer: JsonWriter, bytes: Bytes): void {
  reserve(writer, bytes.length);
  writer.bytes.set(bytes, writer.at);
  writer.at += bytes.length;
}

/** A string whose content is these bytes of UTF-8; false, and nothing written, where they are not valid UTF-8. */
export function writeString(writer: JsonWriter, content: Bytes): boolean {
  const start = writer.at;
  writeAscii(writer, '"');
  let from = 0;
  for (let at = 0; at < content.length;) {
    at = skipPlain(content, at);
    const byte = content[at];
    if (byte === undefined) break;
    if (byte < 0x80) {
      writePart(writer, content, { from, to: at });
      writeAscii(writer, ESCAPES[byte] ?? '');
      at += 1;
      from = at;
    } else {
      at = skipMultibyte(content, at);
      if (at === -1) {
        writer.at = start;
        return false;
      }
    }
  }
  writePart(writer, content, { from, to: content.length });
  writeAscii(writer, '"');
  return true;
}

function writePart(writer: JsonWriter, content: Bytes, { from, to }: Stretch): void {
  if (to - from > LOOP_LENGTH_MAX) {
    writeBytes(writer, content.subarray(from, to));
    return;
  }
  reserve(writer, to - from);
  const { bytes } = writer;
  let { at } = writer;
  for (let next = from; next < to; next += 1) bytes[at++] = content[next] ?? 0;
  writer.at = at;
}

type Stretch = { readonly from: number; readonly to: number };

function reserve(writer: JsonWriter, length: number): void {
  if (writer.at + length <= writer.bytes.length) return;
  const larger = new Uint8Array(Math.max(writer.bytes.length * 2, writer.at + length));
  larger.set(writer.bytes.subarray(0, writer.at));
  writer.bytes = larger;
}
