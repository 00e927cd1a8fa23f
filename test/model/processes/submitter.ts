import type { KelpError } from '../../../src/model/errors.ts';
import { type SegmentId, segmentId, type UploadId } from '../../../src/model/ids.ts';
import type { MetadataTable } from '../../../src/ports/metadata-table.ts';
import type { ObjectStore } from '../../../src/ports/object-store.ts';
import { publishOnce } from '../../../src/publish/deduplicate.ts';
import type { Placed } from '../../../src/publish/request.ts';
import { recordInMemory } from '../../../src/publish/request-record.ts';
import { settleUpload } from '../../../src/reference/settle-upload.ts';
import { isTransient } from '../../../src/state/ask-again.ts';
import { readUpload } from '../../../src/state/stored-uploads.ts';
import type { Phase, Process, Result } from '../engine/process.ts';
import { brokerDeps, NEVER_ABORTED, TOPIC } from './broker.ts';
import { answering, depsOf, keyedRecord, LOW_KEY, recordedOf, refusal, type Request } from './placer.ts';

/** Objects that one broker puts at most, and segments that they may be for. */
const OBJECTS_MAX = 8;
const SEGMENTS_MAX = 2;

export type Submission = Omit<Request, 'messages' | 'matchTail'> & {
  readonly message: string;
  readonly upload: UploadId;
  /** All of these have the same Idempotency-Key, the others have none. */
  readonly keyed: boolean;
};

/** A broker that submits an upload as a message. */
export function submitter({ message, upload, keyed, ...broker }: Submission): Process {
  const request: Request = { ...broker, messages: [{ message, key: LOW_KEY, upload }] };
  const publish = async (table: MetadataTable, signal: AbortSignal): Promise<(Placed | KelpError)[]> => {
    const deps = brokerDeps(table, request, request.known);
    const claimant = { owner: keyed ? 'key' : request.instance, had: new Set<UploadId>() };
    const record = keyed ? keyedRecord(deps) : recordInMemory();
    return publishOnce(depsOf(deps, request), { ...recordedOf(request), record, claimant }, signal);
  };
  return answering(request, undefined, publish, (_, error) => submitted(request, message, error));
}

/** Several senders have the same upload: a refusal speaks of what this one has put, unless the upload is gone for all of them. */
function submitted(request: Request, message: string, error: KelpError): Result {
  const { segment, offset } = error.extra;
  if (error.code === 'upload-submitted') return { message, result: 'duplicate', segment: segment as SegmentId, offset: Number(offset) };
  const result = refusal(message, error);
  const isGone = ['upload-expired', 'upload-not-found'].includes(error.code);
  return isGone ? result : { ...result, objects: objectsOf(request.name, message) };
}

/** By what they are called in groups.ts. */
function objectsOf(name: string, message: string): string[] {
  const places = Array.from({ length: SEGMENTS_MAX }, (_, n) => `${segmentId(n)}=${message}`);
  return Array.from({ length: OBJECTS_MAX }, (_, n) => n + 1).flatMap((n) => places.map((place) => `${name}${n}.${place}`));
}

const store: ObjectStore = {
  put: () => Promise.reject(new Error('a sweep puts no objects')),
  getRange: () => Promise.reject(new Error('a sweep of these reads no objects')),
  head: async () => undefined,
  list: () => Promise.reject(new Error('the model lists no objects')),
  delete: async () => {},
};

/** A sweep's look at an upload, some times over, at a time at which others may be at it. */
export function uploadSweeper(
  name: string,
  upload: UploadId,
  { rounds, nowMs }: { readonly rounds: number; readonly nowMs: number },
): Process {
  const round: Phase = async (table, state) => {
    const deps = { ...brokerDeps(table, { instance: 'w', nowMs }), store };
    const counts = { expired: 0, submitted: 0, staged: 0, bytes: 0 };
    try {
      const found = await readUpload(deps, TOPIC, upload, NEVER_ABORTED);
      if (found !== undefined) await settleUpload(deps, { topic: TOPIC, dryRun: false, counts }, found, NEVER_ABORTED);
    } catch (error) {
      // Unanswered: the next round looks again, as the next sweep does.
      if (!isTransient(error)) throw error;
    }
    return state;
  };
  return { name, start: {}, phases: Array.from({ length: rounds }, () => round) };
}
