import { pageSortKey, pagesPartition } from '../format/item-key.ts';
import { decodePage } from '../format/page-item.ts';
import { KelpError } from '../model/errors.ts';
import { type Entry, entryCount, type Head } from '../model/head.ts';
import { INDEX_PAGES_READ_MAX } from '../model/limits.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import { pageOf } from '../protocol/spill.ts';
import { readPageAt } from '../state/pages.ts';
import { queryPages } from '../state/query-pages.ts';

/**
 * A segment's entries from the one that holds `offset` on, in order and without a gap: those that have left the head, then its own. `head`
 * is a strong read. Error `corrupt`: the index has a hole there, which may also mean that what was there is archived by now.
 */
export async function* indexEntries(
  { table }: { readonly table: MetadataTable },
  { head, offset }: Place,
  signal: AbortSignal,
): AsyncGenerator<Entry, void, undefined> {
  let next = offset;
  for await (const entry of candidates(table, { head, offset }, signal)) {
    const end = entry.offset + entryCount(entry);
    // Also one without messages counts, since its commit id does; but none that lies before.
    if (end < next || (end === next && entry.offset < next)) continue;
    if (entry.offset > next) throw hole(head, next);
    next = end;
    yield entry;
  }
  if (next < head.tail) throw hole(head, next);
}

type Place = { readonly head: Head; readonly offset: number };

async function* candidates(table: MetadataTable, place: Place, signal: AbortSignal): AsyncGenerator<Entry, void, undefined> {
  const { head, offset } = place;
  if (offset < head.spilled) yield* spilledEntries(table, place, signal);
  yield* pageOf(head)?.entries ?? [];
}

async function* spilledEntries(table: MetadataTable, { head, offset }: Place, signal: AbortSignal): AsyncGenerator<Entry, void, undefined> {
  const first = await readPageAt(table, head, offset, signal);
  if (first === undefined) throw hole(head, offset);
  yield* first.entries;
  if (first.next >= head.spilled) return;
  // A9: pages at or above the spill count are unsettled, and another one may take their place.
  const range = { from: pageSortKey(first.next), to: pageSortKey(head.spilled - 1), limit: INDEX_PAGES_READ_MAX };
  for await (const items of queryPages(table, { pk: pagesPartition(head.topic, head.segment), ...range }, signal)) {
    for (const item of items) yield* decodePage(item).entries;
  }
}

const hole = ({ topic, segment }: Head, offset: number): KelpError =>
  new KelpError('corrupt', 'corrupt', 'the index has a hole', { extra: { topic, segment, offset } });
