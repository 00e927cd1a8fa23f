// Bounds of archived files, with their reasons.

/** Keys, values, headers of a row group, and 32 bytes a message: what one read by offset unpacks, and what the writer holds. */
export const ROW_GROUP_BYTES_MAX = 4_194_304;
/** The same in messages: rows cost a reader more than their bytes where they are small. */
export const ROW_GROUP_MESSAGES_MAX = 32_768;
/** What a message counts in a row group beside its key, value and headers: its columns of fixed width. */
export const ROW_BYTES = 32;
/** The end of a file that is read for its footer, unless its length is known: a hundred row groups are in it. */
export const FILE_TAIL_BYTES = 65_536;
