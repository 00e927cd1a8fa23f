import type { UploadId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import type { DeclaredBatch, Reference, Upload, UploadContent, UploadedBatch } from '../model/upload.ts';
import type { PresignedRequest } from '../ports/presigner.ts';

/** What clients put into the object store themselves, up to the point where it is submitted. */
export type Uploads = {
  /** A new one, and how its bytes are sent. Error `not-found`/`topic-not-found`: deleted in the meantime. */
  create(
    topic: Topic,
    content: UploadContent,
    signal: AbortSignal,
  ): Promise<{ readonly upload: Upload; readonly request: PresignedRequest }>;
  /** Error `not-found`/`upload-not-found`: none of this topic. */
  describe(topic: Topic, id: UploadId, signal: AbortSignal): Promise<Upload>;
  /**
   * What these refer to, each there in the store with the length and the hash that were announced. Whether they may still be
   * submitted shows when they are. Errors, which say which one it is (model/upload-errors.ts): `upload-not-found`,
   * `upload-missing`, `upload-differs`, `upload-expired`.
   */
  resolve(topic: Topic, ids: readonly UploadId[], signal: AbortSignal): Promise<ReadonlyMap<UploadId, Reference>>;
  /**
   * The batches of an upload, as their headers in the store say. Errors as of `resolve`, and `invalid-batches`: what is
   * declared isn't what is there, or no such batch is taken.
   */
  checkBatches(
    topic: Topic,
    declared: { readonly upload: UploadId; readonly batches: readonly DeclaredBatch[] },
    signal: AbortSignal,
  ): Promise<readonly UploadedBatch[]>;
};
