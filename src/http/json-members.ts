import { endJson, forEachMember, type JsonReader, memberField, nextKind, readSlice } from '../format/json-reader.ts';
import { invalid } from '../model/errors.ts';
import { parseInteger } from './query.ts';

const text = new TextDecoder();

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
