import { invalid, KelpError } from '../model/errors.ts';
import { isUploadId, type UploadId } from '../model/ids.ts';
import { REQUEST_MESSAGES_MAX } from '../model/limits.ts';
import type { Bytes, Header, Message } from '../model/message.ts';
import { decodeBase64 } from './base64.ts';
import { inField, inLine } from './field-path.ts';
import {
  endJson,
  firstElement,
  firstMember,
  type JsonReader,
  memberField,
  nameIn,
  nameIs,
  nextElement,
  nextKind,
  nextMember,
  readJson,
  readSlice,
  readString,
  repeatedMember,
} from './json-reader.ts';
import { readHeaders } from './message-json-headers.ts';
import { type Kind, withKind } from './message-kind.ts';
import { checkHeaders, checkTimestamp, checkValue } from './message-limits.ts';
import { type KeyRule, resolveKey } from './resolve-key.ts';
import { decodeUtf8, encodeUtf8 } from './utf8.ts';

/** `nowMs`: the timestamp of messages that bring none. */
export type ParseOptions = { readonly keyRule: KeyRule; readonly nowMs: number };

type Payload = {
  readonly member: Member;
  readonly kind: Kind | undefined;
  readonly value: Bytes | null;
  readonly upload?: UploadId;
};

const MEMBERS = ['key', 'value', 'text', 'bytes', 'headers', 'timestamp', 'tombstone', 'upload'] as const;
type Member = (typeof MEMBERS)[number];
const MEMBER_NAMES = MEMBERS.map(encodeUtf8);
const MESSAGES_NAME = encodeUtf8('messages');

const NO_HEADERS: readonly Header[] = [];
/** Of a message with an upload, until that is looked up. */
const NO_VALUE: Bytes = new Uint8Array(0);
const LINE_FEED = 0x0a;
const DECIMAL = /^(?:0|[1-9][0-9]*)$/;

/**
 * The messages of `{"messages": […]}`, ready to be stored. Values, keys and headers are views of `body` where nothing had to
 * be unescaped. Errors name the field, as in `messages[3].headers.a`: `invalid-json` (with `position`), `invalid-message`
 * (unknown members, wrong types), `invalid-messages` (none or too many), `invalid-key`, `invalid-headers`,
 * `invalid-timestamp`, `invalid-base64`, `invalid-upload` (no id, or twice), `too-large`.
 */
export function parseEnvelope(body: Bytes, options: ParseOptions): Message[] {
  const reader = readJson(body);
  if (nextKind(reader) !== 'object') throw invalid('invalid-message', 'messages', 'the body is {"messages": […]}');
  let messages: Message[] | undefined;
  for (let more = firstMember(reader); more; more = nextMember(reader)) {
    if (!nameIs(reader, MESSAGES_NAME)) throw invalid('invalid-message', memberField(reader) || 'body', 'this member is not known');
    if (messages !== undefined) throw repeatedMember(reader);
    messages = readMessages(reader, options);
  }
  endJson(reader);
  if (messages === undefined) throw invalid('invalid-message', 'messages', 'the body is {"messages": […]}');
  if (messages.length === 0) throw invalid('invalid-messages', 'messages', 'a request has at least one message');
  checkUploadsOnce(messages, (index, error) => inField(`messages[${index}]`, error));
  return messages;
}

/** An upload is submitted once: a request that names it twice could only be half stored. */
function checkUploadsOnce(messages: readonly Message[], placed: (index: number, error: unknown) => unknown): void {
  const seen = new Set<UploadId>();
  for (const [index, { upload }] of messages.entries()) {
    if (upload === undefined) continue;
    if (seen.has(upload)) throw placed(index, invalid('invalid-upload', 'upload', 'another message of this request has this upload'));
    seen.add(upload);
  }
}

function readMessages(reader: JsonReader, options: ParseOptions): Message[] {
  if (nextKind(reader) !== 'array') throw invalid('invalid-message', 'messages', 'messages are a list');
  const messages: Message[] = [];
  for (let more = firstElement(reader); more; more = nextElement(reader)) {
    checkCount(messages.length);
    try {
      messages.push(readMessage(reader, options));
    } catch (error) {
      throw inField(`messages[${messages.length}]`, error);
    }
  }
  return messages;
}

/** The messages of a body with one message a line; the last line may lack its line feed. Errors as above, with `line`. */
export function parseLines(body: Bytes, options: ParseOptions): Message[] {
  const messages: Message[] = [];
  for (let start = 0; start < body.length;) {
    const feed = body.indexOf(LINE_FEED, start);
    const end = feed === -1 ? body.length : feed;
    checkCount(messages.length);
    messages.push(parseLine(body.subarray(start, end), messages.length + 1, options));
    start = end + 1;
  }
  if (messages.length === 0) throw invalid('invalid-messages', 'messages', 'a request has at least one message');
  checkUploadsOnce(messages, (index, error) => inLine(index + 1, error));
  return messages;
}

function parseLine(line: Bytes, number: number, options: ParseOptions): Message {
  try {
    const reader = readJson(line);
    const message = readMessage(reader, options);
    endJson(reader);
    return message;
  } catch (error) {
    throw inLine(number, error);
  }
}

function checkCount(index: number): void {
  if (index >= REQUEST_MESSAGES_MAX)
    throw invalid('invalid-messages', 'messages', `a request has at most ${REQUEST_MESSAGES_MAX} messages`);
}

function readMessage(reader: JsonReader, options: ParseOptions): Message {
  if (nextKind(reader) !== 'object') throw invalid('invalid-message', '', 'a message is an object');
  let seen = 0;
  let key: Bytes | undefined;
  let payload: Payload | undefined;
  let headers: readonly Header[] = NO_HEADERS;
  let timestampMs = options.nowMs;
  for (let more = firstMember(reader); more; more = nextMember(reader)) {
    const index = nameIn(reader, MEMBER_NAMES);
    const member = MEMBERS[index];
    if (member === undefined) throw invalid('invalid-message', memberField(reader), 'this member is not known');
    if ((seen & (1 << index)) !== 0) throw repeatedMember(reader);
    seen |= 1 << index;
    if (member === 'key') key = readText(reader, member, 'invalid-key');
    else if (member === 'headers') headers = readHeaders(reader);
    else if (member === 'timestamp') timestampMs = readTimestamp(reader);
    else if (payload === undefined) payload = readPayload(reader, member);
    else throw invalid('invalid-message', member, `the message already has its ${payload.member}`);
  }
  if (payload === undefined) throw invalid('invalid-message', '', 'a message has one of value, text, bytes, tombstone and upload');
  return finishMessage({ key, payload, headers, timestampMs }, options.keyRule);
}

function finishMessage(
  parts: { readonly key: Bytes | undefined; readonly payload: Payload; readonly headers: readonly Header[]; readonly timestampMs: number },
  rule: KeyRule,
): Message {
  const { payload, headers, timestampMs } = parts;
  const { upload } = payload;
  if (upload !== undefined && rule.from === 'pointer') throw noPlaceForKey(rule.text);
  checkValue(payload.value, payload.member);
  if (headers.length > 0) checkHeaders(headers);
  const json = payload.kind === 'json' ? (payload.value ?? undefined) : undefined;
  const key = resolveKey(rule, { key: parts.key, headers, json });
  const message = { key, value: payload.value, headers: withKind(headers, payload.kind), timestampMs };
  return upload === undefined ? message : { ...message, upload };
}

const noPlaceForKey = (pointer: string): KelpError =>
  new KelpError('invalid', 'invalid-key', "the key of this topic's messages is in the value, and an upload has none to point into", {
    field: 'upload',
    extra: { pointer },
  });

function readPayload(reader: JsonReader, member: Member): Payload {
  if (member === 'value') return { member, kind: 'json', value: readSlice(reader) };
  if (member === 'text') return { member, kind: 'text', value: readText(reader, member, 'invalid-message') };
  if (member === 'bytes') return { member, kind: undefined, value: readBase64(reader) };
  if (member === 'upload') return { member, kind: 'upload', value: NO_VALUE, upload: readUploadId(reader) };
  if (nextKind(reader) !== 'word' || decodeUtf8(readSlice(reader)) !== 'true')
    throw invalid('invalid-message', member, 'a tombstone is true');
  return { member, kind: undefined, value: null };
}

/** Never a URL: what Kelp itself asks for is decided by Kelp alone. */
export function readUploadId(reader: JsonReader, field = 'upload'): UploadId {
  const id = nextKind(reader) === 'string' ? (decodeUtf8(readString(reader)) ?? '') : '';
  if (!isUploadId(id)) throw invalid('invalid-upload', field, 'the id of an upload, which is u and 15 of 0-9 a-z');
  return id;
}

function readBase64(reader: JsonReader): Bytes {
  const value = decodeBase64(readText(reader, 'bytes', 'invalid-message'));
  if (value === undefined) throw invalid('invalid-base64', 'bytes', 'not base64 (RFC 4648, with padding and without blanks)');
  return value;
}

function readText(reader: JsonReader, field: string, code: string): Bytes {
  if (nextKind(reader) !== 'string') throw invalid(code, field, 'a string must stand here');
  return readString(reader);
}

function readTimestamp(reader: JsonReader): number {
  // Digits only: 1e3 and 1.0 are numbers, but not what anybody means by a time. Too many digits are too large in any case.
  const token = nextKind(reader) === 'number' ? (decodeUtf8(readSlice(reader)) ?? '') : '';
  const timestampMs = DECIMAL.test(token) ? Number(token) : -1;
  checkTimestamp(timestampMs);
  return timestampMs;
}
