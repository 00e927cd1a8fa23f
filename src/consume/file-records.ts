import type { Archive, FileRecord, WrittenFile } from '../model/archive.ts';
import { FILE_RECORDS_KNOWN_MAX, READ_FILES_MAX } from '../model/archive-limits.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import { readFileRecordAt, readFileRecords } from '../state/archives.ts';
import { createKnownStretches } from './known-stretches.ts';

/** A record whose file is there, unless it was cut off since; without its typed columns. */
export type WrittenRecord = FileRecord & { readonly file: WrittenFile };

/** Records below what a segment's archive has taken over. Those that are written never change, so the latest seen are kept. */
export type FileRecords = {
  /** The one that holds this offset; undefined: there is a hole. */
  at(archive: Archive, offset: number, signal: AbortSignal): Promise<WrittenRecord | undefined>;
  /** From the one that holds this offset on, until so many offsets are in them: some of them, none if there is a hole. */
  from(archive: Archive, offset: number, messages: number, signal: AbortSignal): Promise<readonly WrittenRecord[]>;
};

export function createFileRecords(table: MetadataTable): FileRecords {
  const known = createKnownStretches<WrittenRecord>(FILE_RECORDS_KNOWN_MAX, nextOf);

  async function at(archive: Archive, offset: number, signal: AbortSignal): Promise<WrittenRecord | undefined> {
    const before = known.at(nameOf(archive), offset);
    if (before !== undefined) return before;
    const record = await readFileRecordAt({ table }, archive, offset, signal);
    if (record === undefined || !isReadable(archive, record)) return undefined;
    const kept = withoutColumns(record);
    known.add(nameOf(archive), kept);
    return kept;
  }

  async function after(archive: Archive, first: number, signal: AbortSignal): Promise<readonly WrittenRecord[]> {
    const before = known.from(nameOf(archive), first);
    if (before.length > 0 || first >= archive.through) return before;
    const { records } = await readFileRecords({ table }, archive, first, signal);
    for (const record of records) if (isReadable(archive, record)) known.add(nameOf(archive), withoutColumns(record));
    return known.from(nameOf(archive), first);
  }

  return {
    at,
    async from(archive, offset, messages, signal) {
      const first = await at(archive, offset, signal);
      if (first === undefined) return [];
      const records = [first];
      let next = nextOf(first);
      while (next - offset < messages && records.length < READ_FILES_MAX) {
        const more = await after(archive, next, signal);
        if (more.length === 0) break;
        records.push(...more);
        next = nextOf(more.at(-1) ?? first);
      }
      return records.slice(0, READ_FILES_MAX);
    },
  };
}

const nameOf = ({ topic, segment }: Archive): string => `${topic}/${segment}`;
const nextOf = ({ last }: FileRecord): number => last + 1;

/** They may be most of it, and no reader asks for them. */
const withoutColumns = (record: WrittenRecord): WrittenRecord => ({ ...record, columns: [] });

/** What is planned or dropped is not, and only below `through` nothing else comes. */
const isReadable = (archive: Archive, record: FileRecord): record is WrittenRecord =>
  record.file !== undefined && record.last < archive.through;
