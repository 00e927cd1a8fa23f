import { inField } from '../format/field-path.ts';
import { parsePointer } from '../format/json-pointer.ts';
import { endJson, forEachMember, type JsonReader, memberField, nextKind, readJson, readSlice, readString } from '../format/json-reader.ts';
import { parseTopicSchema } from '../format/topic-schema.ts';
import { invalid, type KelpError } from '../model/errors.ts';
import { KEY_PLACE_BYTES_MAX, REPLICAS_MAX, SEGMENTS_AT_CREATION_MAX } from '../model/limits.ts';
import { type Bytes, KIND_HEADER } from '../model/message.ts';
import type { PartitionKey, SettingsChange, SettingsWish, TopicSchema } from '../model/topic.ts';
import { readCount } from './json-members.ts';
import { readRetention } from './retention-settings.ts';
import { readScaling } from './scaling-settings.ts';

const PLACES = '"key", {"header": name} or {"pointer": pointer}';

const text = new TextDecoder();
const wrong = (field: string, message: string): KelpError => invalid('invalid-settings', field, message);

type Writable<T> = { -readonly [K in keyof T]?: T[K] };

/**
 * What a topic is made with: `{"partitionKey": "key" | {"header"} | {"pointer"}, "segments", "replicas", "scaling", "retention",
 * "schema"}`. `nowMs` as for `readScaling`. Errors `invalid-json`, `invalid-settings`, `invalid-pointer`, `invalid-schedule`,
 * `invalid-schema`, naming the member.
 */
export function parseTopicSettings(body: Bytes, nowMs: number): SettingsWish {
  const reader = readJson(body);
  let partitionKey: PartitionKey | undefined;
  let segments = 1;
  const change: Writable<SettingsChange> = {};
  readMembers(reader, (name) => {
    if (name === 'partitionKey') partitionKey = readPartitionKey(reader);
    else if (name === 'segments') segments = readBounded(reader, name, SEGMENTS_AT_CREATION_MAX);
    else if (!readChange(reader, name, { change, nowMs }))
      throw wrong(memberField(reader), 'no such member; there are partitionKey, segments, replicas, scaling, retention and schema');
  });
  if (partitionKey === undefined) throw wrong('partitionKey', `where a message has its key: ${PLACES}`);
  return { partitionKey, segments, ...change };
}

/** What is changed of a topic: `{"replicas", "scaling", "retention", "schema"}`. Errors as above. */
export function parseSettingsChange(body: Bytes, nowMs: number): SettingsChange {
  const reader = readJson(body);
  const change: Writable<SettingsChange> = {};
  readMembers(reader, (name) => {
    if (!readChange(reader, name, { change, nowMs }))
      throw wrong(memberField(reader), 'there is no such member that can be changed; there are replicas, scaling, retention and schema');
  });
  return change;
}

/** The whole body. */
function readMembers(reader: JsonReader, visit: (name: string) => void): void {
  if (nextKind(reader) !== 'object') throw wrong('', 'the body is an object');
  forEachMember(reader, visit);
  endJson(reader);
}

/** False: the member is none that can be changed, and is not read. */
function readChange(
  reader: JsonReader,
  name: string,
  { change, nowMs }: { readonly change: Writable<SettingsChange>; readonly nowMs: number },
): boolean {
  if (name === 'replicas') change.replicas = readBounded(reader, name, REPLICAS_MAX);
  else if (name === 'scaling') change.scaling = readScaling(reader, nowMs);
  else if (name === 'retention') change.retention = readRetention(reader);
  else if (name === 'schema') change.schema = readSchema(reader);
  else return false;
  return true;
}

function readBounded(reader: JsonReader, member: string, max: number): number {
  const value = readCount(reader, max);
  if (value === undefined) throw wrong(member, `an integer from 1 to ${max}`);
  return value;
}

function readSchema(reader: JsonReader): TopicSchema {
  try {
    return parseTopicSchema(readSlice(reader));
  } catch (error) {
    throw inField('schema', error);
  }
}

function readPartitionKey(reader: JsonReader): PartitionKey {
  const kind = nextKind(reader);
  if (kind === 'string' && text.decode(readString(reader)) === 'key') return 'key';
  if (kind !== 'object') throw wrong('partitionKey', PLACES);
  try {
    return readPlace(reader);
  } catch (error) {
    throw inField('partitionKey', error);
  }
}

/** Where the key is, by the one member that says so; errors name fields from inside `partitionKey`. */
function readPlace(reader: JsonReader): PartitionKey {
  const found: PartitionKey[] = [];
  forEachMember(reader, (name) => {
    if (name === 'header') found.push({ header: checkHeader(readText(reader, 'header')) });
    else if (name === 'pointer') found.push({ pointer: checkPointer(readText(reader, 'pointer')) });
    else throw wrong(memberField(reader), 'no such member; there are header and pointer');
  });
  const [place] = found;
  if (place === undefined || found.length > 1) throw wrong('', 'one of header and pointer');
  return place;
}

function readText(reader: JsonReader, field: string): string {
  if (nextKind(reader) !== 'string') throw wrong(field, 'a string');
  const bytes = readString(reader);
  if (bytes.length > KEY_PLACE_BYTES_MAX) throw wrong(field, `at most ${KEY_PLACE_BYTES_MAX} bytes`);
  return text.decode(bytes);
}

function checkHeader(name: string): string {
  if (name === KIND_HEADER) throw wrong('header', `${KIND_HEADER} is set by Kelp alone`);
  return name;
}

function checkPointer(pointer: string): string {
  parsePointer(pointer);
  return pointer;
}
