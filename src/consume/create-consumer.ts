import { READ_CACHE_BYTES_MAX } from '../model/limits.ts';
import type { Authenticator } from '../ports/authenticator.ts';
import type { Clock } from '../ports/clock.ts';
import type { Compression } from '../ports/compression.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { Heads } from '../state/heads.ts';
import { type Archives, createArchives } from '../state/known-archives.ts';
import { createArchivedFiles } from './archived-files.ts';
import { createArchivedMessages } from './archived-messages.ts';
import { createBatchDecoder } from './decode-batch.ts';
import { offsetAt, readSegment } from './fetch.ts';
import { createFindTimestamp } from './find-timestamp.ts';
import { createHeaderSource } from './header-source.ts';
import { createIndexPages } from './index-pages.ts';
import { createObjectRanges } from './object-ranges.ts';
import type { Consumer } from './page.ts';
import { createPayloadSource } from './payload-source.ts';
import { createQuarantine } from './quarantine.ts';
import { createBatchReader } from './read-batches.ts';
import { readTopic } from './read-topic.ts';
import { createRunSplitter } from './split-run.ts';
import { createTail } from './tail.ts';

export type ConsumerDeps = {
  /** Reads of both are retried by whoever made them. `heads` reads the same table. */
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  readonly heads: Heads;
  readonly clock: Clock;
  readonly compression: Compression;
  readonly telemetry: Telemetry;
  /** Signs cursors. */
  readonly authenticator: Authenticator;
  /** What this instance has seen of archives; absent: the consumer's own. */
  readonly archives?: Archives;
  /** Of immutable ranges kept in memory. */
  readonly cacheBytesMax?: number;
  /** Of decoded batches; 0 for whoever comes to each batch once. */
  readonly decodedBytesMax?: number;
};

export function createConsumer(deps: ConsumerDeps): Consumer {
  const { store, telemetry, cacheBytesMax = READ_CACHE_BYTES_MAX } = deps;
  const decoder = createBatchDecoder(deps.compression, deps.decodedBytesMax);
  const ranges = createObjectRanges({ store, telemetry, bytesMax: cacheBytesMax });
  const archives = { ...deps, archives: deps.archives ?? createArchives(deps) };
  const index = { ...deps, pages: createIndexPages(deps.table), archived: createArchivedMessages(archives, { places: false }) };
  const looking = { telemetry, quarantine: createQuarantine(deps) };
  const files = createArchivedFiles(deps);
  const payloads = createPayloadSource({ ranges, decoder, split: createRunSplitter(), files });
  const batches = createBatchReader({ ...looking, source: payloads });
  const findTimestamp = createFindTimestamp({ ...index, batches, decoder, files });
  const read = { ...index, batches, tail: createTail(deps), findTimestamp };
  const archived = createArchivedMessages(archives, { places: true });
  const locate = { ...read, archived, batches: createBatchReader({ ...looking, source: createHeaderSource(deps) }) };
  return {
    readSegment: (topic, wanted, signal) => readSegment(read, topic, wanted, signal),
    readTopic: (topic, wanted, signal) => readTopic(read, topic, wanted, signal),
    locateSegment: (topic, wanted, signal) => readSegment(locate, topic, wanted, signal),
    locateTopic: (topic, wanted, signal) => readTopic(locate, topic, wanted, signal),
    offsetAt: (topic, at, signal) => offsetAt(read, topic, at, signal),
    async decode(slice) {
      const messages = await decoder.messages(slice);
      return messages.slice(slice.from - slice.baseOffset, slice.to - slice.baseOffset);
    },
  };
}
