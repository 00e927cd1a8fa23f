// Bounds of what is passed by reference, with their reasons.

/** One PUT of the S3 API takes no more. */
export const UPLOAD_BYTES_MAX = 5_368_709_120;
/** How long an upload may take until it is submitted; its URL is good for as long. A slow line sends 5 GiB in less than a day. */
export const UPLOAD_MS = 86_400_000;
export const UPLOAD_TYPE_BYTES_MAX = 255;
/** How long a URL that is handed out to readers is good. */
export const REFERENCE_MS = 900_000;
/** Ids tried for a new upload: nine random characters meet once in a lifetime, not again. */
export const UPLOAD_IDS_MAX = 3;
/** Uploads of one request that are looked up or claimed side by side. */
export const UPLOADS_PARALLEL_MAX = 16;

/** An upload of record batches: an entry names all of its stretches, and a head has to stay small. */
export const UPLOAD_BATCHES_BYTES_MAX = 67_108_864;
export const UPLOAD_BATCHES_MAX = 1_024;
/** Neighbouring batches of an upload make one run up to this; a reader gets a run with one request. */
export const UPLOAD_RUN_BYTES_MAX = 4_194_304;
/** Headers of an upload's batches that are read side by side. */
export const BATCH_HEADERS_PARALLEL_MAX = 8;
/** How long an attempt to submit is left alone by a sweep: whoever made it has ended by then, frozen ones aside. */
export const SUBMITTING_MS_MAX = 600_000;

/** Of an upload that is put into an answer: what a message's own value may have. */
export const INLINE_BYTES_MAX = 1_048_576;
/** Of all of them in one answer, before base64: a function's answer has to take them as well. */
export const INLINE_ANSWER_BYTES_MAX = 4_194_304;

/** Pages of references hold none of the messages, so they may tell of many. */
export const REFERENCES_MESSAGES_DEFAULT = 100_000;
export const REFERENCES_MESSAGES_MAX = 1_000_000;
export const REFERENCES_BYTES_DEFAULT = 67_108_864;
export const REFERENCES_BYTES_MAX = 268_435_456;
