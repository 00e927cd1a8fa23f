import { checkSchedule } from '../control/scaling/schedule.ts';
import { inField } from '../format/field-path.ts';
import { firstElement, forEachMember, type JsonReader, memberField, nextElement, nextKind, readString } from '../format/json-reader.ts';
import { invalid, type KelpError } from '../model/errors.ts';
import { SEGMENTS_OPEN_MAX } from '../model/limits.ts';
import { CRON_BYTES_MAX, FLOOD_SECONDS_MAX, FLOODS_MAX } from '../model/scaling-limits.ts';
import type { ExpectedFlood, ScalingSettings } from '../model/scaling.ts';
import { readCount } from './json-members.ts';

type Writable<T> = { -readonly [K in keyof T]?: T[K] };

/** The highest value of each number. */
const COUNTS: Readonly<Record<Exclude<keyof ScalingSettings, 'schedule'>, number>> = {
  minSegments: SEGMENTS_OPEN_MAX,
  maxSegments: SEGMENTS_OPEN_MAX,
  targetBytesPerSecond: Number.MAX_SAFE_INTEGER,
  targetMessagesPerSecond: Number.MAX_SAFE_INTEGER,
  targetCommitsPerSecond: Number.MAX_SAFE_INTEGER,
};
const isCount = (name: string): name is keyof typeof COUNTS => Object.hasOwn(COUNTS, name);

const text = new TextDecoder();
const wrong = (field: string, message: string): KelpError => invalid('invalid-settings', field, message);
const wrongFlood = (field: string, message: string): KelpError => invalid('invalid-schedule', field, message);

/**
 * The next value, a topic's `scaling`, with any of its members. `nowMs`: wall clock, from which a schedule's patterns have to
 * come some day. Errors `invalid-json`, `invalid-settings`, `invalid-schedule`, naming the member from the body's root.
 */
export function readScaling(reader: JsonReader, nowMs: number): Partial<ScalingSettings> {
  const found: Writable<ScalingSettings> = {};
  try {
    if (nextKind(reader) !== 'object') throw wrong('', 'an object');
    forEachMember(reader, (name) => {
      if (isCount(name)) found[name] = readBounded(reader, COUNTS[name], (message) => wrong(name, message));
      else if (name === 'schedule') found.schedule = readFloods(reader);
      else throw wrong(memberField(reader), `no such member; there are ${Object.keys(COUNTS).join(', ')} and schedule`);
    });
  } catch (error) {
    throw inField('scaling', error);
  }
  if (found.schedule !== undefined) checkSchedule(found.schedule, nowMs);
  return found;
}

function readBounded(reader: JsonReader, max: number, refusal: (message: string) => KelpError): number {
  const value = readCount(reader, max);
  if (value === undefined) throw refusal(`an integer from 1 to ${max}`);
  return value;
}

/** Stops at the first one too many: the body may be far larger than a schedule. */
function readFloods(reader: JsonReader): readonly ExpectedFlood[] {
  if (nextKind(reader) !== 'array') throw wrongFlood('schedule', 'a list');
  const floods: ExpectedFlood[] = [];
  for (let more = firstElement(reader); more; more = nextElement(reader)) {
    if (floods.length === FLOODS_MAX) throw wrongFlood('schedule', `at most ${FLOODS_MAX} floods`);
    try {
      floods.push(readFlood(reader));
    } catch (error) {
      throw inField(`schedule[${floods.length}]`, error);
    }
  }
  return floods;
}

/** Errors name fields from inside the flood. */
function readFlood(reader: JsonReader): ExpectedFlood {
  if (nextKind(reader) !== 'object') throw wrongFlood('', 'an object');
  const found: Writable<ExpectedFlood> = {};
  forEachMember(reader, (name) => {
    const refusal = (message: string): KelpError => wrongFlood(name, message);
    if (name === 'cron' || name === 'timeZone') found[name] = readText(reader, refusal);
    else if (name === 'durationSeconds') found[name] = readBounded(reader, FLOOD_SECONDS_MAX, refusal);
    else if (name === 'minSegments') found[name] = readBounded(reader, SEGMENTS_OPEN_MAX, refusal);
    else throw wrongFlood(memberField(reader), 'no such member; there are cron, durationSeconds, minSegments and timeZone');
  });
  const { cron, durationSeconds, minSegments, timeZone } = found;
  if (cron === undefined) throw wrongFlood('cron', 'when it begins');
  if (durationSeconds === undefined) throw wrongFlood('durationSeconds', 'how long it lasts');
  if (minSegments === undefined) throw wrongFlood('minSegments', 'how many segments it is to find');
  return { cron, durationSeconds, minSegments, ...(timeZone === undefined ? {} : { timeZone }) };
}

function readText(reader: JsonReader, refusal: (message: string) => KelpError): string {
  if (nextKind(reader) !== 'string') throw refusal('a string');
  const bytes = readString(reader);
  if (bytes.length > CRON_BYTES_MAX) throw refusal(`at most ${CRON_BYTES_MAX} bytes`);
  return text.decode(bytes);
}
