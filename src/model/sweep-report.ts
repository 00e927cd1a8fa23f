import type { SegmentId, TopicId } from './ids.ts';

/** What a sweep has done, or would do, about uploads. */
export type SweptUploads = {
  /** Those that it has looked at. */
  readonly examined: number;
  /** Those that went, since nobody had submitted them in time. */
  readonly expired: number;
  /** Those in which somebody was stopped while submitting: stored after all, or to be submitted again. */
  readonly submitted: number;
  readonly staged: number;
  /** Objects of no upload. */
  readonly orphans: number;
  /** Uploads whose batches were looked at, and messages in them that readers pass over from now on. */
  readonly checked: number;
  readonly quarantined: number;
  /** Of the objects that went. */
  readonly bytes: number;
  /** Uploads and topics that something went wrong with; the next sweep tries again. */
  readonly failed: number;
};

/** The same about deleted topics. */
export type SweptDeletions = {
  /** Deletions that were stopped before their name was free. */
  readonly carriedOn: number;
  /** Topics whose objects, files and items are gone. */
  readonly cleaned: number;
  /** Objects, files and items of topics that were clean: what was paused has brought them back. */
  readonly strays: number;
  /** Topics that something went wrong with; the next sweep tries again. */
  readonly failed: number;
};

/** Messages that go, from the segment's first one that is kept on: those below `start`. */
export type RetentionCut = {
  readonly topic: TopicId;
  readonly segment: SegmentId;
  readonly start: number;
  readonly messages: number;
  readonly bytes: number;
  readonly reason: 'max-age' | 'max-bytes';
};

/** The same about messages that were kept for as long as their topics say. */
export type SweptRetention = {
  /** Segments of topics that don't keep everything. */
  readonly examined: number;
  readonly messages: number;
  readonly bytes: number;
  /** Topics and segments that something went wrong with; the next sweep tries again. */
  readonly failed: number;
  /** By segment and reason, at most RETENTION_CUTS_MAX of them; the counts are of all. */
  readonly cuts: readonly RetentionCut[];
};

/** The same about what nobody refers to any more, of topics that are there. */
export type SweptGarbage = {
  /** Batch objects that went without ever having been committed: a commit was lost, refused or never sent. */
  readonly neverCommitted: number;
  /** Batch objects whose index pages went in this sweep. */
  readonly archived: number;
  /** Archived files that no record stands for, or whose messages are gone. */
  readonly files: number;
  /** Uploads whose messages are archived, where they were batches, or gone. */
  readonly uploads: number;
  /** Index pages of what is archived or gone. */
  readonly pages: number;
  /** Producers' lines of sealed segments, and requests whose Idempotency-Key has expired. */
  readonly lines: number;
  readonly requests: number;
  /** Of the objects, files and uploads that went. */
  readonly bytes: number;
  /** Topics and segments that something went wrong with; the next sweep tries again. */
  readonly failed: number;
};

/** Whether all was looked at; if not, its time was over. */
export type Complete = { readonly complete: boolean };

export type SweepReport = Complete & {
  readonly dryRun: boolean;
  readonly uploads: SweptUploads;
  readonly deletions: SweptDeletions;
  readonly retention: SweptRetention;
  readonly garbage: SweptGarbage;
};

/** What is left to the next sweep, since something went wrong with it. */
export const failedIn = ({ uploads, deletions, retention, garbage }: SweepReport): number =>
  uploads.failed + deletions.failed + retention.failed + garbage.failed;

/** Changes nothing where it is a dry run. Ends with its signal without an error. */
export type Sweep = (options: { readonly dryRun: boolean }, signal: AbortSignal) => Promise<SweepReport>;
