import { pageSortKey, pagesPartition } from '../format/item-key.ts';
import { decodePage } from '../format/page-item.ts';
import type { Head, Page } from '../model/head.ts';
import { INDEX_PAGES_KNOWN_MAX, INDEX_PAGES_READ_MAX } from '../model/limits.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import { readPageAt } from '../state/pages.ts';

/**
 * Index pages below a head's spill count. Those are settled and never change, so the latest seen are kept: readers of one
 * segment, and the next read of each, find them without the table.
 */
export type IndexPages = {
  /** The page that holds this offset; undefined: there is a hole. */
  at(head: Head, offset: number, signal: AbortSignal): Promise<Page | undefined>;
  /** The pages from the one that begins at `first` on: some of them, none if there is a hole. */
  from(head: Head, first: number, signal: AbortSignal): Promise<readonly Page[]>;
};

export function createIndexPages(table: MetadataTable, pagesMax: number = INDEX_PAGES_KNOWN_MAX): IndexPages {
  const known = createKnownPages(pagesMax);
  return {
    async at(head, offset, signal) {
      const before = known.at(nameOf(head), offset);
      if (before !== undefined) return before;
      const page = await readPageAt(table, head, offset, signal);
      if (page === undefined || page.first >= head.spilled) return undefined;
      known.add(nameOf(head), page);
      return page;
    },
    async from(head, first, signal) {
      const before = known.from(nameOf(head), first);
      if (before.length > 0) return before;
      const query = {
        pk: pagesPartition(head.topic, head.segment),
        from: pageSortKey(first),
        // Pages at or above the spill count are unsettled: another one may take their place.
        to: pageSortKey(head.spilled - 1),
        limit: INDEX_PAGES_READ_MAX,
      };
      const pages = (await table.query(query, signal)).items.map(decodePage);
      for (const page of pages) known.add(nameOf(head), page);
      return pages;
    },
  };
}

const nameOf = ({ topic, segment }: Head): string => `${topic}/${segment}`;

/** The segments' pages, each in order; segments in the order of their last use. */
function createKnownPages(pagesMax: number) {
  const segments = new Map<string, Page[]>();
  let total = 0;

  function use(name: string): Page[] {
    const pages = segments.get(name) ?? [];
    segments.delete(name);
    segments.set(name, pages);
    return pages;
  }

  function evict(): void {
    for (const [name, pages] of segments) {
      if (total <= pagesMax) return;
      // The last one is in use: its readers go upwards.
      total -= segments.size > 1 ? pages.length : pages.splice(0, Math.ceil(pages.length / 2)).length;
      if (segments.size > 1) segments.delete(name);
    }
  }

  return {
    at(name: string, offset: number): Page | undefined {
      const pages = segments.get(name) ?? [];
      const page = pages[firstAbove(pages, offset) - 1];
      return page !== undefined && page.next > offset ? page : undefined;
    },
    from(name: string, first: number): Page[] {
      const pages = use(name);
      const begin = firstAbove(pages, first - 1);
      let end = begin;
      for (let next = first; pages[end]?.first === next; end += 1) next = pages[end]?.next ?? next;
      return pages.slice(begin, end);
    },
    add(name: string, page: Page): void {
      const pages = use(name);
      const index = firstAbove(pages, page.first);
      if (pages[index - 1]?.first === page.first) return;
      pages.splice(index, 0, page);
      total += 1;
      evict();
    },
  };
}

/** Index of the first page that begins above this offset. */
function firstAbove(pages: readonly Page[], offset: number): number {
  let low = 0;
  let high = pages.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((pages[middle]?.first ?? Infinity) <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
