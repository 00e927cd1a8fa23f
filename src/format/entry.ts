import { KelpError } from '../model/errors.ts';
import type { Entry, ObjectRef, Run } from '../model/head.ts';
import type { CommitId, Minute, ObjectId } from '../model/ids.ts';
import type { Item } from '../ports/metadata-table.ts';
import { bytesField, integerField, integersField, stringField } from './item-fields.ts';

// An entry without its commit id and offset, as it stands in a head's map `m` and in pages: short names, since a head of
// 16 entries must stay under 4 KB. o: object, r: runs as flat triples, k: member mask (absent: all), t: highest timestamp.

const RUN_FIELDS = 3;
const MINUTE_LENGTH = 8;

export type EntryBody = Omit<Entry, 'cid' | 'offset'>;

export function encodeEntryBody(entry: EntryBody): Item {
  const body = {
    o: `${entry.object.minute}/${entry.object.id}`,
    r: encodeRuns(entry.runs),
    t: entry.highestTimestampMs,
  };
  return entry.mask === undefined ? body : { ...body, k: entry.mask };
}

export function decodeEntry(cid: CommitId, offset: number, item: Item): Entry {
  const mask = bytesField(item, 'k');
  return {
    cid,
    offset,
    object: decodeObjectRef(stringField(item, 'o')),
    runs: decodeRuns(integersField(item, 'r')),
    ...(mask === undefined ? {} : { mask }),
    highestTimestampMs: integerField(item, 't'),
  };
}

function decodeObjectRef(text: string): ObjectRef {
  if (text[MINUTE_LENGTH] !== '/') throw new KelpError('corrupt', 'corrupt', 'stored object reference is damaged');
  return { minute: text.slice(0, MINUTE_LENGTH) as Minute, id: text.slice(MINUTE_LENGTH + 1) as ObjectId };
}

export const encodeRuns = (runs: readonly Run[]): number[] => runs.flatMap((run) => [run.start, run.bytes, run.count]);

export function decodeRuns(numbers: readonly number[]): Run[] {
  if (numbers.length === 0 || numbers.length % RUN_FIELDS !== 0) throw new KelpError('corrupt', 'corrupt', 'stored runs are damaged');
  const runs: Run[] = [];
  for (let i = 0; i < numbers.length; i += RUN_FIELDS) {
    const [start = 0, bytes = 0, count = 0] = numbers.slice(i, i + RUN_FIELDS);
    runs.push({ start, bytes, count });
  }
  return runs;
}
