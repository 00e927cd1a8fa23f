import { invalid } from '../model/errors.ts';
import { HEADERS_BYTES_MAX, HEADERS_MAX, KEY_BYTES_MAX, MESSAGE_BYTES_MAX, TIMESTAMP_MS_MAX } from '../model/limits.ts';
import { type Bytes, type Header, KIND_HEADER, type Message } from '../model/message.ts';
import { utf8Bytes } from './utf8.ts';

// The limits of one message, counted in bytes as they are stored, with one verdict for every route: JSON, lines, a raw
// body, a record batch. Nothing is ever cut. Fields are relative to the message.

/** Errors `too-large` (value), `invalid-key`, `invalid-headers`, `invalid-timestamp`. */
export function checkMessage(message: Message): void {
  checkKey(message.key);
  checkValue(message.value);
  checkHeaders(message.headers);
  checkTimestamp(message.timestampMs);
}

export function checkKey(key: Bytes, field = 'key'): void {
  if (key.length > KEY_BYTES_MAX)
    throw invalid('invalid-key', field, `a key has at most ${KEY_BYTES_MAX} bytes, this one has ${key.length}`);
}

export function checkValue(value: Bytes | null, field = 'value'): void {
  if (value !== null && value.length > MESSAGE_BYTES_MAX) {
    throw invalid('too-large', field, `a value has at most ${MESSAGE_BYTES_MAX} bytes, this one has ${value.length}`);
  }
}

/** The header that Kelp itself adds for the kind is not counted: the limit is the same for who sends it and who doesn't. */
export function checkHeaders(headers: readonly Header[]): void {
  let count = 0;
  let bytes = 0;
  for (const { name, value } of headers) {
    if (name === KIND_HEADER) continue;
    count += 1;
    bytes += utf8Bytes(name) + (value?.length ?? 0);
  }
  if (count > HEADERS_MAX) throw invalid('invalid-headers', 'headers', `at most ${HEADERS_MAX} headers, here are ${count}`);
  if (bytes > HEADERS_BYTES_MAX) {
    throw invalid('invalid-headers', 'headers', `names and values have at most ${HEADERS_BYTES_MAX} bytes together, these have ${bytes}`);
  }
}

export function checkTimestamp(timestampMs: number, field = 'timestamp'): void {
  if (!Number.isInteger(timestampMs) || timestampMs < 0 || timestampMs > TIMESTAMP_MS_MAX) {
    throw invalid('invalid-timestamp', field, `a timestamp is an integer of milliseconds from 0 to ${TIMESTAMP_MS_MAX}`);
  }
}
