import {
  endJson,
  firstMember,
  type JsonReader,
  memberField,
  nameText,
  nextKind,
  nextMember,
  readSlice,
  repeatedMember,
} from '../format/json-reader.ts';
import { invalid } from '../model/errors.ts';
import { parseInteger } from './query.ts';

const text = new TextDecoder();

/** The members of the object that comes next, each once; `visit` reads the member's value. Error `invalid-json`. */
export function forEachMember(reader: JsonReader, visit: (name: string) => void): void {
  const seen = new Set<string>();
  for (let more = firstMember(reader); more; more = nextMember(reader)) {
    const name = nameText(reader);
    if (seen.has(name)) throw repeatedMember(reader);
    seen.add(name);
    visit(name);
  }
}

/**
 * A whole body that is an object with any of these members, each read by its own function. Errors `invalid-json`,
 * `invalid-request`.
 */
export function readMembers(reader: JsonReader, members: ReadonlyMap<string, () => void>): void {
  if (nextKind(reader) !== 'object') throw invalid('invalid-request', '', 'the body is an object');
  forEachMember(reader, (name) => {
    const read = members.get(name);
    if (read === undefined) {
      throw invalid('invalid-request', memberField(reader), `no such member; there is ${[...members.keys()].join(' and ')}`);
    }
    read();
  });
  endJson(reader);
}

/** The same with at most one member. */
export function readOnlyMember(reader: JsonReader, member: string, visit: () => void): void {
  readMembers(reader, new Map([[member, visit]]));
}

/** The next value, whether to say only what would be done. Error `invalid-dry-run`. */
export function readDryRun(reader: JsonReader): boolean {
  const word = text.decode(readSlice(reader));
  if (word !== 'true' && word !== 'false') throw invalid('invalid-dry-run', 'dryRun', 'true or false');
  return word === 'true';
}

/** The next value, if it is an integer from 1 to `max`. */
export function readCount(reader: JsonReader, max: number): number | undefined {
  const value = parseInteger(text.decode(readSlice(reader)));
  return value === undefined || value < 1 || value > max ? undefined : value;
}
