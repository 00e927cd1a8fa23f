// Bounds of splitting and merging, with their reasons. Loads are in times a segment's target.

/**
 * Windows over which a segment's load is smoothed: the first finds a flood, the second says that it lasts, the last that it is
 * over. Each is the span of a plain average whose samples are as old, in the mean, as those of the smoothed one.
 */
export const LOAD_WINDOWS_MS = [10_000, 60_000, 300_000] as const;
/** What is known of a segment's load before anything is decided by it: shorter, a single large request is a flood. */
export const LOAD_OBSERVED_MS_MIN = 2_000;
/** How long a sample is believed: a segment whose head could not be read since is left as it is. */
export const LOAD_KNOWN_MS_MAX = 150_000;
/** Times its target from which a segment is split whenever it was split last. */
export const SEVERE_LOAD = 4;
/** How long a segment is left alone before it is split again: until what is known of it is its own. */
export const SPLIT_COOL_DOWN_MS = 10_000;
/** How long one that came by a split, or in any other way but by a merge, stays before it is merged: a flood may come back. */
export const MERGE_COOL_DOWN_MS = 600_000;
/** The same for one that came by a merge: what fell asleep together may go on merging. */
export const MERGE_AGAIN_COOL_DOWN_MS = 60_000;
/** Of the target, what two neighbours may carry together to be merged: it must grow by two thirds to be split again. */
export const MERGED_LOAD_MAX = 0.6;
/** One segment in so many is merged at a time: what goes wrong with merging shows before all of it is done. */
export const MERGED_SEGMENTS_SHARE = 3;
/** Of the commits of the segment that it was split from, what a segment may have and still be split for them. */
export const COMMITS_KEPT_MAX = 0.75;
/** A throttled segment below this part of its target is not split: it isn't this one that is too hot for the table. */
export const THROTTLED_LOAD_MIN = 1 / 16;
/** How long a topic's segments are merged with care after one was throttled. */
export const THROTTLED_KNOWN_MS = 3_600_000;
/** Of a segment's load, what a cut beside a hot partition must take away from it. */
export const HOT_RELIEF_MIN = 1 / 8;
/** The same in times the target: so much is worth a segment of its own, however hot the neighbour is. */
export const HOT_NEIGHBOUR_LOAD_MIN = 0.5;
/** Expected floods of one topic: part of the topic item, and looked at with each plan. */
export const FLOODS_MAX = 16;
/** A longer one is no flood: `minSegments` says it. */
export const FLOOD_SECONDS_MAX = 604_800;
/** A cron pattern, and the name of a time zone: parts of the topic item. */
export const CRON_BYTES_MAX = 128;
/** How long before an expected flood its segments are to be there. */
export const FLOOD_MARGIN_MS = 60_000;
/** Splitting beforehand begins no earlier than that. */
export const FLOOD_AHEAD_MS_MAX = 1_800_000;
/** So long before an expected flood nothing merges below what it asks for. */
export const FLOOD_KEEP_MS = 3_600_000;
/** Splits and merges that a topic remembers: an item of 20 KB, which is written whole with each of them. */
export const SCALE_EVENTS_MAX = 100;
