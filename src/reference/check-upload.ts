import { createHash, type Hash } from 'node:crypto';
import { uploadObjectKey } from '../format/object-key.ts';
import { type BatchHeader, readBatchHeader } from '../format/record-batch-header.ts';
import { checkSentBatches } from '../format/record-batch-sent.ts';
import { KelpError } from '../model/errors.ts';
import type { Run } from '../model/head.ts';
import type { TopicId } from '../model/ids.ts';
import { REQUEST_BYTES_MAX } from '../model/limits.ts';
import type { Bytes } from '../model/message.ts';
import type { Range } from '../model/topic.ts';
import { CHECK_BYTES_PER_SECOND, UPLOAD_RUN_BYTES_MAX } from '../model/upload-limits.ts';
import type { Quarantined, Upload } from '../model/upload.ts';
import type { Clock } from '../ports/clock.ts';
import type { Compression } from '../ports/compression.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Heads } from '../state/heads.ts';

export type CheckDeps = {
  readonly store: ObjectStore;
  readonly heads: Heads;
  readonly clock: Clock;
  readonly compression: Compression;
};

/** Messages that stand one behind the other, in a batch; `first` counts from the upload's first one. */
type Stretch = Quarantined;

/**
 * Looks at the record batches of an upload that was submitted as what they are, one run of them in memory at a time, at no more
 * than CHECK_BYTES_PER_SECOND: all that is refused of batches which come by request, and keys of other segments. Answers what
 * readers have to pass over, in order. Errors are the store's, which tell nothing of the batches, and `corrupt`: these aren't the
 * bytes that were uploaded, so nobody has lied.
 */
export async function checkUpload(
  deps: CheckDeps,
  { topic, upload }: { readonly topic: TopicId; readonly upload: Upload },
  signal: AbortSignal,
): Promise<readonly Quarantined[]> {
  const range = await rangeOf(deps, topic, upload, signal);
  const key = uploadObjectKey(topic, upload.upload);
  const hash = createHash('sha256');
  const bad: Stretch[] = [];
  let first = 0;
  for (const run of upload.runs ?? []) {
    for (const stretch of await badOfRun(deps, { key, run, range, hash }, signal)) {
      add(bad, { first: first + stretch.first, count: stretch.count });
    }
    first += run.count;
  }
  if (bad.length > 0 && hash.digest('hex') !== upload.sha256) throw damaged(key);
  return bad;
}

async function rangeOf({ heads }: CheckDeps, topic: TopicId, { upload, attempt }: Upload, signal: AbortSignal): Promise<Range> {
  if (attempt === undefined) throw new KelpError('corrupt', 'corrupt', `no attempt is recorded of upload ${upload}`);
  const head = heads.known(topic, attempt.segment) ?? (await heads.read(topic, attempt.segment, signal));
  if (head === undefined) throw new KelpError('not-found', 'segment-not-found', `no segment ${attempt.segment}`);
  return { lo: head.lo, hi: head.hi };
}

type Place = { readonly key: string; readonly run: Run; readonly range: Range; readonly hash: Hash };

async function badOfRun(deps: CheckDeps, place: Place, signal: AbortSignal): Promise<readonly Stretch[]> {
  const { run, range } = place;
  // Batches are put together up to far less: it is a single one, and more than a request may have.
  const isTooLarge = run.bytes > REQUEST_BYTES_MAX;
  const pieceBytesMax = isTooLarge ? UPLOAD_RUN_BYTES_MAX : run.bytes;
  for (let at = 0; at < run.bytes; at += pieceBytesMax) {
    const bytes = await readPaced(deps, place, { start: run.start + at, bytes: Math.min(pieceBytesMax, run.bytes - at) }, signal);
    if (!isTooLarge) return badOf(bytes, { count: run.count, range }, deps.compression);
  }
  return [{ first: 0, count: run.count }];
}

async function readPaced(
  { store, clock }: CheckDeps,
  { key, hash }: Place,
  piece: Pick<Run, 'start' | 'bytes'>,
  signal: AbortSignal,
): Promise<Bytes> {
  const bytes = await store.getRange(key, piece.start, piece.bytes, signal);
  if (bytes.length < piece.bytes) throw damaged(key);
  hash.update(bytes);
  await clock.sleep(Math.ceil((bytes.length * 1_000) / CHECK_BYTES_PER_SECOND), signal);
  return bytes;
}

const damaged = (key: string): KelpError => new KelpError('corrupt', 'corrupt', `object ${key} is not what was uploaded`);

/** Of the batches of a run, which has so many messages. */
async function badOf(
  bytes: Bytes,
  { count, range }: { readonly count: number; readonly range: Range },
  compression: Compression,
): Promise<readonly Stretch[]> {
  const bad: Stretch[] = [];
  let [at, first] = [0, 0];
  while (at < bytes.length) {
    const header = headerAt(bytes, at);
    // Where one ends by itself is where the next one begins: without that, nothing of what follows can be told apart.
    if (header === undefined || header.count < 1 || first + header.count > count) break;
    const batch = bytes.subarray(at, at + header.bytes);
    if (!(await isSound(batch, range, compression))) add(bad, { first, count: header.count });
    at += header.bytes;
    first += header.count;
  }
  if (first < count) add(bad, { first, count: count - first });
  return bad;
}

function headerAt(bytes: Bytes, at: number): BatchHeader | undefined {
  try {
    return readBatchHeader(bytes, at);
  } catch (error) {
    if (isInvalid(error)) return undefined;
    throw error;
  }
}

async function isSound(batch: Bytes, { lo, hi }: Range, compression: Compression): Promise<boolean> {
  try {
    const checked = await checkSentBatches(batch, compression);
    return checked.every(({ partitions }) => partitions.every((partition) => partition >= lo && partition <= hi));
  } catch (error) {
    if (isInvalid(error)) return false;
    throw error;
  }
}

const isInvalid = (error: unknown): boolean => error instanceof KelpError && error.kind === 'invalid';

/** Joins neighbours: an item has few of them, and readers few to look through. */
function add(stretches: Stretch[], next: Stretch): void {
  const last = stretches.at(-1);
  if (last !== undefined && last.first + last.count === next.first)
    stretches.splice(-1, 1, { first: last.first, count: last.count + next.count });
  else stretches.push(next);
}
