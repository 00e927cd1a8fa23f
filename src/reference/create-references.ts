import { uploadObjectKey } from '../format/object-key.ts';
import { INLINE_PARALLEL_MAX, REFERENCE_MS } from '../model/upload-limits.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Presigner } from '../ports/presigner.ts';
import { inParallel } from '../state/in-parallel.ts';
import { readContent } from './read-content.ts';
import type { References } from './references.ts';

/** Reads of the store are retried by whoever made it. */
export const createReferences = ({ store, presigner }: { readonly store: ObjectStore; readonly presigner: Presigner }): References => ({
  url: (topic, upload) => presigner.get(uploadObjectKey(topic, upload), REFERENCE_MS).url,
  contents: (topic, references, signal) =>
    inParallel(references, INLINE_PARALLEL_MAX, (reference) => readContent(store, topic, reference, signal)),
});
