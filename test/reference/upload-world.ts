import { hash } from 'node:crypto';
import { createMemoryPresigner } from '../../src/adapters/memory/memory-presigner.ts';
import { createMemoryStore } from '../../src/adapters/memory/memory-store.ts';
import { createMemoryTable } from '../../src/adapters/memory/memory-table.ts';
import { createRecordingTelemetry } from '../../src/adapters/memory/recording-telemetry.ts';
import { createSystemRandom } from '../../src/adapters/system/random.ts';
import { topicKey, uploadKey } from '../../src/format/item-key.ts';
import { encodeTopic } from '../../src/format/topic-item.ts';
import { decodeUpload, encodeUpload } from '../../src/format/upload-item.ts';
import type { TopicId, UploadId } from '../../src/model/ids.ts';
import { TENANT_DEFAULT, type Topic } from '../../src/model/topic.ts';
import type { Upload, UploadContent } from '../../src/model/upload.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { createUploads } from '../../src/reference/create-uploads.ts';
import { createManualClock } from '../consume/manual-clock.ts';

export const forEver = new AbortController().signal;

export const contentOf = (body: Uint8Array, contentType = 'text/plain'): UploadContent => ({
  bytes: body.length,
  sha256: hash('sha256', body),
  contentType,
});

const topicOf = (id: string): Topic => ({
  id: id as TopicId,
  name: id,
  tenant: TENANT_DEFAULT,
  settings: { partitionKey: 'key', segments: 1, replicas: 2 },
  state: 'active',
  version: 1,
  firstSegment: 0,
  nextSegment: 1,
  open: [],
  changes: [],
  createdMs: 0,
});

/** The service over stores in memory, and two topics; `wrap` puts something else in place of the stores that it uses. */
export function createUploadWorld(
  wrap: { readonly table?: (table: MetadataTable) => MetadataTable; readonly store?: (store: ObjectStore) => ObjectStore } = {},
) {
  const table = createMemoryTable();
  const store = createMemoryStore();
  const clock = createManualClock();
  const random = createSystemRandom();
  const telemetry = createRecordingTelemetry();
  const presigner = createMemoryPresigner({ store, clock });
  const topic = topicOf('tabcdefghijklmno');
  const other = topicOf('tzzzzzzzzzzzzzzz');
  const uploads = createUploads({
    table: wrap.table?.(table) ?? table,
    store: wrap.store?.(store) ?? store,
    clock,
    random,
    telemetry,
    presigner,
  });

  const putTopic = async (changed: Topic): Promise<void> => void (await table.put(topicKey(changed.id), encodeTopic(changed), [], forEver));
  const read = async (id: UploadId): Promise<Upload | undefined> => {
    const item = await table.get(uploadKey(topic.id, id), forEver);
    return item && decodeUpload(item);
  };
  return {
    table,
    store,
    clock,
    telemetry,
    presigner,
    topic,
    other,
    uploads,
    putTopic,
    read,
    /** Announced and uploaded. */
    async upload(body: Uint8Array, contentType?: string): Promise<Upload> {
      await Promise.all([putTopic(topic), putTopic(other)]);
      const { upload, request } = await uploads.create(topic, contentOf(body, contentType), forEver);
      const { status } = await presigner.send({ ...request, body }, forEver);
      if (status !== 200) throw new Error(`the store says ${status}`);
      return upload;
    },
    async change(id: UploadId, members: Partial<Upload>): Promise<void> {
      const before = await read(id);
      if (before === undefined) throw new Error(`no upload ${id}`);
      await table.put(uploadKey(topic.id, id), encodeUpload({ ...before, version: before.version + 1, ...members }), [], forEver);
    },
  };
}

export type UploadWorld = ReturnType<typeof createUploadWorld>;
