import { invalid } from '../model/errors.ts';
import type { Bytes } from '../model/message.ts';
import {
  firstElement,
  firstMember,
  type JsonReader,
  nameIs,
  nextElement,
  nextKind,
  nextMember,
  readJson,
  readSlice,
  readString,
  repeatedMember,
  skipNext,
} from './json-reader.ts';
import { encodeUtf8 } from './utf8.ts';

/** A JSON Pointer (RFC 6901): its reference tokens, unescaped; the whole value has none. */
export type JsonPointer = readonly Token[];
/** `name`: as one would find it in an object, in UTF-8. `index`: in an array; −1: it is no index. */
type Token = { readonly name: Bytes; readonly index: number };

const POINTER = /^(?:\/(?:[^/~]|~[01])*)*$/;
/** `null`, of all words. */
const LETTER_N = 0x6e;
const ARRAY_INDEX = /^(?:0|[1-9][0-9]*)$/;

/** Error `invalid-pointer`. */
export function parsePointer(text: string): JsonPointer {
  if (!POINTER.test(text))
    throw invalid('invalid-pointer', 'pointer', 'a JSON Pointer is empty or begins with /; ~ stands only in ~0 and ~1');
  // The order matters: ~01 is ~1 as text, not a slash.
  const tokens = text.split('/').slice(1);
  return tokens.map((token) => ({
    name: encodeUtf8(token.replaceAll('~1', '/').replaceAll('~0', '~')),
    index: ARRAY_INDEX.test(token) ? Number(token) : -1,
  }));
}

/**
 * What the pointer leads to in a JSON text that is known to be well-formed, as it stands there; undefined: nothing.
 * Error `invalid-json` for a name on the way that comes twice in its object: parsers differ in which one they take. Other
 * repeated names are data.
 */
export function findByPointer(json: Bytes, pointer: JsonPointer): Bytes | undefined {
  return find(readJson(json), pointer, 0);
}

function find(reader: JsonReader, pointer: JsonPointer, depth: number): Bytes | undefined {
  const token = pointer[depth];
  if (token === undefined) return readSlice(reader);
  const kind = nextKind(reader);
  if (kind !== 'object' && kind !== 'array') {
    skipNext(reader);
    return undefined;
  }
  const below = (): Bytes | undefined => find(reader, pointer, depth + 1);
  return kind === 'object' ? findMember(reader, token, below) : findElement(reader, token, below);
}

/** Reads the object to its end, also behind what was found: a second member of the same name may stand there. */
function findMember(reader: JsonReader, token: Token, below: () => Bytes | undefined): Bytes | undefined {
  let times = 0;
  let found: Bytes | undefined;
  for (let more = firstMember(reader); more; more = nextMember(reader)) {
    if (nameIs(reader, token.name)) {
      times += 1;
      if (times > 1) throw repeatedMember(reader);
      found = below();
    } else {
      skipNext(reader);
    }
  }
  return found;
}

function findElement(reader: JsonReader, token: Token, below: () => Bytes | undefined): Bytes | undefined {
  let index = 0;
  let found: Bytes | undefined;
  for (let more = firstElement(reader); more; more = nextElement(reader)) {
    if (index === token.index) found = below();
    else skipNext(reader);
    index += 1;
  }
  return found;
}

/**
 * The text of a scalar as a key: a string's content, the very characters of a number, `true` or `false`. So 1 and "1" are
 * one key, 1 and 1.0 are two. Undefined: null, an object or an array, which are no keys.
 */
export function scalarText(json: Bytes): Bytes | undefined {
  const reader = readJson(json);
  const kind = nextKind(reader);
  if (kind === 'string') return readString(reader);
  if (kind === 'object' || kind === 'array') return undefined;
  const token = readSlice(reader);
  return token[0] === LETTER_N ? undefined : token;
}
