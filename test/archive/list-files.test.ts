import { expect, test } from 'vitest';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { type FilesPlace, listFiles } from '../../src/archive/list-files.ts';
import { encodeArchive } from '../../src/format/archive-item.ts';
import { encodeFileRecord } from '../../src/format/file-record-item.ts';
import { archiveKey, fileRecordKey, segmentKey } from '../../src/format/item-key.ts';
import { encodeSegment } from '../../src/format/segment-item.ts';
import { FILE_RECORDS_READ_MAX, FILES_SEGMENTS_LOOK_MAX } from '../../src/model/archive-limits.ts';
import type { Archive, FileRecord } from '../../src/model/archive.ts';
import { dateOf } from '../../src/model/archived-file.ts';
import { segmentId, type SegmentId } from '../../src/model/ids.ts';
import { nothingArchived } from '../../src/protocol/archive.ts';
import { createTopic } from '../consume/fixture.ts';

const signal = new AbortController().signal;
const topic = createTopic();
const date = dateOf(0);
const FILE = { rows: 10, misfits: 1, bytes: 500, footerBytes: 100 };

/** Segments, each with records of ten messages that follow each other; `ah` is where they end, or where the first planned one begins. */
async function tableOf(segments: readonly (Partial<Archive> & { readonly records?: readonly Partial<FileRecord>[] })[]) {
  const table = createMemoryTable();
  for (const [number, { records = [], ...archive }] of segments.entries()) {
    const segment = segmentId(number);
    await table.put(segmentKey(topic.id, segment), encodeSegment({ segment, lo: 0, hi: 9, predecessors: [] }), [], signal);
    const all = records.map((record, index): FileRecord => ({
      first: index * 10,
      last: index * 10 + 9,
      state: 'written',
      date,
      guard: '',
      highestTimestampMs: 0,
      bytes: 1,
      columns: [],
      atMs: 0,
      file: FILE,
      ...record,
    }));
    for (const record of all) await table.put(fileRecordKey(topic.id, segment, record.first), encodeFileRecord(record), [], signal);
    const through = all.findIndex(({ state }) => state === 'planned');
    const item = { ...nothingArchived(topic.id, segment), through: (through === -1 ? all.length : through) * 10, ...archive };
    if (all.length > 0) await table.put(archiveKey(topic.id, segment), encodeArchive(item), [], signal);
  }
  return table;
}

/** `segment:first` of all pages, and how many files each of them has. */
async function listAll(table: Awaited<ReturnType<typeof tableOf>>, wanted: { readonly limit: number; readonly segment?: SegmentId }) {
  const found: string[] = [];
  const sizes: number[] = [];
  for (let from: FilesPlace | undefined; ;) {
    const page = await listFiles({ table }, topic, { ...wanted, ...(from === undefined ? {} : { from }) }, signal);
    found.push(...page.files.map(({ segment, first }) => `${segment}:${first}`));
    sizes.push(page.files.length);
    from = page.next;
    if (from === undefined) return { found, sizes };
  }
}

test('files are those of written records between the start and what is archived', async () => {
  const written = {};
  const table = await tableOf([
    { records: [{ state: 'dropped' }, written, written, { state: 'planned' }], start: 10 },
    {},
    { records: [written, { file: { ...FILE, rows: 0 } }, written], start: 4 },
    { records: [written], start: 10 },
    // The archive has not taken the second one over yet.
    { records: [written, written], through: 10 },
  ]);
  const found = ['s0000000:10', 's0000000:20', 's0000002:0', 's0000002:20', 's0000004:0'];
  expect((await listAll(table, { limit: 100 })).found).toEqual(found);
  const { files } = await listFiles({ table }, topic, { limit: 100, segment: segmentId(2) }, signal);
  const object = `topics/orders.${topic.id}/kelp_date=1970-01-01/kelp_segment=s0000002/0000000000000000-0000000000000009.parquet`;
  expect(files[0]).toEqual({ segment: 's0000002', first: 0, last: 9, date, rows: 10, misfits: 1, bytes: 500, object });
});

test.each([1, 2, 7, FILE_RECORDS_READ_MAX, 1_000])('%i at a time are all of them, each once', async (limit) => {
  const many = Array.from({ length: FILE_RECORDS_READ_MAX + 3 }, () => ({}));
  const table = await tableOf([
    { records: many.slice(0, 3) },
    { records: many },
    { records: [{ file: { ...FILE, rows: 0 } }, ...many.slice(0, 4)] },
  ]);
  const { found, sizes } = await listAll(table, { limit });
  const all = (number: number, from: number, count: number) =>
    Array.from({ length: count }, (_, n) => `${segmentId(number)}:${(from + n) * 10}`);
  expect(found).toEqual([...all(0, 0, 3), ...all(1, 0, many.length), ...all(2, 1, 4)]);
  expect(Math.max(...sizes)).toBe(Math.min(limit, found.length));
});

test('of many segments, so many are looked at for one page', async () => {
  const segments = Array.from({ length: FILES_SEGMENTS_LOOK_MAX + 5 }, (_, number) =>
    number > FILES_SEGMENTS_LOOK_MAX ? { records: [{}] } : {},
  );
  const table = await tableOf(segments);
  expect(await listAll(table, { limit: 10 })).toMatchObject({ sizes: [0, 4] });
});
