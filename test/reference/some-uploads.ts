import { createHash } from 'node:crypto';
import { uploadKey, uploadsPartition } from '../../src/format/item-key.ts';
import { uploadObjectKey, uploadObjectRef, uploadObjectsPrefix } from '../../src/format/object-key.ts';
import { decodeUpload, encodeUpload } from '../../src/format/upload-item.ts';
import type { Run } from '../../src/model/head.ts';
import { minuteOf, uploadId, type UploadId } from '../../src/model/ids.ts';
import { LOAD_BUCKETS } from '../../src/model/limits.ts';
import type { Complete, SweptUploads } from '../../src/model/sweep-report.ts';
import type { Topic } from '../../src/model/topic.ts';
import { UPLOAD_MS } from '../../src/model/upload-limits.ts';
import type { Upload, UploadAttempt } from '../../src/model/upload.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import { createCommitIds } from '../../src/protocol/commit-id.ts';
import { commitBatch } from '../../src/publish/commit-batch.ts';
import type { CommitOutcome } from '../../src/publish/commit-outcome.ts';
import { sweepUploads } from '../../src/reference/sweep-uploads.ts';
import { firstSegment } from '../publish/requests.ts';
import type { BrokerDeps } from '../simulation/test-broker.ts';

// Uploads in any state, made by hand: as those who create and submit them leave them wherever they are stopped.

type Stores = { readonly table: MetadataTable; readonly store: ObjectStore };
const forEver = new AbortController().signal;
export const BODY = Buffer.from('a body');

/** `name`: the last characters of its id. `body` null: nothing was uploaded. */
export async function stage(
  { table, store }: Stores,
  topic: Topic,
  options: { readonly nowMs: number; readonly name: string; readonly body?: Uint8Array | null },
): Promise<Upload> {
  const { nowMs, name, body = BODY } = options;
  const expiresMs = nowMs + UPLOAD_MS;
  const upload: Upload = {
    upload: uploadId(expiresMs, name.padStart(9, '0')),
    state: 'staged',
    version: 1,
    bytes: body?.length ?? 1,
    sha256: createHash('sha256')
      .update(body ?? 'nothing')
      .digest('hex'),
    contentType: 'application/octet-stream',
    createdMs: nowMs,
    expiresMs,
    checked: false,
    quarantined: [],
  };
  await table.put(uploadKey(topic.id, upload.upload), encodeUpload(upload), [], forEver);
  if (body !== null) await store.put(uploadObjectKey(topic.id, upload.upload), [body], forEver);
  return upload;
}

/** Puts it as it is to be, a version further. */
export async function become({ table }: Stores, topic: Topic, upload: Upload, change: Partial<Upload>): Promise<Upload> {
  const next = { ...upload, ...change, version: upload.version + 1 };
  await table.put(uploadKey(topic.id, upload.upload), encodeUpload(next), [], forEver);
  return next;
}

/** Claimed by an attempt that begins now. `runs`: of one that is batches. */
export async function submitting(deps: BrokerDeps, topic: Topic, upload: Upload, runs?: readonly Run[]): Promise<Upload> {
  const segment = firstSegment(topic);
  const head = await deps.heads.read(topic.id, segment, forEver);
  const attempt: UploadAttempt = {
    segment,
    cid: createCommitIds(deps).mint(head?.guard ?? ''),
    tail: head?.tail ?? 0,
    minute: minuteOf(deps.clock.nowMs()),
    owner: 'somebody',
    recordVersion: 1,
    delta: 0,
  };
  return become(deps, topic, upload, { state: 'submitting', attempt, ...(runs === undefined ? {} : { runs }) });
}

/** Sends its attempt: an entry with a message before the upload's, if `delta` says so, or with its batches. */
export function land(deps: BrokerDeps, topic: Topic, { upload, attempt, runs }: Upload): Promise<CommitOutcome> {
  if (attempt === undefined) throw new Error('nobody submits it');
  const { segment, cid, tail, minute, delta } = attempt;
  const own = runs ?? [{ start: 0, bytes: 1, count: delta + 1 }];
  const count = own.reduce((sum, run) => sum + run.count, 0);
  const buckets = Array.from({ length: LOAD_BUCKETS }, (_, bucket) => (bucket === 0 ? count : 0));
  return commitBatch(
    deps,
    {
      topic: topic.id,
      segment,
      object: uploadObjectRef(upload, minute),
      members: [{ runs: own, count, highestTimestampMs: 0, buckets }],
      recorded: { cid, tail },
    },
    forEver,
  );
}

export const sweepOf = (
  deps: BrokerDeps,
  { dryRun = false, signal = forEver }: { readonly dryRun?: boolean; readonly signal?: AbortSignal } = {},
): Promise<SweptUploads & Complete> => sweepUploads(deps, { dryRun }, signal);

export const NOTHING: SweptUploads & Complete = {
  examined: 0,
  expired: 0,
  submitted: 0,
  staged: 0,
  orphans: 0,
  checked: 0,
  quarantined: 0,
  bytes: 0,
  failed: 0,
  complete: true,
};

/** What is left of the topic's uploads: the items, and the objects. */
export async function left({ table, store }: Stores, topic: Topic): Promise<{ items: Upload[]; objects: UploadId[] }> {
  const items = (await table.query({ pk: uploadsPartition(topic.id), from: 'u', limit: 1_000 }, forEver)).items.map(decodeUpload);
  const { objects } = await store.list(uploadObjectsPrefix(topic.id), { limit: 1_000 }, forEver);
  return { items, objects: objects.map(({ key }) => key.slice(-16) as UploadId) };
}

/** The same in words: `staged`, `submitted:0`, and how many objects. */
export async function leftInShort(stores: Stores, topic: Topic): Promise<string> {
  const { items, objects } = await left(stores, topic);
  const words = items.map(({ state, offset }) => (offset === undefined ? state : `${state}:${offset}`));
  return [...words, `${objects.length} objects`].join(', ');
}
