import { createArchivedMessages } from '../../../src/consume/archived-messages.ts';
import { createIndexPages } from '../../../src/consume/index-pages.ts';
import type { BatchSlice } from '../../../src/consume/page.ts';
import type { BatchReader, PartRead } from '../../../src/consume/read-batches.ts';
import type { ReadDeps } from '../../../src/consume/read-from.ts';
import { archivedFileKey, entryObjectKey } from '../../../src/format/object-key.ts';
import { KelpError } from '../../../src/model/errors.ts';
import { entryCount } from '../../../src/model/head.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../../src/ports/object-store.ts';
import { createArchives } from '../../../src/state/known-archives.ts';
import { brokerDeps } from './broker.ts';

/** A reading broker's ports. */
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

const NO_BYTES = new Uint8Array(0);

/** What index entries say of objects is believed. */
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
        slices.push({ segment, bytes: NO_BYTES, baseOffset: entry.offset, count, from: next, to, committedMs: 0 });
        left -= to - next;
        next = to;
      }
      return { slices, next, used: { messages: next - from, bytes: 0, batches: slices.length }, unchecked: false };
    });
  },
};

/** Batch objects and files have to be there; what is in them is not looked at. */
export const storedBatches = (store: Pick<ObjectStore, 'head'>): BatchReader => ({
  async read(topic, { parts: [part] }, signal) {
    if (part === undefined) return [];
    const { segment, from, entries, files } = part;
    const [entry, record] = [entries[0], files[0]];
    const at = entry === undefined ? record : { first: entry.offset, last: entry.offset + entryCount(entry) - 1 };
    if (at === undefined) throw new RangeError('a part has entries or files');
    const file = record === undefined ? undefined : archivedFileKey(topic.name, { topic: topic.id, segment, ...record });
    const key = entry === undefined ? file : entryObjectKey(topic.id, entry.object);
    const isThere = key !== undefined && (await store.head(key, signal)) !== undefined;
    const next = isThere ? at.last + 1 : from;
    const slice = { segment, bytes: NO_BYTES, baseOffset: at.first, count: at.last + 1 - at.first, from, to: next, committedMs: 0 };
    const trouble = new KelpError('corrupt', 'corrupt', `${String(key)} is missing`);
    const used = { messages: next - from, bytes: 0, batches: 1 };
    return [{ slices: isThere ? [slice] : [], next, used, unchecked: false, ...(isThere ? {} : { trouble }) }];
  },
});
