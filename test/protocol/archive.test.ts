import { describe, expect, test } from 'vitest';
import { decodeArchive, encodeArchive } from '../../src/format/archive-item.ts';
import { decodeFileRecord, encodeFileRecord } from '../../src/format/file-record-item.ts';
import type { Archive, FileRecord } from '../../src/model/archive.ts';
import type { UtcDate } from '../../src/model/archived-file.ts';
import { droppedUpdate, nothingArchived, raiseStartUpdate, raiseThroughUpdate, writtenUpdate } from '../../src/protocol/archive.ts';
import { applied, cid, isApplied, SEGMENT, TOPIC } from './segment-state.ts';

const FILE = { rows: 10, misfits: 1, bytes: 400, footerBytes: 100 };
const PLANNED: FileRecord = {
  first: 10,
  last: 19,
  state: 'planned',
  date: '2026-11-30' as UtcDate,
  guard: cid('7a'),
  highestTimestampMs: 70,
  bytes: 200,
  columns: [],
  atMs: 1,
};

const archiveAt = (change: Partial<Archive>) =>
  encodeArchive({ ...nothingArchived(TOPIC, SEGMENT), through: 10, guard: cid('5a'), highestTimestampMs: 50, bytes: 100, ...change });

describe('a record', () => {
  const planned = encodeFileRecord(PLANNED);

  test('is written or dropped, and stays so', () => {
    const written = applied(planned, writtenUpdate(FILE, 2));
    const dropped = applied(planned, droppedUpdate(3));
    expect(decodeFileRecord(written)).toEqual({ ...PLANNED, state: 'written', atMs: 2, file: FILE });
    expect(decodeFileRecord(dropped)).toEqual({ ...PLANNED, state: 'dropped', atMs: 3 });
    for (const item of [written, dropped]) {
      expect(isApplied(item, writtenUpdate(FILE, 4))).toBe(false);
      expect(isApplied(item, droppedUpdate(4))).toBe(false);
    }
  });
});

describe('R1 an archive', () => {
  test('goes on by the record that begins where it ends, and by no other one', () => {
    const raise = raiseThroughUpdate({ ...PLANNED, state: 'written', file: FILE });
    const after = applied(archiveAt({ start: 4, goneBytes: 40 }), raise);
    expect(decodeArchive(after)).toMatchObject({
      through: 20,
      guard: cid('7a'),
      highestTimestampMs: 70,
      bytes: 200,
      start: 4,
      goneBytes: 40,
    });
    for (const through of [9, 11, 20]) expect(isApplied(archiveAt({ through }), raise)).toBe(false);
  });

  test('begins behind what a record drops, and what that had is gone', () => {
    const after = applied(archiveAt({ start: 4, goneBytes: 40 }), raiseThroughUpdate({ ...PLANNED, state: 'dropped' }));
    expect(decodeArchive(after)).toMatchObject({ through: 20, start: 20, bytes: 200, goneBytes: 200 });
  });

  test('begins later and later, and nowhere that is not archived', () => {
    const before = archiveAt({ start: 4, goneBytes: 40 });
    expect(decodeArchive(applied(before, raiseStartUpdate(10, 100)))).toMatchObject({ through: 10, start: 10, goneBytes: 100 });
    for (const start of [3, 4, 11]) expect(isApplied(before, raiseStartUpdate(start, 100))).toBe(false);
  });
});
