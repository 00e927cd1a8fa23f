import { expect } from 'vitest';
import { createCompression } from '../../src/adapters/system/compression.ts';
import { uploadKey } from '../../src/format/item-key.ts';
import { uploadObjectKey } from '../../src/format/object-key.ts';
import { encodeBatch } from '../../src/format/record-batch-encode.ts';
import { decodeUpload, encodeUpload } from '../../src/format/upload-item.ts';
import { type SegmentId, uploadId, type UploadId } from '../../src/model/ids.ts';
import { partitionOf } from '../../src/model/partition.ts';
import type { Topic } from '../../src/model/topic.ts';
import { UPLOAD_MS } from '../../src/model/upload-limits.ts';
import type { Upload, UploadedBatch } from '../../src/model/upload.ts';
import type { PublishRequest } from '../../src/publish/request.ts';
import { readValues } from '../simulation/read-log.ts';
import type { TestBroker, TestWorld } from '../simulation/test-broker.ts';
import { brief, message } from './requests.ts';

// Uploads, and the requests that submit them, as tests write them.

type World = Pick<TestWorld, 'table' | 'store' | 'random' | 'signal'> & { readonly clock: { nowMs(): number } };

const compression = createCompression({ codec: 'none' });

/** An upload that a client has announced, and sent. */
export async function stage(world: World, topic: Topic, forMs: number = UPLOAD_MS): Promise<UploadId> {
  const createdMs = world.clock.nowMs();
  const expiresMs = createdMs + forMs;
  const upload: Upload = {
    upload: uploadId(expiresMs, world.random.base36(9)),
    bytes: 3,
    sha256: '0'.repeat(64),
    contentType: 'text/plain',
    state: 'staged',
    version: 1,
    createdMs,
    expiresMs,
    checked: false,
    quarantined: [],
  };
  await world.table.put(uploadKey(topic.id, upload.upload), encodeUpload(upload), [], world.signal);
  await world.store.put(uploadObjectKey(topic.id, upload.upload), [new Uint8Array(upload.bytes)], world.signal);
  return upload.upload;
}

export async function uploadOf(world: Pick<World, 'table' | 'signal'>, topic: Topic, upload: UploadId): Promise<Upload> {
  const item = await world.table.get(uploadKey(topic.id, upload), world.signal);
  if (item === undefined) throw new Error(`no upload ${upload}`);
  return decodeUpload(item);
}

/** Where it is: `submitted s0000000:0`, or its state. */
export async function whereIs(world: Pick<World, 'table' | 'signal'>, topic: Topic, upload: UploadId): Promise<string> {
  const { state, attempt, offset } = await uploadOf(world, topic, upload);
  return state === 'submitted' ? `${state} ${attempt?.segment}:${offset}` : state;
}

type Submitted = UploadId | readonly [key: string, upload: UploadId];

/** A message for each upload, whose value is its id. */
export function submitOf(uploads: readonly Submitted[], key?: string): PublishRequest {
  const messages = uploads.map((one) => {
    const [messageKey, upload] = typeof one === 'string' ? (['a', one] as const) : one;
    return { ...message(messageKey, upload), upload };
  });
  return { content: { kind: 'messages', messages }, ...(key === undefined ? {} : { idempotency: { key, requestHash: uploads.join() } }) };
}

/** Puts these messages, batch by batch, where the upload's bytes are, and submits them. */
export async function submitBatches(
  world: World,
  topic: Topic,
  { upload, segment, batches, key }: { upload: UploadId; segment: SegmentId; batches: readonly (readonly string[])[]; key?: string },
): Promise<PublishRequest> {
  const encoded = await Promise.all(
    batches.map((values) =>
      encodeBatch(
        values.map((value) => message('a', value)),
        compression,
      ),
    ),
  );
  await world.store.put(uploadObjectKey(topic.id, upload), encoded, world.signal);
  let start = 0;
  const uploaded = encoded.map((bytes, index): UploadedBatch => {
    const count = batches[index]?.length ?? 0;
    start += bytes.length;
    const partitions = Array.from({ length: count }, () => partitionOf(new TextEncoder().encode('a')));
    return { start: start - bytes.length, bytes: bytes.length, count, partitions, highestTimestampMs: 1_700_000_000_000 };
  });
  return {
    content: { kind: 'uploaded', upload, batches: uploaded },
    segment,
    ...(key === undefined ? {} : { idempotency: { key, requestHash: upload } }),
  };
}

// Of two uploads in a topic of two segments.

export type There = { readonly topic: Topic; readonly uploads: readonly [UploadId, UploadId] };

export async function prepare(world: TestWorld): Promise<There> {
  const topic = await world.topic(2);
  return { topic, uploads: [await stage(world, topic), await stage(world, topic)] };
}

export const sent = async (world: TestWorld, topic: Topic, request: PublishRequest, by?: TestBroker): Promise<string[]> =>
  brief(await world.run((by ?? world.broker()).publisher.publish(topic, request, world.signal)));

/** Each of these uploads is in the log once, and its item says where. */
export async function expectOnce(world: TestWorld, topic: Topic, uploads: readonly UploadId[]): Promise<void> {
  expect((await readValues(world, topic.id)).toSorted()).toEqual(uploads.toSorted());
  const where = await Promise.all(uploads.map((upload) => whereIs(world, topic, upload)));
  expect(where).toEqual(uploads.map(() => expect.stringMatching(/^submitted s\w{7}:\d+$/)));
}

/** Keys in both halves of the partitions. */
export const both = ([a, b]: There['uploads'], key?: string): PublishRequest =>
  submitOf(
    [
      ['k1', a],
      ['k0', b],
    ],
    key,
  );
