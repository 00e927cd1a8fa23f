import { servedPartition } from '../../format/item-key.ts';
import type { BrokerId } from '../../model/ids.ts';
import { CHANGE_PARALLEL_MAX, SEGMENTS_LIST_PAGE } from '../../model/limits.ts';
import type { MetadataTable } from '../../ports/metadata-table.ts';
import { inParallel } from '../../state/in-parallel.ts';
import { queryPages } from '../../state/query-pages.ts';

/**
 * How many segments each broker serves, as the leader counts: read once a term, then counted on by what it decides itself.
 * For choosing only; what is true stands in the heads.
 */
export type SegmentCounts = {
  /** 0 of a broker that was not read yet. */
  of(broker: BrokerId): number;
  /** For each of them. */
  add(brokers: readonly BrokerId[], segments: number): void;
  /** Reads those of these brokers that were not read in this term. */
  read(brokers: readonly BrokerId[], signal: AbortSignal): Promise<void>;
  /** A term begins: another leader has decided meanwhile. */
  reset(): void;
};

export function createSegmentCounts(deps: { readonly table: MetadataTable }): SegmentCounts {
  const counts = new Map<BrokerId, number>();
  return {
    of: (broker) => counts.get(broker) ?? 0,
    reset: () => counts.clear(),
    add(brokers, segments) {
      for (const broker of brokers) {
        const count = counts.get(broker);
        // Of a broker that was not read, the read will find it.
        if (count !== undefined) counts.set(broker, Math.max(0, count + segments));
      }
    },
    async read(brokers, signal) {
      const unread = brokers.filter((broker) => !counts.has(broker));
      await inParallel(unread, CHANGE_PARALLEL_MAX, async (broker) => {
        const count = await countServed(deps.table, broker, signal);
        if (!counts.has(broker)) counts.set(broker, count);
      });
    },
  };
}

/** How long the broker's list is: what it serves, and a few that it served or was about to. */
export async function countServed(table: MetadataTable, broker: BrokerId, signal: AbortSignal): Promise<number> {
  let count = 0;
  const query = { pk: servedPartition(broker), limit: SEGMENTS_LIST_PAGE };
  for await (const items of queryPages(table, query, signal)) count += items.length;
  return count;
}
