import type { SegmentId, TopicId } from './ids.ts';
import { SEGMENTS_OPEN_MAX } from './limits.ts';

/**
 * A flood that is known beforehand: it begins whenever the pattern says so (five fields, in the named IANA time zone, UTC
 * without one), lasts that long, and finds so many segments.
 */
export type ExpectedFlood = {
  readonly cron: string;
  readonly durationSeconds: number;
  readonly minSegments: number;
  readonly timeZone?: string;
};

/** What one segment is to carry a second. */
export type ScalingTargets = {
  readonly targetBytesPerSecond: number;
  readonly targetMessagesPerSecond: number;
  readonly targetCommitsPerSecond: number;
};

/** How a topic's segments split and merge. */
export type ScalingSettings = ScalingTargets & {
  readonly minSegments: number;
  readonly maxSegments: number;
  readonly schedule: readonly ExpectedFlood[];
};

/**
 * For topics whose owner says nothing. 100 commits of a head of 4 KB are 400 of the 1,000 write units that a partition of
 * DynamoDB has in a second, with room for spills; messages and bytes are what one small broker takes beside other segments.
 */
export const SCALING_DEFAULT: ScalingSettings = {
  minSegments: 1,
  maxSegments: SEGMENTS_OPEN_MAX,
  targetBytesPerSecond: 8_388_608,
  targetMessagesPerSecond: 10_000,
  targetCommitsPerSecond: 100,
  schedule: [],
};

/** What a load is measured in, a second. */
export type Rates = { readonly messages: number; readonly bytes: number; readonly commits: number };
export type Measure = keyof Rates;

/**
 * Why a segment is split. `load` is in times its target, of the measure that is highest.
 * - `over-target`: over it in the shortest window and in the next one.
 * - `severe`: many times over it: no cool-down.
 * - `throttled`: brokers are told to wait by the table.
 * - `minimum`: the topic has fewer segments than it is to have, by its settings or by an expected flood.
 */
export type SplitReason =
  | { readonly why: 'over-target' | 'severe' | 'throttled'; readonly load: number; readonly measure: Measure }
  | { readonly why: 'minimum'; readonly load: number; readonly minSegments: number };

/** Both together, in the window in which they carry most; and what that may be at most. `average`: of as few segments as the load needs. */
export type MergeReason = { readonly why: 'quiet'; readonly load: number; readonly loadMax: number; readonly average: number };

/** `at`: first partition of the upper part. */
export type PlannedSplit = { readonly kind: 'split'; readonly segment: SegmentId; readonly at: number; readonly reason: SplitReason };
/** Neighbours, the lower one first. */
export type PlannedMerge = {
  readonly kind: 'merge';
  readonly segments: readonly [SegmentId, SegmentId];
  readonly reason: MergeReason;
};
export type PlannedChange = PlannedSplit | PlannedMerge;

/** Partitions that carry more than half of a segment that is over its target; `lo` = `hi` once it is known which one it is. */
export type HotKey = {
  readonly segment: SegmentId;
  readonly lo: number;
  readonly hi: number;
  /** Of the segment's messages, above 0.5. */
  readonly share: number;
  /** The segment's, in times its target. */
  readonly load: number;
};

/**
 * Why a segment that is over its target is not split now.
 * - `hot-key`: one partition carries it, and a cut beside it would relieve nobody.
 * - `one-partition`: there is nothing to cut.
 * - `cool-down`: it came a moment ago. `limit`: the topic has all the segments that it may have.
 * - `in-vain`: it was split for its commits, which have not become fewer.
 * - `not-known`: its head was not read for long, or only once. `busy`: it is being changed.
 */
export type HeldBack = {
  readonly segment: SegmentId;
  readonly why: 'hot-key' | 'one-partition' | 'cool-down' | 'limit' | 'in-vain' | 'not-known' | 'busy';
  readonly load: number;
};

/** A change as it was planned. `children`: made; `refused`: the code of the error, of one that could not be; neither: a plan only. */
export type PlannedOutcome = PlannedChange & { readonly children?: readonly SegmentId[]; readonly refused?: string };

/** What a look at a topic has found, and what became of it. */
export type TopicPlan = {
  readonly topic: TopicId;
  readonly name: string;
  /** Open ones, before the changes. */
  readonly segments: number;
  readonly changes: readonly PlannedOutcome[];
  readonly hotKeys: readonly HotKey[];
  readonly held: readonly HeldBack[];
};

/** An open segment's load in the shortest window; `load`: in times its target. */
export type SegmentRates = Rates & { readonly segment: SegmentId; readonly load: number };

/** What is known of a topic's loads: those of segments that were read twice, and lately. */
export type TopicLoads = { readonly segments: readonly SegmentRates[]; readonly hotKeys: readonly HotKey[] };
