import { pageSortKey, pagesPartition } from '../format/item-key.ts';
import { decodePage } from '../format/page-item.ts';
import type { Head, Page } from '../model/head.ts';
import { INDEX_PAGES_KNOWN_MAX, INDEX_PAGES_READ_MAX } from '../model/limits.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import { readPageAt } from '../state/pages.ts';
import { createKnownStretches } from './known-stretches.ts';

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
  const known = createKnownStretches<Page>(pagesMax, ({ next }) => next);
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
