import type { KelpError } from '../model/errors.ts';
import type { Head } from '../model/head.ts';
import { READ_ATTEMPTS_MAX } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { findEntries, type IndexDeps } from './find-entries.ts';
import type { BatchSlice, BatchSpan } from './page.ts';
import type { BatchReader } from './read-batches.ts';
import { freshHead } from './read-head.ts';
import type { Tail } from './tail.ts';
import type { Room } from './take-batch.ts';

/** What reading pages of a kind works with. Reads of the table and the store are retried by whoever made them. */
export type ReadDeps<S extends BatchSpan> = IndexDeps & {
  readonly table: MetadataTable;
  readonly batches: BatchReader<S>;
  readonly tail: Tail;
  readonly telemetry: Telemetry;
  readonly findTimestamp: FindTimestamp;
};

/** The lowest offset from `start` on whose message has this timestamp or a later one, or the head's tail where none has. */
export type FindTimestamp = (
  topic: Topic,
  sought: { readonly head: Head; readonly start: number; readonly timestampMs: number },
  signal: AbortSignal,
) => Promise<number>;

/** `head` may be an old one. */
export type ReadWanted = { readonly head: Head; readonly from: number; readonly room: Room; readonly whole: boolean };
/** All up to offset `next`, but what is quarantined. */
export type SegmentRead<S extends BatchSpan = BatchSlice> = {
  readonly head: Head;
  readonly slices: readonly S[];
  readonly next: number;
  readonly unchecked: boolean;
};

/**
 * Messages of one segment from an offset below the head's tail on: at least one is read, or passed over. Damaged or missing bytes
 * are read again from a fresh head, since a clean-up may have overtaken the read, and only then believed. Error `truncated` where the
 * offset is below what is kept.
 */
export async function readFrom<S extends BatchSpan>(
  deps: IndexDeps & { readonly batches: BatchReader<S>; readonly telemetry: Telemetry },
  topic: Topic,
  wanted: ReadWanted,
  signal: AbortSignal,
): Promise<SegmentRead<S>> {
  let { head } = wanted;
  for (let attempt = 1; ; attempt += 1) {
    const found = await findEntries(deps, topic, { ...wanted, head }, signal);
    const { entries, files } = found;
    const part = { segment: head.segment, from: wanted.from, entries, files, share: wanted.room };
    const [read] = await deps.batches.read(topic, { parts: [part], room: wanted.room, whole: wanted.whole, isFirst: true }, signal);
    if (read === undefined) throw new RangeError('one part gives one read');
    if (read.next > wanted.from) return { head: found.head, slices: read.slices, next: read.next, unchecked: read.unchecked };
    if (read.trouble === undefined) throw new RangeError(`nothing was read at ${wanted.from}, below the tail ${head.tail}`);
    if (attempt === READ_ATTEMPTS_MAX) throw noteDamage(deps, read.trouble);
    deps.archived.forget(head);
    head = await freshHead(deps, topic, head.segment, signal);
  }
}

/** Damage is for people to look at, not only for the reader who met it. */
export function noteDamage(deps: { readonly telemetry: Telemetry }, damage: KelpError): KelpError {
  deps.telemetry.count('kelp.read.damaged', 1);
  deps.telemetry.log('error', damage.message, damage.extra);
  return damage;
}
