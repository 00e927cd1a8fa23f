import { type ArchiveRun, archiveTopics } from '../archive/archive-topics.ts';
import type { ArchiveDeps } from '../archive/archive-deps.ts';
import { createOneAtATime } from '../archive/one-at-a-time.ts';
import { createConsumer } from '../consume/create-consumer.ts';
import { ARCHIVE_CACHE_BYTES_MAX } from '../model/archive-limits.ts';
import type { Authenticator } from '../ports/authenticator.ts';
import type { Clock } from '../ports/clock.ts';
import type { Compression } from '../ports/compression.ts';
import type { FileCompression } from '../ports/file-compression.ts';
import type { MetadataTable } from '../ports/metadata-table.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Random } from '../ports/random.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { settleSubmitting } from '../reference/settle-submitting.ts';
import { createHeads } from '../state/heads.ts';
import { createMessageSource } from './message-source.ts';

export type ArchivingPorts = {
  /** Reads of both stores are retried and attempts bounded by whoever made them; a file's PUT takes longer than a batch's. */
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly compression: Compression;
  readonly fileCompression: FileCompression;
  readonly fileBytesMax: number;
  readonly fileAgeMs: number;
};

export type Archiving = {
  /** As {@link archiveTopics}. */
  archive(options: { readonly until: AbortSignal }, signal: AbortSignal): Promise<ArchiveRun>;
};

/** What writes old messages as files, of an instance that has nothing else to do with messages. */
export function createArchiving(ports: ArchivingPorts): Archiving {
  const deps = createArchiveDeps(ports);
  return { archive: (options, signal) => archiveTopics(deps, options, signal) };
}

export function createArchiveDeps(ports: ArchivingPorts): ArchiveDeps {
  const { fileCompression, ...rest } = ports;
  const deps = { ...rest, heads: createHeads(ports.table) };
  const consumer = createConsumer({ ...deps, authenticator: NO_CURSORS, cacheBytesMax: ARCHIVE_CACHE_BYTES_MAX, decodedBytesMax: 0 });
  return {
    ...deps,
    compression: fileCompression,
    messages: createMessageSource(consumer),
    settleSubmitting: (topic, upTo, signal) => settleSubmitting(deps, topic.id, upTo, signal),
    oneAtATime: createOneAtATime(),
  };
}

/** It reads by offsets alone, and has no secret. */
const NO_CURSORS: Authenticator = {
  tag: () => Promise.reject(new Error('an archiver signs no cursors')),
  verify: () => Promise.reject(new Error('an archiver reads no cursors')),
};
