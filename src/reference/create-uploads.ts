import type { ObjectStore } from '../ports/object-store.ts';
import { checkBatches } from './check-batches.ts';
import { createUpload, type CreateUploadDeps } from './create-upload.ts';
import { describeUpload } from './describe-upload.ts';
import { resolveUploads } from './resolve-uploads.ts';
import type { Uploads } from './uploads.ts';

export type UploadsDeps = CreateUploadDeps & {
  /** Reads of table and store are retried by whoever made them. */
  readonly store: ObjectStore;
};

export const createUploads = (deps: UploadsDeps): Uploads => ({
  create: (topic, content, signal) => createUpload(deps, topic, content, signal),
  describe: (topic, id, signal) => describeUpload(deps, topic, id, signal),
  resolve: (topic, ids, signal) => resolveUploads(deps, topic, ids, signal),
  checkBatches: (topic, declared, signal) => checkBatches(deps, topic, declared, signal),
});
