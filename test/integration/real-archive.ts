import { expect } from 'vitest';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { createFileCompression } from '../../src/adapters/system/file-compression.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { wrapStore, wrapTable } from '../../src/adapters/wrap/stores.ts';
import { createArchiving } from '../../src/broker/create-archiving.ts';
import type { SegmentId, TopicId } from '../../src/model/ids.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { cleanUp } from '../consume/archived-log.ts';
import { silent as telemetry } from '../consume/fixture.ts';
import type { StoreAddress, TableAddress } from '../stack.ts';

/** Real stores, and what makes files of old messages there at once. */
export type RealArchive = {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  /** All that is in no file yet. `fileBytes`: of the batches in a file, at most. */
  archive(fileBytes: number): Promise<void>;
  /** Deletes pages and objects of all that is in files, without their hour. */
  collect(topic: TopicId, segments: readonly SegmentId[]): Promise<void>;
};

export function createRealArchive(addresses: { readonly store: StoreAddress; readonly table: TableAddress }): RealArchive {
  const clock = createSystemClock();
  const wrapping = { clock, random: createSystemRandom(), telemetry };
  const table = wrapTable(createLeanTable({ ...addresses.table, clock }), wrapping);
  const store = wrapStore(createLeanStore({ ...addresses.store, clock }), wrapping);
  const compression = createCompression({ codec: 'none' });
  const ports = { ...wrapping, table, store, compression, fileCompression: createFileCompression() };
  const { signal } = new AbortController();
  return {
    table,
    store,
    async archive(fileBytes) {
      const { archive } = createArchiving({ ...ports, fileBytesMax: fileBytes, fileAgeMs: 0 });
      expect(await archive({ until: signal }, signal)).toMatchObject({ held: 0, failed: 0, complete: true });
    },
    async collect(id, segments) {
      for (const segment of segments) await cleanUp({ table, store, topic: { id } }, segment);
    },
  };
}
