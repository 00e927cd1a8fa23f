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
/** How long index pages and batch objects outlive their file, and what nobody refers to outlives its minute: for whoever reads or asks after them now. */
export const GARBAGE_AGE_MS = 3_600_000;
