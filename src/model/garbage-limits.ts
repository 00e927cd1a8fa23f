// Bounds of garbage collection, with their reasons.

/** Names of objects that are looked for in the index at a time, and as many that have just left it: 15 MB of memory for each topic at work. */
export const GARBAGE_OBJECTS_MAX = 50_000;
/** Segments of a topic that are looked at side by side. */
export const GARBAGE_SEGMENTS_PARALLEL_MAX = 8;
/** How long a sealed segment's producers may still ask whether it has their batches: as long as whoever repeats a request under its key. */
export const LINE_KEPT_MS = 86_400_000;
/** Requests of one of a topic's sixteen partitions that a sweep looks at: most of them are in time, and none says so beforehand. */
export const REQUESTS_LOOKED_AT_MAX = 4_096;
/** How long sweeps look for items that somebody who was paused has brought back to a deleted topic: two queries for each segment that it had. */
export const DELETED_ITEMS_MS = 604_800_000;
