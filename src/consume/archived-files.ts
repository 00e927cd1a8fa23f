import { damagedFile } from '../format/archived-file/damaged-file.ts';
import { type ArchivedGroup, decodeFooter, type FileFooter, footerBytes, tailRange } from '../format/archived-file/read-footer.ts';
import { type GroupRows, readGroup } from '../format/archived-file/read-group.ts';
import type { Unpack } from '../format/archived-file/read-page.ts';
import { archivedFileKey } from '../format/object-key.ts';
import { FILE_GROUPS_KNOWN_MAX, FILE_RANGES_CACHE_BYTES_MAX, FILE_ROWS_CACHE_BYTES_MAX, FILE_TAIL_BYTES } from '../model/archive-limits.ts';
import { KelpError } from '../model/errors.ts';
import type { SegmentId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import type { Compression } from '../ports/compression.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { WrittenRecord } from './file-records.ts';
import { createObjectRanges } from './object-ranges.ts';
import { createRecent } from './recent.ts';

/** A file with rows: whose it is, and its key. */
export type WantedFile = {
  readonly topic: Topic;
  readonly segment: SegmentId;
  readonly record: WrittenRecord;
  readonly key: string;
};

/** Archived files, of which footers and row groups are kept within a bound. Errors `corrupt`, without a place, and `object-not-found`. */
export type ArchivedFiles = {
  footer(file: WantedFile, signal: AbortSignal): Promise<FileFooter>;
  rows(file: WantedFile, group: ArchivedGroup, signal: AbortSignal): Promise<GroupRows>;
  /** Something was wrong with it: whoever looks again shall see what the store has. */
  forget(key: string): void;
};

/** Where a message's parts lie, and its numbers, besides the bytes of its columns. */
const ROW_INDEX_BYTES = 64;

export type ArchivedFilesDeps = { readonly store: ObjectStore; readonly compression: Compression; readonly telemetry: Telemetry };

export function wantedFile(topic: Topic, segment: SegmentId, record: WrittenRecord): WantedFile {
  const { date, first, last } = record;
  return { topic, segment, record, key: archivedFileKey(topic.name, { topic: topic.id, segment, date, first, last }) };
}

export function createArchivedFiles({ store, compression, telemetry }: ArchivedFilesDeps): ArchivedFiles {
  const ranges = createObjectRanges({ store, telemetry, bytesMax: FILE_RANGES_CACHE_BYTES_MAX });
  const footers = createRecent<FileFooter>(FILE_GROUPS_KNOWN_MAX);
  const groups = createRecent<Promise<GroupRows>>(FILE_ROWS_CACHE_BYTES_MAX);
  const unpack: Unpack = (bytes, expected) => compression.decompress('zstd', bytes, { expected });

  async function footerAt(key: string, bytes: number, known: number, signal: AbortSignal): Promise<FileFooter> {
    // A store has no answer to a request for no bytes.
    if (bytes === 0) throw damagedFile('it is empty');
    // All of a small one: whoever wants its footer wants its rows.
    let tail = await ranges.get({ key, ...tailRange(bytes, bytes <= FILE_TAIL_BYTES ? bytes : known) }, signal);
    const length = footerBytes(tail);
    if (length > tail.length && length <= bytes) tail = await ranges.get({ key, ...tailRange(bytes, length) }, signal);
    return decodeFooter(tail, bytes);
  }

  /** Two archivers may have packed the same rows differently, and the one that came last is there. */
  async function readFooter({ key, record: { file } }: WantedFile, signal: AbortSignal): Promise<FileFooter> {
    try {
      return await footerAt(key, file.bytes, file.footerBytes, signal);
    } catch (error) {
      if (!(error instanceof KelpError) || error.kind !== 'corrupt') throw error;
      const found = await store.head(key, signal);
      if (found === undefined) throw new KelpError('not-found', 'object-not-found', `no object ${key}`, { cause: error });
      if (found.bytes === file.bytes) throw error;
      return footerAt(key, found.bytes, FILE_TAIL_BYTES, signal);
    }
  }

  async function load({ key }: WantedFile, group: ArchivedGroup, signal: AbortSignal): Promise<Promise<GroupRows>> {
    const bytes = await ranges.get({ key, ...group.range }, signal);
    const name = nameOf(key, group);
    const shared = groups.get(name);
    if (shared !== undefined) return shared;
    const rows = readGroup(unpack, { group, bytes });
    groups.add(name, rows, group.plainBytes + group.count * ROW_INDEX_BYTES);
    rows.catch(() => groups.drop(name));
    return rows;
  }

  return {
    async footer(file, signal) {
      const before = footers.get(file.key);
      if (before !== undefined) return before;
      const footer = checked(file, await readFooter(file, signal));
      footers.add(file.key, footer, footer.groups.length);
      return footer;
    },
    async rows(file, group, signal) {
      return (await groups.get(nameOf(file.key, group))) ?? load(file, group, signal);
    },
    forget(key) {
      ranges.forget(key);
      footers.drop(key);
      groups.drop(key);
    },
  };
}

const nameOf = (key: string, { index, checksum }: ArchivedGroup): string => `${key}#${index}#${checksum}`;

/** The footer, if it is the one that its record says. */
function checked({ topic, segment, record }: WantedFile, footer: FileFooter): FileFooter {
  const { file, groups } = footer;
  const rows = groups.reduce((sum, { count }) => sum + count, 0);
  const isSame =
    file.topic === topic.id &&
    file.segment === segment &&
    file.date === record.date &&
    file.first === record.first &&
    file.last === record.last &&
    rows === record.file.rows;
  if (!isSame) throw damagedFile('it is another one than its record says');
  return footer;
}
