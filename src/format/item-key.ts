import type { BrokerId, SegmentId, TopicId, UploadId } from '../model/ids.ts';
import type { Key } from '../ports/metadata-table.ts';

// The one file that makes table keys. Offsets have 16 digits, so that text order is number order.
const OFFSET_DIGITS = 16;
const LOAD_MEMORY = 'load#';

/** Sorts behind a sort key and before every longer or greater one: no character of a name or an id is below it. */
export const justAfter = (sk: string): string => `${sk}!`;

export const nameKey = (tenant: string, name: string): Key => ({ pk: namesPartition(tenant), sk: name });
export const namesPartition = (tenant: string): string => `n#${tenant}`;
export const topicKey = (topic: TopicId): Key => ({ pk: `t#${topic}`, sk: 'topic' });
/** The topic's splits and merges. Apart from the topic's item, which every change reads and writes whole. */
export const scalingKey = (topic: TopicId): Key => ({ pk: `t#${topic}`, sk: 'scaling' });
/** What is known of the topic's loads, in ten items at most, so that their order is that of `n`. */
export const loadMemoryKey = (topic: TopicId, n: number): Key => ({ pk: `t#${topic}`, sk: `${LOAD_MEMORY}${n}` });
/** `n`, of its sort key. */
export const loadMemoryNumber = (sk: string): number => Number(sk.slice(LOAD_MEMORY.length));
export const segmentsPartition = (topic: TopicId): string => `s#${topic}`;
export const segmentKey = (topic: TopicId, segment: SegmentId): Key => ({ pk: segmentsPartition(topic), sk: segment });
export const headKey = (topic: TopicId, segment: SegmentId): Key => ({ pk: `h#${topic}#${segment}`, sk: 'head' });
/** Deleted topics, for clean-up and sweeps. */
export const deletionsPartition = (tenant: string): string => `d#${tenant}`;
export const deletionKey = (tenant: string, topic: TopicId): Key => ({ pk: deletionsPartition(tenant), sk: topic });
/** Apart from the head, whose partition of the table is hot. */
export const pagesPartition = (topic: TopicId, segment: SegmentId): string => `p#${topic}#${segment}`;
export const pageSortKey = (first: number): string => `p${String(first).padStart(OFFSET_DIGITS, '0')}`;
export const pageKey = (topic: TopicId, segment: SegmentId, first: number): Key => ({
  pk: pagesPartition(topic, segment),
  sk: pageSortKey(first),
});
/** How far the segment's messages have left the index. Sorts before pages, and before records. */
export const archiveKey = (topic: TopicId, segment: SegmentId): Key => ({ pk: pagesPartition(topic, segment), sk: 'a' });
export const fileRecordSortKey = (first: number): string => `f${String(first).padStart(OFFSET_DIGITS, '0')}`;
export const fileRecordKey = (topic: TopicId, segment: SegmentId, first: number): Key => ({
  pk: pagesPartition(topic, segment),
  sk: fileRecordSortKey(first),
});
/** Lines of producers that were moved out of the head. */
export const linesPartition = (topic: TopicId, segment: SegmentId): string => `l#${topic}#${segment}`;
export const lineKey = (topic: TopicId, segment: SegmentId, producer: string): Key => ({
  pk: linesPartition(topic, segment),
  sk: producer,
});
/** Requests with an Idempotency-Key, in sixteen partitions: to be listed, and not all in one. */
export const requestsPartitions = (topic: TopicId): readonly string[] =>
  Array.from({ length: 16 }, (_, digit) => `i#${topic}#${digit.toString(16)}`);
/** `digest`: SHA-256 of the idempotency key, in small hexadecimal digits, so that any text may be one. */
export const idempotencyKey = (topic: TopicId, digest: string): Key => ({ pk: `i#${topic}#${digest.slice(0, 1)}`, sk: digest });
/** A topic's uploads, in the order in which they expire. */
export const uploadsPartition = (topic: TopicId): string => `u#${topic}`;
export const uploadKey = (topic: TopicId, upload: UploadId): Key => ({ pk: uploadsPartition(topic), sk: upload });
/** How far they were swept. Sorts before all of them. */
export const sweptUploadsKey = (topic: TopicId): Key => ({ pk: uploadsPartition(topic), sk: 'swept' });
/** Written, read and deleted by a broker that asks itself whether it is ready. */
export const probeKey = (id: string): Key => ({ pk: `probe#${id}`, sk: 'probe' });

export const brokersPartition = (tenant: string): string => `b#${tenant}`;
export const brokerKey = (tenant: string, broker: BrokerId): Key => ({ pk: brokersPartition(tenant), sk: broker });
/** The segments that a broker serves, or did: they are looked at when it leaves. */
export const servedPartition = (broker: BrokerId): string => `a#${broker}`;
export const servedKey = (broker: BrokerId, topic: TopicId, segment: SegmentId): Key => ({
  pk: servedPartition(broker),
  sk: `${topic}#${segment}`,
});
export const leaseKey = (): Key => ({ pk: 'lease', sk: 'leader' });
