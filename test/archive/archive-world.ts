import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { createRecordingTelemetry, type RecordingTelemetry } from '../../src/adapters/memory/recording-telemetry.ts';
import { createFileCompression } from '../../src/adapters/system/file-compression.ts';
import type { ArchiveDeps } from '../../src/archive/archive-deps.ts';
import { archiveNext } from '../../src/archive/archive-segment.ts';
import { createArchiveDeps } from '../../src/broker/create-archiving.ts';
import { archivedFileKey, archivedFilesPrefix } from '../../src/format/object-key.ts';
import { encodeName } from '../../src/format/name-item.ts';
import { encodeTopic } from '../../src/format/topic-item.ts';
import { nameKey, topicKey } from '../../src/format/item-key.ts';
import type { Archive, FileRecord } from '../../src/model/archive.ts';
import type { ArchivedMessage } from '../../src/model/archived-file.ts';
import type { SegmentId } from '../../src/model/ids.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { readArchive, readFileRecords } from '../../src/state/archives.ts';
import { calm, compression, createLog, type Log } from '../consume/fixture.ts';
import { createSeededRandom } from '../simulation/seeded-random.ts';
import { readAll } from './some-file.ts';

export const HOUR_MS = 3_600_000;

export type ArchiverPorts = { readonly table: MetadataTable; readonly store: ObjectStore };

/** A log and archivers of it, on stores in memory. */
export type ArchiveWorld = {
  readonly log: Log;
  readonly telemetry: RecordingTelemetry;
  /** One that has seen nothing yet. */
  archiver(ports?: Partial<ArchiverPorts> & { readonly fileBytesMax?: number }): ArchiveDeps;
  /** Archives until nothing is due. Answers how it ended. */
  archive(segment: SegmentId, deps?: ArchiveDeps): Promise<string>;
  state(segment: SegmentId): Promise<{ readonly archive: Archive; readonly records: readonly FileRecord[] }>;
  /** All messages of the files of the segment's written records, in the order of the records. */
  archived(segment: SegmentId): Promise<ArchivedMessage[]>;
  fileKey(segment: SegmentId, record: FileRecord): string;
  /** Keys of all files, whoever refers to them. */
  files(): Promise<string[]>;
};

export async function createArchiveWorld(options: Parameters<typeof createLog>[0] = {}): Promise<ArchiveWorld> {
  const table = createMemoryTable();
  const store = createMemoryStore();
  const log = createLog({ table, store, ...options });
  const telemetry = createRecordingTelemetry();
  const { topic } = log;
  await table.put(
    nameKey(topic.tenant, topic.name),
    encodeName({ tenant: topic.tenant, name: topic.name, topic: topic.id, nextSegment: 0, version: 1 }),
    [],
    calm(),
  );
  await table.put(topicKey(topic.id), encodeTopic(topic), [], calm());

  const state: ArchiveWorld['state'] = async (segment) => {
    const place = { topic: topic.id, segment };
    const archive = await readArchive({ table }, place, calm());
    return { archive, records: (await readFileRecords({ table }, place, 0, calm())).records };
  };
  const fileKey: ArchiveWorld['fileKey'] = (segment, { date, first, last }) =>
    archivedFileKey(topic.name, { topic: topic.id, segment, date, first, last });
  const archiver: ArchiveWorld['archiver'] = (ports = {}) =>
    createArchiveDeps({
      table,
      store,
      clock: log.clock,
      random: createSeededRandom(1),
      telemetry,
      compression,
      fileCompression: createFileCompression(),
      fileBytesMax: 1_000_000,
      fileAgeMs: HOUR_MS,
      ...ports,
    });
  return {
    log,
    telemetry,
    archiver,
    state,
    fileKey,
    async archive(segment, deps = archiver()) {
      for (;;) {
        const { step } = await archiveNext(deps, topic, segment, calm());
        if (step !== 'archived') return step;
      }
    },
    async archived(segment) {
      const messages: ArchivedMessage[] = [];
      for (const record of (await state(segment)).records) {
        if (record.file === undefined || record.file.rows === 0) continue;
        messages.push(...(await readAll(await store.getRange(fileKey(segment, record), 0, 1_000_000_000, calm()))));
      }
      return messages;
    },
    async files() {
      const { objects } = await store.list(archivedFilesPrefix(topic.name, topic.id), { limit: 1_000 }, calm());
      return objects.map(({ key }) => key);
    },
  };
}
