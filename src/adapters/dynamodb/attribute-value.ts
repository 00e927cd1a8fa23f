import { KelpError } from '../../model/errors.ts';
import type { Bytes } from '../../model/message.ts';
import type { Item, Value } from '../../ports/metadata-table.ts';

/** A value in the API's form; `B` is what bytes are there: base64 on the wire, an array for the SDK. */
export type AttributeValue<B> =
  | { S: string }
  | { N: string }
  | { BOOL: boolean }
  | { NULL: true }
  | { B: B }
  | { L: AttributeValue<B>[] }
  | { M: Attributes<B> };
export type Attributes<B> = Record<string, AttributeValue<B>>;

/** What an answer may hold: also types that we never write. */
export type AnyAttributes = { readonly [name: string]: object };

export type AttributeCodec<B> = {
  readonly encodeMap: (map: Item) => Attributes<B>;
  /** Error `corrupt`/`table-corrupt` for what {@link encodeMap} can't have written. */
  readonly decodeMap: (attributes: AnyAttributes) => Item;
};

/** Bytes as arrays, as the SDK takes them. */
export const sdkAttributes: AttributeCodec<Bytes> = createCodec<Bytes>(
  (bytes) => bytes,
  (bytes) => (bytes instanceof Uint8Array ? bytes : undefined),
);

/** Bytes as base64, as they are in the API's JSON. */
export const jsonAttributes: AttributeCodec<string> = createCodec<string>(
  (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
  (text) => (typeof text === 'string' ? new Uint8Array(Buffer.from(text, 'base64')) : undefined),
);

function createCodec<B>(toB: (bytes: Bytes) => B, fromB: (value: unknown) => Bytes | undefined): AttributeCodec<B> {
  function encode(value: Value): AttributeValue<B> {
    if (typeof value === 'string') return { S: value };
    if (typeof value === 'number') return { N: integerText(value) };
    if (typeof value === 'boolean') return { BOOL: value };
    if (value === null) return { NULL: true };
    if (value instanceof Uint8Array) return { B: toB(value) };
    if (Array.isArray(value)) return { L: (value as readonly Value[]).map(encode) };
    if (typeof value === 'object') return { M: encodeMap(value as Item) };
    throw new KelpError('invalid', 'table-refused', `a table can't store a value of type ${typeof value}`);
  }

  function encodeMap(map: Item): Attributes<B> {
    const attributes: Attributes<B> = {};
    for (const name of Object.keys(map)) setMember(attributes, name, encode(map[name] as Value));
    return attributes;
  }

  function decode(attribute: object): Value {
    for (const type in attribute) return decodeAs(type, (attribute as Record<string, unknown>)[type]);
    throw corrupt('an attribute without a type');
  }

  function decodeAs(type: string, content: unknown): Value {
    if (type === 'S' && typeof content === 'string') return content;
    if (type === 'N') return safeInteger(content);
    if (type === 'BOOL' && typeof content === 'boolean') return content;
    if (type === 'NULL') return null;
    if (type === 'L' && Array.isArray(content)) return content.map((member: object) => decode(member));
    if (type === 'M' && typeof content === 'object' && content !== null) return decodeMap(content as AnyAttributes);
    const bytes = type === 'B' ? fromB(content) : undefined;
    if (bytes === undefined) throw corrupt(`an attribute of type ${type}`);
    return bytes;
  }

  function decodeMap(attributes: AnyAttributes): Item {
    const item: Record<string, Value> = {};
    for (const name of Object.keys(attributes)) setMember(item, name, decode(attributes[name] as object));
    return item;
  }

  return { encodeMap, decodeMap };
}

/** An attribute may be called `__proto__`, which plain assignment would take for the object's prototype. */
function setMember<T>(target: Record<string, T>, name: string, value: T): void {
  if (name !== '__proto__') target[name] = value;
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

function integerText(value: number): string {
  if (!Number.isSafeInteger(value)) throw new KelpError('invalid', 'table-refused', `${value} is not an integer up to 2^53 - 1`);
  return String(value);
}

/** The table has 38 digits; a number that JavaScript would round is refused rather than changed. */
function safeInteger(text: unknown): number {
  const value = typeof text === 'string' && text !== '' ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw corrupt('a number that is not an integer up to 2^53 - 1');
  return value;
}

function corrupt(what: string): KelpError {
  return new KelpError('corrupt', 'table-corrupt', `the table has ${what}, which nothing here writes`);
}
