import type { Archive } from '../model/archive.ts';
import { ARCHIVE_KNOWN_MS_MAX, ARCHIVES_KNOWN_MAX } from '../model/archive-limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import { readArchive } from './archives.ts';
import type { SegmentAddress } from './pages.ts';

/**
 * How far segments were archived, as this instance has seen it. A known state may be old, never wrong: it only goes forward, and what it
 * says of the offsets below `through` is for ever, but for their being cut off.
 */
export type Archives = {
  /** As the table had it a few seconds ago, or later: about one read in that time, however many ask. */
  of(place: SegmentAddress, signal: AbortSignal): Promise<Archive>;
  /** Takes a state that a write returned. */
  offer(archive: Archive): void;
  /** Whoever asks next gets a strong read. */
  forget(place: SegmentAddress): void;
};

type Known = { readonly archive: Archive; untilMs: number };

export function createArchives({ table, clock }: { readonly table: MetadataTable; readonly clock: Clock }): Archives {
  // In the order in which they were read.
  const known = new Map<string, Known>();
  let forgotten = 0;

  function offer(archive: Archive): Archive {
    const name = nameOf(archive);
    const before = known.get(name);
    // Answers come in any order.
    const newest = before !== undefined && isNewer(before.archive, archive) ? before.archive : archive;
    known.delete(name);
    known.set(name, { archive: newest, untilMs: clock.monotonicMs() + ARCHIVE_KNOWN_MS_MAX });
    if (known.size <= ARCHIVES_KNOWN_MAX) return newest;
    const oldest = known.keys().next();
    if (oldest.done !== true) known.delete(oldest.value);
    return newest;
  }

  async function read(place: SegmentAddress, signal: AbortSignal): Promise<Archive> {
    const before = forgotten;
    const archive = await readArchive({ table }, place, signal);
    // One that began before somebody had a reason to forget says nothing of what he has seen.
    return before === forgotten ? offer(archive) : archive;
  }

  async function refresh(before: Known, place: SegmentAddress, signal: AbortSignal): Promise<Archive> {
    // Whoever asks meanwhile takes the old one.
    before.untilMs = clock.monotonicMs() + ARCHIVE_KNOWN_MS_MAX;
    try {
      return await read(place, signal);
    } catch (error) {
      before.untilMs = -Infinity;
      throw error;
    }
  }

  return {
    async of(place, signal) {
      const before = known.get(nameOf(place));
      if (before === undefined) return read(place, signal);
      return clock.monotonicMs() < before.untilMs ? before.archive : refresh(before, place, signal);
    },
    offer: (archive) => void offer(archive),
    forget(place) {
      forgotten += 1;
      known.delete(nameOf(place));
    },
  };
}

const nameOf = ({ topic, segment }: SegmentAddress): string => `${topic}/${segment}`;

const isNewer = (a: Archive, b: Archive): boolean => a.through > b.through || (a.through === b.through && a.start > b.start);
