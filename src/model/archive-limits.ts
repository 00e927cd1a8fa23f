// Bounds of archived files, with their reasons.

/** Keys, values, headers of a row group, and 32 bytes a message: what one read by offset unpacks, and what the writer holds. */
export const ROW_GROUP_BYTES_MAX = 4_194_304;
/** The same in messages: rows cost a reader more than their bytes where they are small. */
export const ROW_GROUP_MESSAGES_MAX = 32_768;
/** What a message counts in a row group beside its key, value and headers: its columns of fixed width. */
export const ROW_BYTES = 32;
/** The end of a file that is read for its footer, unless its length is known: a hundred row groups are in it. */
export const FILE_TAIL_BYTES = 65_536;
/** Records of files in one answer of the table: some hundred bytes each, some thousand with typed columns. */
export const FILE_RECORDS_READ_MAX = 100;
/** A file is written once so much of its segment was committed, by the bytes of its batches. */
export const FILE_BYTES_MAX = 67_108_864;
/** The same in messages: small ones cost whoever writes and reads a file more than their bytes. */
export const FILE_MESSAGES_MAX = 1_048_576;
/** Or once its first message was committed so long ago, however little there is. */
export const FILE_AGE_MS = 3_600_000;
/** The text of a topic's schema: it lies in the topic's item, which everybody reads who serves the topic. */
export const SCHEMA_BYTES_MAX = 16_384;
/** Columns that a schema adds to files: each is a chunk more in every row group, and some of them are null. */
export const TYPED_COLUMNS_MAX = 64;
/** As far as times go at all. */
export const RETENTION_SECONDS_MAX = 253_402_300_799;
/** How long index pages and batch objects outlive their file, and what nobody refers to outlives its minute: for whoever reads or asks after them now. */
export const GARBAGE_AGE_MS = 3_600_000;
/** Attempts to have a file in the store as it was written. */
export const FILE_PUTS_MAX = 3;
/** Files of one segment in a row: then others have their turn. */
export const FILES_PER_VISIT_MAX = 8;
/** Segments that are looked at side by side; their files are written one after the other. */
export const SEGMENTS_ARCHIVED_PARALLEL_MAX = 8;
/** How long a file is left to whoever has put its record: the largest takes seconds. Two who write it waste one's work. */
export const PLANNED_BY_OTHERS_MS = 300_000;
/** Entries that one record drops, as many as a thousand pages or so: whoever is stopped in counting them begins anew. */
export const DROPPED_ENTRIES_MAX = 16_384;
/** Files and entries of a segment that are known while those of several are compared for their age. */
export const RETENTION_UNITS_AHEAD_MAX = 256;
/** Those that one sweep looks at of a topic; it lets go what it has found to be too old or too much, and the next one goes on. */
export const RETENTION_UNITS_MAX = 262_144;
/** Cuts that a sweep's report lists. */
export const RETENTION_CUTS_MAX = 200;
/** Batches that an archiver reads at a time, as stored; and what it keeps of them: it comes to each once, but to a large batch in parts. */
export const ARCHIVE_PIECE_BYTES = 4_194_304;
export const ARCHIVE_CACHE_BYTES_MAX = 16_777_216;
/** Segments that one list of files looks at: two reads each. */
export const FILES_SEGMENTS_LOOK_MAX = 200;
export const FILES_LIST_MAX = 1_000;
export const FILES_LIST_DEFAULT = 100;
