import type { ArchivedGroup, FileFooter } from './read-footer.ts';

/** The row group with the message at this offset; undefined: it is not in this file. */
export function groupAtOffset({ groups }: FileFooter, offset: number): ArchivedGroup | undefined {
  return groups.find(({ first, count }) => first <= offset && offset < first + count);
}

/**
 * The first row group with messages from offset `from` on that has one of `timestampMs` or later; undefined: none has. That message may
 * lie before `from`, in the first of them: then the search goes on from the next group's first offset.
 */
export function groupReaching({ groups }: FileFooter, timestampMs: number, from: number): ArchivedGroup | undefined {
  return groups.find(({ first, count, highestTimestampMs }) => first + count > from && highestTimestampMs >= timestampMs);
}
