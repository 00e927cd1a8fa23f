import { SCHEMA_BYTES_MAX, TYPED_COLUMNS_MAX } from '../model/archive-limits.ts';
import { COLUMN_TYPES, type ColumnType, type TypedColumn } from '../model/archive.ts';
import { invalid, type KelpError } from '../model/errors.ts';
import type { Bytes } from '../model/message.ts';
import type { TopicSchema } from '../model/topic.ts';
import { inField } from './field-path.ts';
import {
  firstElement,
  forEachMember,
  type JsonReader,
  nextElement,
  nextKind,
  printableField,
  readJson,
  readSlice,
  readString,
  skipNext,
} from './json-reader.ts';
import { decodeUtf8 } from './utf8.ts';

// Of a topic's JSON Schema, what becomes columns of its files. All else in it is kept and not looked at.

/** A fixed prefix: no property meets a column that every file has, nor one of the path, nor a word of SQL. */
export const COLUMN_PREFIX = 'value_';
const COLUMN_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
/** Whatever its letter case, as every reader of files has it. */
const RESERVED = /^kelp_/i;
const OTHER_TYPES = ['null', 'object', 'array'];

type Property = { readonly name: string; readonly types: readonly string[] };

const text = (bytes: Bytes): string => decodeUtf8(bytes) ?? '';
const wrong = (field: string, message: string): KelpError => invalid('invalid-schema', field, message);

/**
 * A JSON text that is known to be well-formed as a topic's schema. Columns are its `properties` of one type (beside `null`) that is a
 * scalar, in their order. Errors `invalid-json`, `invalid-schema`, naming the member from inside the schema.
 */
export function parseTopicSchema(json: Bytes): TopicSchema {
  if (json.length > SCHEMA_BYTES_MAX) throw wrong('', `at most ${SCHEMA_BYTES_MAX} bytes`);
  const reader = readJson(json);
  if (nextKind(reader) !== 'object') throw wrong('', 'a JSON Schema, which is an object');
  let properties: readonly Property[] = [];
  let required: ReadonlySet<string> = new Set();
  forEachMember(reader, (name) => {
    if (name === 'properties') properties = inside(name, () => readProperties(reader));
    else if (name === 'required') required = new Set(inside(name, () => readTexts(reader)));
    else skipNext(reader);
  });
  const columns = properties.flatMap(({ name, types }) => columnOf(name, types, required));
  inside('properties', () => checkColumns(columns));
  return { json: text(json), columns };
}

function readProperties(reader: JsonReader): Property[] {
  if (nextKind(reader) !== 'object') throw wrong('', 'an object');
  const found: Property[] = [];
  forEachMember(reader, (name) => {
    found.push({ name, types: inside(printableField(name), () => readTypes(reader)) });
  });
  return found;
}

/** None: its schema doesn't say, so that it becomes no column. */
function readTypes(reader: JsonReader): readonly string[] {
  if (nextKind(reader) !== 'object') {
    if (!['true', 'false'].includes(text(readSlice(reader)))) throw wrong('', 'a schema: an object, true or false');
    return [];
  }
  let types: readonly string[] = [];
  forEachMember(reader, (name) => {
    if (name !== 'type') return skipNext(reader);
    types = nextKind(reader) === 'string' ? [text(readString(reader))] : inside('type', () => readTexts(reader));
    const unknown = types.some((type) => !isColumnType(type) && !OTHER_TYPES.includes(type));
    if (unknown) throw wrong('type', `of ${[...COLUMN_TYPES, ...OTHER_TYPES].join(', ')}`);
  });
  return types;
}

function readTexts(reader: JsonReader): string[] {
  const refusal = wrong('', 'a list of texts');
  if (nextKind(reader) !== 'array') throw refusal;
  const texts: string[] = [];
  for (let more = firstElement(reader); more; more = nextElement(reader)) {
    if (nextKind(reader) !== 'string') throw refusal;
    texts.push(text(readString(reader)));
  }
  return texts;
}

function columnOf(property: string, types: readonly string[], required: ReadonlySet<string>): TypedColumn[] {
  const nullable = types.includes('null');
  const [type, other] = types.filter((one) => one !== 'null');
  if (type === undefined || other !== undefined || !isColumnType(type)) return [];
  return [{ property, column: COLUMN_PREFIX + property, type, required: required.has(property), nullable }];
}

function checkColumns(columns: readonly TypedColumn[]): void {
  if (columns.length > TYPED_COLUMNS_MAX) throw wrong('', `at most ${TYPED_COLUMNS_MAX} of them become columns of files`);
  const seen = new Map<string, string>();
  for (const { property } of columns) {
    const refuse = (why: string): KelpError =>
      wrong(printableField(property), `${JSON.stringify(property.slice(0, 64))} names no column: ${why}`);
    if (!COLUMN_NAME.test(property)) throw refuse(`it must match ${COLUMN_NAME.source}`);
    if (RESERVED.test(property)) throw refuse('kelp_ is how the columns begin that all files have');
    const lower = property.toLowerCase();
    const other = seen.get(lower);
    if (other !== undefined) throw refuse(`but for letter case it is ${other}, which readers of files do not tell apart`);
    seen.set(lower, property);
  }
}

const isColumnType = (type: string): type is ColumnType => COLUMN_TYPES.some((one) => one === type);

/** Errors of what is read there name their field from outside; an empty one is a name that errors don't repeat. */
function inside<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw field === '' ? error : inField(field, error);
  }
}
