import { checkTimestamp } from '../format/message-limits.ts';
import { uploadObjectKey } from '../format/object-key.ts';
import { type BatchHeader, checkBatchCount, readHeaderAlone } from '../format/record-batch-header.ts';
import { invalid, KelpError } from '../model/errors.ts';
import type { UploadId } from '../model/ids.ts';
import type { Bytes } from '../model/message.ts';
import type { Topic } from '../model/topic.ts';
import { uploadMissing } from '../model/upload-errors.ts';
import { BATCH_HEADERS_PARALLEL_MAX, UPLOAD_BATCHES_BYTES_MAX } from '../model/upload-limits.ts';
import type { DeclaredBatch, Upload, UploadedBatch } from '../model/upload.ts';
import { inParallel } from '../state/in-parallel.ts';
import { type HeaderWindow, headerWindows } from './header-windows.ts';
import { findWhole, type ResolveDeps } from './resolve-uploads.ts';

/**
 * What is declared is compared with the headers in the store; of records none is looked at. Error `invalid-batches`, whose field
 * names the place, as in `batches[2].crc`; and as of {@link findWhole}.
 */
export async function checkBatches(
  deps: ResolveDeps,
  topic: Topic,
  { upload: id, batches }: { readonly upload: UploadId; readonly batches: readonly DeclaredBatch[] },
  signal: AbortSignal,
): Promise<readonly UploadedBatch[]> {
  const upload = await findWhole(deps, topic, id, signal);
  checkLayout(upload, batches);
  // Nothing of it is committed again, so that nobody looks at its times.
  if (upload.state === 'submitted') return batches.map((batch) => uploadedBatch(batch, 0));
  const checked = await checkWindows(deps, topic, { id, batches }, signal);
  return checked.flat();
}

function uploadedBatch({ start, bytes, count, partitions }: DeclaredBatch, highestTimestampMs: number): UploadedBatch {
  return { start, bytes, count, partitions, highestTimestampMs };
}

const wrong = (field: string, message: string): KelpError => invalid('invalid-batches', field, message);

/** One behind the other, and nothing else. */
function checkLayout({ bytes }: Upload, batches: readonly DeclaredBatch[]): void {
  if (bytes > UPLOAD_BATCHES_BYTES_MAX)
    throw wrong('batch', `an upload of batches has at most ${UPLOAD_BATCHES_BYTES_MAX} bytes, this one has ${bytes}`);
  let end = 0;
  for (const [index, batch] of batches.entries()) {
    if (batch.start !== end) throw wrong(`batches[${index}].offset`, `the batch before ends at ${end}`);
    end += batch.bytes;
    if (end > bytes) throw wrong(`batches[${index}].bytes`, `the upload ends at ${bytes}`);
  }
  if (end !== bytes) throw wrong('batches', `the last batch ends at ${end}, and the upload at ${bytes}`);
}

/** Each window is looked at as it comes, and let go: of many small batches, they are together as large as the upload. */
async function checkWindows(
  { store }: ResolveDeps,
  topic: Topic,
  { id, batches }: { readonly id: UploadId; readonly batches: readonly DeclaredBatch[] },
  signal: AbortSignal,
): Promise<readonly (readonly UploadedBatch[])[]> {
  const key = uploadObjectKey(topic.id, id);
  try {
    return await inParallel(headerWindows(batches), BATCH_HEADERS_PARALLEL_MAX, async (window) => {
      const bytes = await store.getRange(key, window.start, window.bytes, signal);
      return checkWindow(batches, window, bytes);
    });
  } catch (error) {
    if (!(error instanceof KelpError) || error.code !== 'object-not-found') throw error;
    throw uploadMissing(id, error);
  }
}

function checkWindow(batches: readonly DeclaredBatch[], { start, first, count }: HeaderWindow, bytes: Bytes): readonly UploadedBatch[] {
  return batches.slice(first, first + count).map((batch, at) => {
    const highestTimestampMs = checkHeader(batch, { bytes, at: batch.start - start, index: first + at });
    return uploadedBatch(batch, highestTimestampMs);
  });
}

type Place = { readonly bytes: Bytes; readonly at: number; readonly index: number };

/** Answers the batch's highest timestamp. */
function checkHeader(declared: DeclaredBatch, place: Place): number {
  try {
    const header = readHeaderAlone(place.bytes, place.at);
    checkDeclared(declared, header);
    checkTaken(header, place);
    return header.maxTimestampMs;
  } catch (error) {
    if (!(error instanceof KelpError) || error.kind !== 'invalid') throw error;
    const field = error.field ?? '';
    throw wrong(`batches[${place.index}]${field === '' ? '' : `.${field}`}`, error.message);
  }
}

function checkDeclared(declared: DeclaredBatch, header: BatchHeader): void {
  for (const member of ['bytes', 'count', 'crc'] as const) {
    if (declared[member] !== header[member]) throw wrong(member, `the header in the store says ${header[member]}`);
  }
}

/** What of a batch that is sent is refused by its header alone. */
function checkTaken(header: BatchHeader, { bytes, at }: Place): void {
  if (header.codec === undefined) throw wrong('attributes', 'only gzip, zstd and no compression are supported');
  if (header.flags !== 0) throw wrong('attributes', 'transactions, control records, log append time and unknown flags are not supported');
  checkBatchCount(header);
  checkTimestamp(header.baseTimestampMs, 'baseTimestamp');
  checkTimestamp(header.maxTimestampMs, 'maxTimestamp');
  // The object stays as it is, and those who read it by reference are told that there is none.
  if (bytes.subarray(at, at + OFFSET_BYTES).some((byte) => byte !== 0)) throw wrong('baseOffset', 'a batch begins at 0');
}

const OFFSET_BYTES = 8;
