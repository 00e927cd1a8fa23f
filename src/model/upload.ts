import type { Run } from './head.ts';
import type { CommitId, Minute, SegmentId, UploadId } from './ids.ts';

/** What a client has announced, and the store enforces. `sha256`: 64 hexadecimal digits, small. */
export type UploadContent = { readonly bytes: number; readonly sha256: string; readonly contentType: string };

/** What a message holds in place of its value. */
export type Reference = UploadContent & { readonly upload: UploadId };

/**
 * The one attempt under which an upload may become part of a segment. Every object that it commits has its minute, so a head's
 * floor above that ends it.
 */
export type UploadAttempt = {
  readonly segment: SegmentId;
  readonly cid: CommitId;
  /** The segment's tail before the first send under this id. */
  readonly tail: number;
  readonly minute: Minute;
  /** Whose it is: the digest of the request's Idempotency-Key, or a random one. */
  readonly owner: string;
  /** The version of that request's record which has this attempt: of two of one owner, the higher one counts. */
  readonly recordVersion: number;
  /** Messages of the entry before the upload's first one. */
  readonly delta: number;
};

/** Messages of an uploaded batch that readers pass over: counted from the upload's first one. */
export type Quarantined = { readonly first: number; readonly count: number };

export const UPLOAD_STATES = ['staged', 'submitting', 'submitted', 'expired'] as const;

/** An upload as it is kept. */
export type Upload = UploadContent & {
  readonly upload: UploadId;
  readonly state: (typeof UPLOAD_STATES)[number];
  /** Raised by every write, each of which demands the one that it read. */
  readonly version: number;
  readonly createdMs: number;
  readonly expiresMs: number;
  /** From `submitting` on. */
  readonly attempt?: UploadAttempt;
  /** Where its record batches are, if it is one of these; from `submitting` on. */
  readonly runs?: readonly Run[];
  /** Of its message, or of its first batch's first; once submitted. */
  readonly offset?: number;
  /** Whether all of its batches were looked at. */
  readonly checked: boolean;
  readonly quarantined: readonly Quarantined[];
};

/** A record batch in an upload, as whoever submits it says. `start`: in the object; `crc`: CRC-32C, as in its header; `partitions`: of each record. */
export type DeclaredBatch = {
  readonly start: number;
  readonly bytes: number;
  readonly count: number;
  readonly crc: number;
  readonly partitions: readonly number[];
};

/** The same, once its header was found to say so. */
export type UploadedBatch = Omit<DeclaredBatch, 'crc'> & { readonly highestTimestampMs: number };
