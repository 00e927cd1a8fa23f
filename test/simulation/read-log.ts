import { createCompression } from '../../src/adapters/system/compression.ts';
import { decodeHead } from '../../src/format/head-item.ts';
import { headKey, pagesPartition, segmentsPartition } from '../../src/format/item-key.ts';
import { entryObjectKey } from '../../src/format/object-key.ts';
import { decodePage } from '../../src/format/page-item.ts';
import { decodeBatch } from '../../src/format/record-batch-decode.ts';
import { splitBatches } from '../../src/format/record-batch-header.ts';
import { decodeSegment } from '../../src/format/segment-item.ts';
import { type Entry, entryCount, type Head } from '../../src/model/head.ts';
import type { SegmentId, TopicId } from '../../src/model/ids.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';

export type Stores = { readonly table: MetadataTable; readonly store: ObjectStore };
export type LogMessage = { readonly segment: SegmentId; readonly offset: number; readonly key: string; readonly value: string };
export type SegmentLog = { readonly head: Head; readonly entries: readonly Entry[]; readonly messages: readonly LogMessage[] };

const compression = createCompression({ codec: 'none' });
const forEver = new AbortController().signal;
const PAGES_MAX = 10_000;

/**
 * All that a segment holds, by its head, pages and objects. Rejects unless its entries cover 0 … tail − 1 exactly once and
 * each object holds what its entry says.
 */
export async function readSegmentLog({ table, store }: Stores, topic: TopicId, segment: SegmentId): Promise<SegmentLog> {
  const item = await table.get(headKey(topic, segment), forEver);
  if (item === undefined) throw new Error(`segment ${segment} has no head`);
  const head = decodeHead(item);
  const pages = await table.query({ pk: pagesPartition(topic, segment), from: 'p', to: 'q', limit: PAGES_MAX }, forEver);
  const settled = pages.items.map(decodePage).filter((page) => page.first < head.spilled);
  const entries = [...settled.flatMap((page) => page.entries), ...head.entries];
  const messages: LogMessage[] = [];
  for (const entry of entries) {
    if (entry.offset !== messages.length) throw new Error(`${segment}: an entry at ${entry.offset} where ${messages.length} comes next`);
    messages.push(...(await readEntry(store, { topic, segment, entry })));
  }
  if (messages.length !== head.tail) throw new Error(`${segment}: ${messages.length} messages, the tail is ${head.tail}`);
  return { head, entries, messages };
}

async function readEntry(
  store: ObjectStore,
  { topic, segment, entry }: { readonly topic: TopicId; readonly segment: SegmentId; readonly entry: Entry },
): Promise<LogMessage[]> {
  const key = entryObjectKey(topic, entry.object);
  const messages: LogMessage[] = [];
  for (const run of entry.runs) {
    const bytes = await store.getRange(key, run.start, run.bytes, forEver);
    let offset = entry.offset + messages.length;
    for (const batch of splitBatches(bytes)) {
      const decoded = await decodeBatch(batch.bytes, offset, compression);
      offset += decoded.length;
      messages.push(...decoded.map((message) => ({ segment, offset: message.offset, key: text(message.key), value: text(message.value) })));
    }
  }
  if (messages.length !== entryCount(entry)) throw new Error(`${segment}: entry ${entry.cid} does not hold what it says`);
  return messages;
}

const text = (bytes: Uint8Array | null): string => new TextDecoder().decode(bytes ?? new Uint8Array());

/** All segments of a topic that have a head, in order of their ids. */
export async function readTopicLog(stores: Stores, topic: TopicId): Promise<SegmentLog[]> {
  const page = await stores.table.query({ pk: segmentsPartition(topic), limit: PAGES_MAX }, forEver);
  const segments = page.items.map(decodeSegment);
  const withHead = await Promise.all(segments.map(({ segment }) => stores.table.get(headKey(topic, segment), forEver)));
  return Promise.all(segments.filter((_, i) => withHead[i] !== undefined).map(({ segment }) => readSegmentLog(stores, topic, segment)));
}

/** The values of all messages, segment by segment. */
export async function readValues(stores: Stores, topic: TopicId): Promise<string[]> {
  return (await readTopicLog(stores, topic)).flatMap((segment) => segment.messages.map((message) => message.value));
}
