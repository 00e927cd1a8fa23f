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
  /** Topics whose objects, index pages and uploads are gone. */
  readonly cleaned: number;
  /** Objects and uploads of topics that were clean: what was paused has brought them back. */
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

/** Whether all was looked at; if not, its time was over. */
export type Complete = { readonly complete: boolean };

export type SweepReport = Complete & { readonly dryRun: boolean; readonly uploads: SweptUploads; readonly deletions: SweptDeletions };

/** Changes nothing where it is a dry run. Ends with its signal without an error. */
export type Sweep = (options: { readonly dryRun: boolean }, signal: AbortSignal) => Promise<SweepReport>;
