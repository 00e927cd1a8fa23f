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
/** What may be chosen of these: less than a request's batches makes no sense, more than the default no bounded memory. */
export const FILE_BYTES_MIN = 65_536;
/** A week: the index of so much is walked through to find where a file ends. */
export const FILE_AGE_MS_MAX = 604_800_000;
export const GARBAGE_AGE_MS_MAX = 604_800_000;
/** How often a process looks at all segments, which costs reads of each; at most once in a second, and once in a day at least. */
export const ARCHIVE_EVERY_MS = 300_000;
export const ARCHIVE_EVERY_MS_MIN = 1_000;
export const ARCHIVE_EVERY_MS_MAX = 86_400_000;
/** One attempt to put or read a part of a file, which is larger than what else goes to the store. */
export const FILE_ATTEMPT_MS_MAX = 60_000;
/** What is left of a run for the file that it is at; beyond, the next run begins with it. */
export const FILE_MS_MAX = 30_000;
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
/** How long a reader believes how far a segment was archived and cut off; where that leads to nothing, it asks at once. */
export const ARCHIVE_KNOWN_MS_MAX = 3_000;
/** Segments of which an instance remembers that (some hundred bytes each). */
export const ARCHIVES_KNOWN_MAX = 4_096;
/** Records of files that an instance remembers (some hundred bytes each). */
export const FILE_RECORDS_KNOWN_MAX = 1_024;
/** Row groups whose places in their files an instance remembers (a KB each): those of some hundred files. */
export const FILE_GROUPS_KNOWN_MAX = 4_096;
/** Unpacked row groups that an instance keeps for readers whose pages end within them. */
export const FILE_ROWS_CACHE_BYTES_MAX = 33_554_432;
/** What came of files last: a small one comes whole, with its footer. */
export const FILE_RANGES_CACHE_BYTES_MAX = 4_194_304;
/** Files of one page of messages: where they are small, one page has several. */
export const READ_FILES_MAX = 64;
/** Messages of one batch that is made of a file's rows, by their bytes. */
export const FILE_BATCH_BYTES_MAX = 262_144;
/**
 * Of a process' archiver, whose files are outside of it: one that grows ends itself, not the broker. It has some 40 MB alive; but V8 lets a
 * heap with less than 2,048 grow by half only before it collects all of it, four times as often (measured: half as much work again).
 */
export const ARCHIVE_HEAP_MB_MAX = 2_048;
/** What a row group is made of outlives a young generation of any size: a larger one costs 100 MB and saves no work (measured). */
export const ARCHIVE_YOUNG_HEAP_MB_MAX = 24;
/** How long after it has ended by itself it begins again: ever later, and at last once in a minute. */
export const ARCHIVE_RESTART_MS_MIN = 1_000;
export const ARCHIVE_RESTART_MS_MAX = 60_000;
/** How long it may take to end once it is told to. */
export const ARCHIVE_STOP_MS_MAX = 2_000;
