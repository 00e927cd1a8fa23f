import { doubleOf, int64Of } from '../../format/json-number.ts';
import {
  endJson,
  firstMember,
  type JsonReader,
  nameIs,
  nextKind,
  nextMember,
  readJson,
  readSlice,
  readString,
} from '../../format/json-reader.ts';
import { skipValue } from '../../format/json-scanner.ts';
import { kindOf } from '../../format/message-kind.ts';
import { encodeUtf8 } from '../../format/utf8.ts';
import type { TypedColumn } from '../../model/archive.ts';
import { KelpError } from '../../model/errors.ts';
import type { Bytes, Message } from '../../model/message.ts';

export type TypedValue = Bytes | bigint | number | boolean | null;
type TypedValues = {
  /** For each column one entry a message. */
  readonly values: readonly TypedValue[][];
  /** Messages that the schema does not fit. */
  readonly misfits: number;
};

type Field = TypedColumn & {
  readonly name: Bytes;
  readonly values: TypedValue[];
  /** The last row whose value has the property. */
  row: number;
};

const LETTER_N = 0x6e;
const LETTER_T = 0x74;

/**
 * What the columns have of these messages, by the rule of FORMAT.md: all of a message or, where its value does not fit, nothing of it.
 * A tombstone and a reference have no value to be held against it, and nothing in any column.
 */
export function typedValues(columns: readonly TypedColumn[], messages: readonly Pick<Message, 'value' | 'headers'>[]): TypedValues {
  const fields = columns.map((column): Field => {
    const values = Array.from<TypedValue>({ length: messages.length }).fill(null);
    return { ...column, name: encodeUtf8(column.property), values, row: -1 };
  });
  let misfits = 0;
  for (const [row, message] of messages.entries()) {
    if (fields.length === 0 || message.value === null || kindOf(message) === 'upload') continue;
    if (takeValue(fields, readJson(message.value), row)) continue;
    misfits += 1;
    for (const { values } of fields) values[row] = null;
  }
  return { values: fields.map(({ values }) => values), misfits };
}

/** False: the value does not fit, and what was taken of it does not count. */
function takeValue(fields: readonly Field[], reader: JsonReader, row: number): boolean {
  // Without an error, which costs: there may be nothing else in the topic.
  if (nextKind(reader) !== 'object') return false;
  try {
    return takeMembers(fields, reader, row);
  } catch (error) {
    if (error instanceof KelpError && error.code === 'invalid-json') return false;
    throw error;
  }
}

function takeMembers(fields: readonly Field[], reader: JsonReader, row: number): boolean {
  // Most values have their members in the order of the columns.
  let next = 0;
  for (let more = firstMember(reader); more; more = nextMember(reader)) {
    const index = indexOf(fields, reader, next);
    const field = fields[index];
    if (field === undefined) {
      reader.at = skipValue(reader.bytes, reader.at, 1);
      continue;
    }
    // Parsers differ in which one of two they take.
    if (field.row === row) return false;
    const value = readTyped(field, reader);
    if (value === undefined) return false;
    field.values[row] = value;
    field.row = row;
    next = index + 1;
  }
  endJson(reader);
  return fields.every((field) => field.row === row || !field.required);
}

/** Looks from `next` on first; −1: the member is no column. */
function indexOf(fields: readonly Field[], reader: JsonReader, next: number): number {
  for (let step = 0; step < fields.length; step += 1) {
    const index = (next + step) % fields.length;
    const field = fields[index];
    if (field !== undefined && nameIs(reader, field.name)) return index;
  }
  return -1;
}

/** The next value; undefined: it is of another type, or beyond 64 bits. */
function readTyped({ type, nullable }: TypedColumn, reader: JsonReader): TypedValue | undefined {
  const kind = nextKind(reader);
  if (kind === 'string') return type === 'string' ? readString(reader) : undefined;
  if (kind === 'object' || kind === 'array') return undefined;
  const token = readSlice(reader);
  if (kind === 'number') {
    if (type === 'integer') return int64Of(token);
    return type === 'number' ? doubleOf(token) : undefined;
  }
  if (token[0] === LETTER_N) return nullable ? null : undefined;
  return type === 'boolean' ? token[0] === LETTER_T : undefined;
}
