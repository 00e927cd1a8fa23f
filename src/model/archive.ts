import type { UtcDate } from './archived-file.ts';
import type { CommitId, SegmentId, TopicId } from './ids.ts';

/** How far a segment's messages have left the index: all below `through` are in files or dropped, and those from `start` on are kept. */
export type Archive = {
  readonly topic: TopicId;
  readonly segment: SegmentId;
  /** Never back, and never above the head's spill count. */
  readonly through: number;
  /** Highest commit id of all entries that begin below `through`; `''` if there are none. */
  readonly guard: CommitId | '';
  /** First offset that can still be read; never back, and never above `through`. */
  readonly start: number;
  /** Highest timestamp of all messages below `through`; −1 if there are none. */
  readonly highestTimestampMs: number;
  /** What the messages below `through` took when they were committed, and of these what is gone, by whole records. */
  readonly bytes: number;
  readonly goneBytes: number;
};

/** A column beside those that every file has. `column` is its name in files, `property` that in the JSON value. */
export type TypedColumn = {
  readonly property: string;
  readonly column: string;
  readonly type: ColumnType;
  /** A value without the property does not fit. */
  readonly required: boolean;
  /** Of the property, `null` fits as well. */
  readonly nullable: boolean;
};
export const COLUMN_TYPES = ['string', 'integer', 'number', 'boolean'] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];

/** What is in a file that was written. `misfits`: messages that the topic's schema does not fit, which have no typed columns. */
export type WrittenFile = {
  /** Messages; less than the record's offsets where some were quarantined, and 0 where there is no file for that. */
  readonly rows: number;
  readonly misfits: number;
  /** Of the object, and of the footer at its end with its frame, as whoever wrote it saw them. */
  readonly bytes: number;
  readonly footerBytes: number;
};

/**
 * What becomes of the offsets `first` to `last`, both inside: put once, and nobody puts another one that overlaps it. `planned`: somebody
 * is writing its file, or was stopped. `written`: the file is there, and was read back. `dropped`: there is no file and will be none.
 */
export type FileRecord = {
  readonly first: number;
  readonly last: number;
  readonly state: 'planned' | 'written' | 'dropped';
  /** Of committing, for all of its messages, by the rule of FORMAT.md. */
  readonly date: UtcDate;
  /** These three as in {@link Archive}, after it. */
  readonly guard: CommitId | '';
  readonly highestTimestampMs: number;
  readonly bytes: number;
  /** Of the topic's schema when the record was put. */
  readonly columns: readonly TypedColumn[];
  /** Wall clock of whoever wrote the record last. */
  readonly atMs: number;
  /** Only of a written one. */
  readonly file?: WrittenFile;
};
