import type { Archive, FileRecord } from '../model/archive.ts';
import { type Entry, entryCount } from '../model/head.ts';
import type { CommitId } from '../model/ids.ts';

/** What a record says of all that lies below its end. */
export type ArchivedThrough = Pick<FileRecord, 'guard' | 'highestTimestampMs' | 'bytes'>;

/**
 * R1: the same for whoever takes these offsets over, by the archive before and the entries alone. `entries`: without a gap, from the one that
 * holds the archive's end to one that reaches `next`. An entry that is cut counts with its id and its timestamp as a whole.
 */
export function archivedThrough(archive: Archive, entries: readonly Entry[], next: number): ArchivedThrough {
  let guard: CommitId | '' = archive.guard;
  let { highestTimestampMs, bytes, through } = archive;
  for (const entry of entries) {
    const end = entry.offset + entryCount(entry);
    if (end <= archive.through) continue;
    if (entry.offset >= next) break;
    if (entry.offset > through) throw new RangeError(`no entry holds offset ${through}`);
    if (entry.cid > guard) guard = entry.cid;
    highestTimestampMs = Math.max(highestTimestampMs, entry.highestTimestampMs);
    bytes += bytesBelow(entry, next) - bytesBelow(entry, archive.through);
    through = end;
  }
  if (through < next) throw new RangeError(`no entry holds offset ${through}`);
  return { guard, highestTimestampMs, bytes };
}

/** Of an entry's runs, as far as they lie below the offset; of a run that is cut its share, rounded down. */
function bytesBelow(entry: Entry, offset: number): number {
  let first = entry.offset;
  let bytes = 0;
  for (const run of entry.runs) {
    const below = Math.min(run.count, Math.max(0, offset - first));
    bytes += below === run.count ? run.bytes : Math.floor((run.bytes * below) / run.count);
    first += run.count;
  }
  return bytes;
}
