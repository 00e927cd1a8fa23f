import { KelpError } from '../model/errors.ts';
import type { SegmentId } from '../model/ids.ts';
import { type Bytes, type Header, KIND_HEADER, type StoredMessage } from '../model/message.ts';
import { encodeBase64 } from './base64.ts';
import { checkJson } from './json-scanner.ts';
import { type JsonWriter, writeAscii, writeBytes, writeString, writeText } from './json-writer.ts';
import { type Kind, kindOf } from './message-kind.ts';
import type { ShownReference } from './reference.ts';

/**
 * `segment`: written first, where messages of several segments stand together. `oneLine`: line breaks between the tokens of
 * a JSON value become blanks; inside its strings there are none. `reference`: what the message refers to, if it does.
 */
export type MessageForm = { readonly segment?: SegmentId; readonly oneLine?: boolean; readonly reference?: ShownReference };

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BLANK = 0x20;

/**
 * Writes a stored message in the shape that reads give: `offset`, `partition`, `key` or `keyBytes`, one of `value`, `text`,
 * `bytes`, `tombstone` and `reference`, `headers`, `timestamp`. A JSON value is the stored text. What a value was sent as is believed
 * only where it is true, since a batch can say anything: bytes that pass for JSON would let their sender write into the
 * answers of others. Then it is `bytes`, and the header that isn't true is shown with the others.
 */
export function writeMessage(writer: JsonWriter, message: StoredMessage, form: MessageForm = {}): void {
  const segment = form.segment === undefined ? '' : `"segment":"${form.segment}",`;
  writeAscii(writer, `{${segment}"offset":${message.offset},"partition":${message.partition},"key`);
  writeKey(writer, message.key);
  const obeyed = writeValue(writer, message, form);
  writeAscii(writer, ',"headers":[');
  let separator = '[';
  for (const header of message.headers) {
    if (obeyed && header.name === KIND_HEADER) continue;
    writeHeader(writer, header, separator);
    separator = ',[';
  }
  writeAscii(writer, `],"timestamp":${message.timestampMs}}`);
}

function writeKey(writer: JsonWriter, key: Bytes): void {
  const start = writer.at;
  writeAscii(writer, '":');
  if (writeString(writer, key)) return;
  writer.at = start;
  writeAscii(writer, `Bytes":"${encodeBase64(key)}"`);
}

/** Answers whether the value was written as what its kind says. */
function writeValue(writer: JsonWriter, message: StoredMessage, form: MessageForm): boolean {
  const { value } = message;
  if (form.reference !== undefined) {
    writeReference(writer, form.reference);
    return true;
  }
  if (value === null) {
    writeAscii(writer, ',"tombstone":true');
    return false;
  }
  const start = writer.at;
  if (writeAs(writer, { kind: kindOf(message), value }, form)) return true;
  writer.at = start;
  writeAscii(writer, `,"bytes":"${encodeBase64(value)}"`);
  return false;
}

function writeAs(
  writer: JsonWriter,
  { kind, value }: { readonly kind: Kind | undefined; readonly value: Bytes },
  form: MessageForm,
): boolean {
  if (kind === 'text') {
    writeAscii(writer, ',"text":');
    return writeString(writer, value);
  }
  if (kind !== 'json' || !isJson(value)) return false;
  writeAscii(writer, ',"value":');
  writeBytes(writer, form.oneLine === true ? onOneLine(value) : value);
  return true;
}

function writeReference(writer: JsonWriter, { reference, ...shown }: ShownReference): void {
  const { upload, bytes, sha256, contentType } = reference;
  writeText(writer, `,"reference":${JSON.stringify({ upload, bytes, sha256, contentType }).slice(0, -1)},`);
  writeText(writer, 'url' in shown ? `"url":${JSON.stringify(shown.url)}}` : `"content":"${encodeBase64(shown.content)}"}`);
}

function isJson(bytes: Bytes): boolean {
  try {
    checkJson(bytes);
    return true;
  } catch (error) {
    if (error instanceof KelpError) return false;
    throw error;
  }
}

function onOneLine(json: Bytes): Bytes {
  if (!json.includes(LINE_FEED) && !json.includes(CARRIAGE_RETURN)) return json;
  return json.map((byte) => (byte === LINE_FEED || byte === CARRIAGE_RETURN ? BLANK : byte));
}

function writeHeader(writer: JsonWriter, { name, value }: Header, separator: string): void {
  writeText(writer, `${separator}${JSON.stringify(name)},`);
  if (value === null) writeAscii(writer, 'null]');
  else if (writeString(writer, value)) writeAscii(writer, ']');
  else writeAscii(writer, `{"bytes":"${encodeBase64(value)}"}]`);
}
