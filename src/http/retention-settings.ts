import { inField } from '../format/field-path.ts';
import { forEachMember, type JsonReader, memberField, nextKind, readSlice } from '../format/json-reader.ts';
import { RETENTION_SECONDS_MAX } from '../model/archive-limits.ts';
import { invalid, type KelpError } from '../model/errors.ts';
import type { RetentionChange } from '../model/topic.ts';
import { parseInteger } from './query.ts';

type Bound = keyof RetentionChange;
type Bounds = { -readonly [B in Bound]?: number | null };

/** The highest value of each. */
const BOUNDS: Readonly<Record<Bound, number>> = { maxAgeSeconds: RETENTION_SECONDS_MAX, maxBytes: Number.MAX_SAFE_INTEGER };
const NONE: RetentionChange = { maxAgeSeconds: null, maxBytes: null };
const isBound = (name: string): name is Bound => Object.hasOwn(BOUNDS, name);

const text = new TextDecoder();
const wrong = (field: string, message: string): KelpError => invalid('invalid-settings', field, message);

/**
 * The next value, a topic's `retention`, with any of its members; null, for one of them or in place of all, is no bound. Errors
 * `invalid-json`, `invalid-settings`, naming the member from the body's root.
 */
export function readRetention(reader: JsonReader): RetentionChange {
  const found: Bounds = {};
  try {
    if (nextKind(reader) !== 'object') {
      if (text.decode(readSlice(reader)) !== 'null') throw wrong('', 'an object, or null for no bounds');
      return NONE;
    }
    forEachMember(reader, (name) => {
      if (!isBound(name)) throw wrong(memberField(reader), `no such member; there are ${Object.keys(BOUNDS).join(' and ')}`);
      found[name] = readBound(reader, name);
    });
  } catch (error) {
    throw inField('retention', error);
  }
  return found;
}

function readBound(reader: JsonReader, name: Bound): number | null {
  const written = text.decode(readSlice(reader));
  if (written === 'null') return null;
  const value = parseInteger(written);
  if (value === undefined || value < 1 || value > BOUNDS[name]) throw wrong(name, `an integer from 1 to ${BOUNDS[name]}, or null`);
  return value;
}
