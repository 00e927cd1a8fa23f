import { KelpError } from '../model/errors.ts';
import type { Archive } from '../model/archive.ts';
import { ARCHIVE_KNOWN_MS_MAX } from '../model/archive-limits.ts';
import type { Head } from '../model/head.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { Archives } from '../state/known-archives.ts';
import type { SegmentAddress } from '../state/pages.ts';
import { createFileRecords, type FileRecords, type WrittenRecord } from './file-records.ts';

/** What of a segment is in files, and what is cut off. `head`: a state of its head, which may be an old one. */
export type ArchivedMessages = {
  /**
   * Records of files from the one that holds `from` on; none: that offset is not archived, as far as is known. Errors `not-found`:
   * `truncated` (extra: start), and, for whoever is told places, `archived` (extra: segment, nextOffset).
   */
  find(head: Head, wanted: { readonly from: number; readonly messages: number }, signal: AbortSignal): Promise<readonly WrittenRecord[]>;
  /** The same of one offset, without those errors. */
  recordAt(head: Head, offset: number, signal: AbortSignal): Promise<WrittenRecord | undefined>;
  /** First offset that is still kept. */
  startOf(head: Head, signal: AbortSignal): Promise<number>;
  /** Something was not where it should be: whoever looks again shall see what the table has. */
  forget(segment: SegmentAddress): void;
};

export type ArchivedDeps = { readonly archives: Archives; readonly table: MetadataTable; readonly clock: Clock };

/** `places`: for whoever is told where messages lie, which of files makes no sense. */
export function createArchivedMessages(
  { archives, table, clock }: ArchivedDeps,
  { places }: { readonly places: boolean },
): ArchivedMessages {
  const records: FileRecords = createFileRecords(table);
  const seenMs = new WeakMap<Head, number>();

  /**
   * Whether nothing from this offset on was archived, nor cut off, by what the head says. It says so of the moment of its reading only:
   * one that has been known for longer, of a segment that nobody writes to, is as old as what is known of archives may be.
   */
  function isBehind(head: Head, offset: number): boolean {
    if (offset < head.spilled) return false;
    const nowMs = clock.monotonicMs();
    const firstMs = seenMs.get(head) ?? nowMs;
    seenMs.set(head, firstMs);
    return nowMs - firstMs < ARCHIVE_KNOWN_MS_MAX;
  }

  return {
    async find(head, { from, messages }, signal) {
      if (isBehind(head, from)) return [];
      const archive = await archives.of(head, signal);
      if (from < archive.start) throw truncated(archive.start);
      if (from >= archive.through) return [];
      if (places) throw inFiles(archive);
      return records.from(archive, from, messages, signal);
    },
    async recordAt(head, offset, signal) {
      if (isBehind(head, offset)) return undefined;
      const archive = await archives.of(head, signal);
      return offset < archive.through ? records.at(archive, offset, signal) : undefined;
    },
    startOf: async (head, signal) => (isBehind(head, 0) ? 0 : (await archives.of(head, signal)).start),
    forget: (segment) => archives.forget(segment),
  };
}

const truncated = (start: number): KelpError =>
  new KelpError('not-found', 'truncated', `messages before offset ${start} are gone`, { field: 'offset', extra: { start } });

const inFiles = ({ segment, through }: Archive): KelpError =>
  new KelpError('not-found', 'archived', `messages before offset ${through} are in files: read them, or list the files`, {
    extra: { segment, nextOffset: through },
  });

/** Where what can be read begins, of an error that says that the offset is below; undefined: it is another one. */
export function startBeyond(error: unknown): number | undefined {
  if (!(error instanceof KelpError) || error.code !== 'truncated') return undefined;
  const { start } = error.extra;
  return typeof start === 'number' ? start : undefined;
}
