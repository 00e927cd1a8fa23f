import { decodeHead } from '../format/head-item.ts';
import { headKey, pageKey } from '../format/item-key.ts';
import { decodePage, encodePage } from '../format/page-item.ts';
import { KelpError } from '../model/errors.ts';
import type { Head, Page } from '../model/head.ts';
import { HEAD_ENTRIES_MAX } from '../model/limits.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import { pageAbsent, pageOf, spillUpdate } from '../protocol/spill.ts';
import type { Heads } from './heads.ts';

export type SpillDeps = { readonly table: MetadataTable; readonly heads: Heads };

/**
 * Moves the head's entries into a page: the page first, then the head. Killed in between, the page is adopted by the next
 * spiller. Refused, somebody else moved them. Answers the head as it is afterwards. Also for sealed heads.
 */
export async function spill(deps: SpillDeps, head: Head, signal: AbortSignal): Promise<Head> {
  const own = pageOf(head);
  if (own === undefined) return head;
  const page = await putPage(deps, head, own, signal);
  const result = await deps.table.update(headKey(head.topic, head.segment), spillUpdate(head, page), signal);
  if (result.item === undefined) throw new KelpError('not-found', 'segment-not-found', 'the segment has no head any more');
  const after = decodeHead(result.item);
  deps.heads.offer(after);
  return after;
}

/** Until all below that offset, which the head has or had, is in pages: A9, only then may it leave the index. Answers the head as it is then. */
export async function spillThrough(deps: SpillDeps, head: Head, next: number, signal: AbortSignal): Promise<Head> {
  let after = head;
  // A page that somebody else has put may hold fewer entries than the head, but each holds one.
  for (let spills = 0; after.spilled < next; spills += 1) {
    if (spills > HEAD_ENTRIES_MAX) throw new Error(`the head of ${head.segment} does not move its entries`);
    after = await spill(deps, after, signal);
  }
  return after;
}

async function putPage(deps: SpillDeps, head: Head, page: Page, signal: AbortSignal): Promise<Page> {
  const put = await deps.table.put(pageKey(head.topic, head.segment, page.first), encodePage(page), pageAbsent, signal);
  return put.applied || put.item === undefined ? page : decodePage(put.item);
}
