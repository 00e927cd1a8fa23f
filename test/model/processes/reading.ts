import { createArchivedMessages } from '../../../src/consume/archived-messages.ts';
import { createIndexPages } from '../../../src/consume/index-pages.ts';
import type { BatchSlice } from '../../../src/consume/page.ts';
import type { BatchReader, PartRead } from '../../../src/consume/read-batches.ts';
import type { ReadDeps } from '../../../src/consume/read-from.ts';
import { entryCount } from '../../../src/model/head.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import { createArchives } from '../../../src/state/known-archives.ts';
import { brokerDeps } from './broker.ts';

/** A reading broker's ports. Of objects, what index entries say is believed. */
export function readDeps(table: MetadataTable): ReadDeps<BatchSlice> {
  const { heads, telemetry, clock } = brokerDeps(table, { instance: 'r', nowMs: 0 });
  return {
    table,
    heads,
    pages: createIndexPages(table),
    batches,
    findTimestamp: unused,
    tail: { wait: unused },
    telemetry,
    archived: createArchivedMessages({ table, clock, archives: createArchives({ table, clock }) }, { places: false }),
  };
}

const unused = (): Promise<never> => Promise.reject(new Error('the model reads no objects'));

const batches: BatchReader = {
  async read(_topic, { parts, room }) {
    let left = room.messages;
    return parts.map(({ segment, from, entries, share }): PartRead => {
      const slices: BatchSlice[] = [];
      let next = from;
      for (const entry of entries) {
        const count = entryCount(entry);
        const to = Math.min(entry.offset + count, next + Math.min(left, from + share.messages - next));
        if (to <= next) break;
        slices.push({ segment, bytes: new Uint8Array(0), baseOffset: entry.offset, count, from: next, to, committedMs: 0 });
        left -= to - next;
        next = to;
      }
      return { slices, next, used: { messages: next - from, bytes: 0, batches: slices.length }, unchecked: false };
    });
  },
};
