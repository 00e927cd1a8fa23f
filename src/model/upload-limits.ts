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
/** Records of all of them: whoever submits them says the partition of each, and a broker holds these. */
export const UPLOAD_MESSAGES_MAX = 1_000_000;
/** Neighbouring batches of an upload make one run up to this; a reader gets a run with one request. */
export const UPLOAD_RUN_BYTES_MAX = 4_194_304;
/** Headers of an upload's batches that are read side by side. */
export const BATCH_HEADERS_PARALLEL_MAX = 8;
/** How long an attempt to submit is left alone by a sweep: whoever made it has ended by then, frozen ones aside. */
export const SUBMITTING_MS_MAX = 600_000;

/** How long a reader believes that nothing more was found in an upload's batches, while not all were looked at. */
export const QUARANTINE_KNOWN_MS_MAX = 5_000;
/** Uploads of batches of which an instance remembers what was found. */
export const QUARANTINES_KNOWN_MAX = 4_096;

/** Of an upload that is put into an answer: what a message's own value may have. */
export const INLINE_BYTES_MAX = 1_048_576;
/** Of all of them in one answer, before base64: a function's answer has to take them as well. */
export const INLINE_ANSWER_BYTES_MAX = 4_194_304;
/** The same in number: each is a read of the store. And how many of these are under way at once. */
export const INLINE_ANSWER_UPLOADS_MAX = 256;
export const INLINE_PARALLEL_MAX = 8;

/** Pages of references hold none of the messages, so they may tell of many. */
export const REFERENCES_MESSAGES_DEFAULT = 100_000;
export const REFERENCES_MESSAGES_MAX = 1_000_000;
export const REFERENCES_BYTES_DEFAULT = 67_108_864;
export const REFERENCES_BYTES_MAX = 268_435_456;
/** Batches of one such page: each may lie in an object of its own, which costs a read of its header, and a signed URL in the answer. */
export const REFERENCES_BATCHES_MAX = 2_000;
/** Headers of batches that an instance remembers (some hundred bytes each). */
export const HEADERS_KNOWN_MAX = 32_768;
/** One read of headers, where batches are so small that what lies between two of them costs less than a second read. */
export const HEADERS_WINDOW_BYTES_MAX = 1_048_576;
/** What comes along between two headers of an upload: a read of so little costs as much as one of a header, and no payload is to pass. */
export const UPLOAD_HEADERS_GAP_BYTES_MAX = 4_096;

/** What a sweep leaves unmarked behind the last upload that expired: brokers' clocks differ, and one that was paused may still make an older one. */
export const SWEPT_BEHIND_MS = 86_400_000;
/** Steps that one upload takes in a sweep: four lead from submitting to its end, unless others take them meanwhile. */
export const SWEEP_STEPS_MAX = 8;
/** Bytes a second that are read for looking at uploaded batches: a tenth of what the store gives, and a tenth of a processor. */
export const CHECK_BYTES_PER_SECOND = 16_777_216;
/** Uploads that a process is to look at; what is beyond is left to the sweep. */
export const CHECKS_QUEUED_MAX = 256;
/** How long it looks at them before others have their turn in the background; the next upload begins anew. */
export const CHECKS_MS_MAX = 600_000;
/** What one sweep looks at: a minute's worth at that pace. */
export const SWEEP_CHECK_BYTES_MAX = 1_073_741_824;
/** What an upload counts there at least: small ones cost requests. */
export const SWEEP_CHECK_BYTES_MIN = 65_536;
/** One sweep of a process' own; the next one goes on. */
export const SWEEP_MS_MAX = 600_000;
/** How often a process sweeps by itself: at most once in a second, and once in a day at least. */
export const SWEEP_EVERY_MS = 3_600_000;
export const SWEEP_EVERY_MS_MIN = 1_000;
export const SWEEP_EVERY_MS_MAX = 86_400_000;
