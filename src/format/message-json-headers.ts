import { invalid } from '../model/errors.ts';
import { type Bytes, type Header, KIND_HEADER } from '../model/message.ts';
import { decodeBase64 } from './base64.ts';
import { inField } from './field-path.ts';
import {
  firstElement,
  firstMember,
  type JsonReader,
  nameText,
  nextElement,
  nextKind,
  nextMember,
  printableField,
  readSlice,
  readString,
  repeatedMember,
} from './json-reader.ts';
import { decodeUtf8 } from './utf8.ts';

const wrong = (message: string): Error => invalid('invalid-headers', '', message);

/**
 * Headers from a list of `[name, value]`, or from an object for who has no repeats. A value is a string, `{"bytes": base64}`
 * or null. Order and letter case are kept. Errors `invalid-headers`, `invalid-json`, fields as in `headers.a`, `headers[0]`.
 */
export function readHeaders(reader: JsonReader): Header[] {
  const kind = nextKind(reader);
  try {
    if (kind === 'array') return readList(reader);
    if (kind === 'object') return readObject(reader);
    throw wrong('headers are a list of [name, value], or an object');
  } catch (error) {
    throw inField('headers', error);
  }
}

function readObject(reader: JsonReader): Header[] {
  const headers: Header[] = [];
  const names = new Set<string>();
  for (let more = firstMember(reader); more; more = nextMember(reader)) {
    const name = nameText(reader);
    if (names.has(name)) throw repeatedMember(reader);
    names.add(name);
    try {
      headers.push(header(name, readValue(reader)));
    } catch (error) {
      throw inField(printableField(name) || `[${headers.length}]`, error);
    }
  }
  return headers;
}

function readList(reader: JsonReader): Header[] {
  const headers: Header[] = [];
  for (let more = firstElement(reader); more; more = nextElement(reader)) {
    try {
      headers.push(readPair(reader));
    } catch (error) {
      throw inField(`[${headers.length}]`, error);
    }
  }
  return headers;
}

function readPair(reader: JsonReader): Header {
  if (nextKind(reader) !== 'array' || !firstElement(reader)) throw wrong('a header is a list of a name and a value');
  if (nextKind(reader) !== 'string') throw wrong("a header's name is a string");
  const name = decodeUtf8(readString(reader)) ?? '';
  if (!nextElement(reader)) throw wrong('a header is a list of a name and a value');
  const value = readValue(reader);
  if (nextElement(reader)) throw wrong('a header is a list of a name and a value, and nothing else');
  return header(name, value);
}

function header(name: string, value: Bytes | null): Header {
  // It says how the value is to be read: whoever could set it could make bytes pass for JSON.
  if (name === KIND_HEADER) throw wrong(`${KIND_HEADER} is set by Kelp alone`);
  return { name, value };
}

function readValue(reader: JsonReader): Bytes | null {
  const kind = nextKind(reader);
  if (kind === 'string') return readString(reader);
  if (kind === 'object') return readBytes(reader);
  if (kind === 'word' && decodeUtf8(readSlice(reader)) === 'null') return null;
  throw wrong('a value is a string, {"bytes": base64} or null');
}

function readBytes(reader: JsonReader): Bytes {
  if (!firstMember(reader) || nameText(reader) !== 'bytes' || nextKind(reader) !== 'string')
    throw wrong('a value that is not text is {"bytes": base64}');
  const bytes = decodeBase64(readString(reader));
  if (bytes === undefined) throw wrong('not base64 (RFC 4648, with padding and without blanks)');
  if (nextMember(reader)) throw wrong('a value that is not text is {"bytes": base64} and nothing else');
  return bytes;
}
