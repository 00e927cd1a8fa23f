import type { Archive, FileRecord, WrittenFile } from '../model/archive.ts';
import type { SegmentId, TopicId } from '../model/ids.ts';
import type { Condition, Update } from '../ports/metadata-table.ts';

// How messages leave the index: a record first, then its file, then one update of the segment's archive item; pages and objects later.

/** Of a segment of which nothing was archived or dropped yet. */
export const nothingArchived = (topic: TopicId, segment: SegmentId): Archive => ({
  topic,
  segment,
  through: 0,
  guard: '',
  start: 0,
  highestTimestampMs: -1,
  bytes: 0,
  goneBytes: 0,
});

/** R1: a record is put once, and stays as long as its topic. Who finds one adopts it: the same range, the same columns. */
export const recordAbsent: Condition = [{ op: 'missing', path: ['last'] }];

/** Its file is there, and was read back. Refused: it is written or dropped already; the item that comes back shows which. */
export function writtenUpdate(file: WrittenFile, nowMs: number): Update {
  return {
    condition: [{ op: '=', path: ['state'], value: 'planned' }],
    changes: [
      { op: 'set', path: ['state'], value: 'written' },
      { op: 'set', path: ['at'], value: nowMs },
      { op: 'set', path: ['rows'], value: file.rows },
      { op: 'set', path: ['misfits'], value: file.misfits },
      { op: 'set', path: ['size'], value: file.bytes },
      { op: 'set', path: ['footer'], value: file.footerBytes },
    ],
  };
}

/** There will be no file, whoever is writing it: a record is written or dropped, never both. Refused as above. */
export function droppedUpdate(nowMs: number): Update {
  return {
    condition: [{ op: '=', path: ['state'], value: 'planned' }],
    changes: [
      { op: 'set', path: ['state'], value: 'dropped' },
      { op: 'set', path: ['at'], value: nowMs },
    ],
  };
}

/**
 * A5: before any page goes, and by nothing but a record that begins where the last one ended. Only by one that is written or dropped, as it
 * is stored. A dropped one takes the start along: what lies between start and `ah` has a file. Refused: somebody else has done it.
 */
export function raiseThroughUpdate({ first, last, state, guard, highestTimestampMs, bytes }: FileRecord): Update {
  const next = last + 1;
  const gone = state === 'dropped';
  return {
    condition: [{ op: '=', path: ['ah'], value: first }],
    changes: [
      { op: 'set', path: ['ah'], value: next },
      { op: 'set', path: ['ga'], value: guard },
      { op: 'set', path: ['t'], value: highestTimestampMs },
      { op: 'set', path: ['bytes'], value: bytes },
      ...(gone ? [{ op: 'set' as const, path: ['start'], value: next }] : []),
      ...(gone ? [{ op: 'set' as const, path: ['gone'], value: bytes }] : []),
    ],
  };
}

/** R1: the start never passes what was archived. `goneBytes`: of all records that end below it. Refused: it is there already, or may not be. */
export function raiseStartUpdate(start: number, goneBytes: number): Update {
  return {
    condition: [
      { op: '<', path: ['start'], value: start },
      { op: '>=', path: ['ah'], value: start },
    ],
    changes: [
      { op: 'set', path: ['start'], value: start },
      { op: 'set', path: ['gone'], value: goneBytes },
    ],
  };
}
