import { encodeEntryBody } from '../../src/format/entry.ts';
import { decodeHead } from '../../src/format/head-item.ts';
import { headKey, uploadKey } from '../../src/format/item-key.ts';
import { uploadObjectKey, uploadObjectRef } from '../../src/format/object-key.ts';
import { encodeBatch } from '../../src/format/record-batch-encode.ts';
import { encodeUpload } from '../../src/format/upload-item.ts';
import { createCompression } from '../../src/adapters/system/compression.ts';
import type { Run } from '../../src/model/head.ts';
import { minuteOf, type SegmentId, type UploadId, uploadId } from '../../src/model/ids.ts';
import type { Bytes, Message } from '../../src/model/message.ts';
import type { Quarantined, Upload } from '../../src/model/upload.ts';
import { formatCommitId } from '../../src/protocol/commit-id.ts';
import type { Topic } from '../../src/model/topic.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { MetadataTable } from '../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../src/ports/object-store.ts';
import type { Heads } from '../../src/state/heads.ts';

const calm = (): AbortSignal => new AbortController().signal;

const plain = createCompression({ codec: 'none' });
let uploads = 0;

/** Where it is written to; a log of the fixture is one. `heads`: of those who are to know of it at once. */
export type UploadTarget = {
  readonly table: MetadataTable;
  readonly store: ObjectStore;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly topic: Pick<Topic, 'id'>;
  readonly heads?: Pick<Heads, 'offer'>;
};

/** A client's object with batches, as it was submitted. */
export type Uploaded = {
  readonly upload: UploadId;
  readonly key: string;
  /** Offset of its first message. */
  readonly offset: number;
  readonly batches: readonly Bytes[];
  readonly counts: readonly number[];
};

/** Puts an object of batches, the next of which begins a run of its own after so many, and commits it as it is. */
export async function appendUpload(
  log: UploadTarget,
  segment: SegmentId,
  { batches: sent, perRun = 1_000 }: { readonly batches: readonly (readonly Message[])[]; readonly perRun?: number },
): Promise<Uploaded> {
  uploads += 1;
  const nowMs = log.clock.nowMs();
  const upload = uploadId(nowMs, String(uploads).padStart(9, '0'));
  const batches = await Promise.all(sent.map((batch) => encodeBatch(batch, plain)));
  const counts = sent.map((batch) => batch.length);
  const runs: Run[] = [];
  let start = 0;
  for (let index = 0; index < batches.length; index += perRun) {
    const bytes = lengthOf(batches.slice(index, index + perRun));
    runs.push({ start, bytes, count: counts.slice(index, index + perRun).reduce((sum, count) => sum + count, 0) });
    start += bytes;
  }
  const key = uploadObjectKey(log.topic.id, upload);
  await log.store.put(key, batches, calm());
  const cid = formatCommitId(nowMs, 'uploader', uploads);
  const highestTimestampMs = Math.max(...sent.flat().map((one) => one.timestampMs));
  const object = uploadObjectRef(upload, minuteOf(nowMs));
  const result = await log.table.update(
    headKey(log.topic.id, segment),
    {
      condition: [{ op: '=', path: ['state'], value: 'open' }],
      changes: [
        { op: 'copy', path: ['c', cid], from: ['tail'] },
        { op: 'set', path: ['m', cid], value: encodeEntryBody({ object, runs, highestTimestampMs }) },
        { op: 'add', path: ['tail'], value: sent.flat().length },
      ],
    },
    calm(),
  );
  const head = decodeHead(result.item ?? {});
  log.heads?.offer(head);
  const uploaded = { upload, key, batches, counts, offset: head.tail - sent.flat().length };
  await find(log, uploaded, { checked: false, bad: [] });
  return uploaded;
}

/** Writes down what was found in it: `bad` are places of batches. */
export async function find(
  log: UploadTarget,
  { upload, batches, counts, offset }: Uploaded,
  { checked, bad }: { readonly checked: boolean; readonly bad: readonly number[] },
): Promise<void> {
  const item: Upload = {
    upload,
    bytes: lengthOf(batches),
    sha256: '0'.repeat(64),
    contentType: 'application/octet-stream',
    state: 'submitted',
    version: 1,
    createdMs: 0,
    expiresMs: 0,
    offset,
    checked,
    quarantined: bad.map((place): Quarantined => ({ first: offsetIn(counts, place), count: counts[place] ?? 0 })),
  };
  await log.table.put(uploadKey(log.topic.id, upload), encodeUpload(item), [], calm());
}

/** Messages before this batch. */
export const offsetIn = (counts: readonly number[], place: number): number => counts.slice(0, place).reduce((sum, count) => sum + count, 0);

const lengthOf = (batches: readonly Bytes[]): number => batches.reduce((sum, batch) => sum + batch.length, 0);
