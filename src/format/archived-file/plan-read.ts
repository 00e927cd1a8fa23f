import type { ArchivedGroup, FileFooter } from './read-footer.ts';

/** The row group with the first message at or behind this offset; undefined: the file has none. */
export function groupFrom({ groups }: FileFooter, offset: number): ArchivedGroup | undefined {
  return groups.find(({ last }) => last >= offset);
}

/**
 * The first row group with messages from offset `from` on that has one of `timestampMs` or later; undefined: none has. That message may
 * lie before `from`, in the first of them: then the search goes on from the next group's first offset.
 */
export function groupReaching({ groups }: FileFooter, timestampMs: number, from: number): ArchivedGroup | undefined {
  return groups.find(({ last, highestTimestampMs }) => last >= from && highestTimestampMs >= timestampMs);
}
