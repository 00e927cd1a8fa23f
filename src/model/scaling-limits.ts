// Bounds of splitting and merging, with their reasons. Loads are in times a segment's target.

/**
 * Windows over which a segment's load is smoothed: the first finds a flood, the second says that it lasts, the last that it is
 * over. Each is the span of a plain average whose samples are as old, in the mean, as those of the smoothed one.
 */
export const LOAD_WINDOWS_MS = [10_000, 60_000, 300_000] as const;
/** What is known of a segment's load before anything is decided by it: shorter, a single large request is a flood. */
export const LOAD_OBSERVED_MS_MIN = 2_000;
/** The same of a segment that the table throttles, or carries what it has throttled a moment ago: no large request is why. */
export const THROTTLED_OBSERVED_MS_MIN = 1_000;
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
/** Messages a commit up to which halving surely takes commits away: of two messages each half misses one time in four. */
export const COMMIT_MESSAGES_FEW = 2;
/**
 * The same where the table throttles: while halves keep all commits, each has half of the messages in them, so that no more than
 * two halvings later there are few.
 */
export const THROTTLED_COMMIT_MESSAGES_FEW = 8;
/** A throttled segment below this part of its target is not split: it isn't this one that is too hot for the table. */
export const THROTTLED_LOAD_MIN = 1 / 16;
/** Of its target, what another segment of the topic carries to be as throttled as one that is: below it, a refusal may be chance. */
export const AS_THROTTLED_LOAD_MIN = 1 / 4;
/** How long after one was throttled any other one of its topic that carries half as much is as urgent: the flood comes to it next. */
export const THROTTLED_HASTE_MS = 60_000;
export const THROTTLED_HASTE_SHARE = 0.5;
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

/** How often a process that leads looks at a topic that is used; a flood is over its target for no longer than two looks. */
export const REBALANCE_MS = 5_000;
/** The same where a function is called for it: no schedule is finer. */
export const REBALANCE_CALL_MS = 60_000;
/** How rarely a topic is looked at in which nothing happens: a nudge, or a broker's heartbeat, brings it back at once. Below LOAD_KNOWN_MS_MAX. */
export const QUIET_LOOK_MS_MAX = 120_000;
/** How often the names of all topics are read. */
export const TOPICS_READ_MS = 60_000;
/** Looks of one leader a second, by itself: ten thousand idle topics cost a table no more than that. */
export const LOOKS_PER_SECOND_MAX = 50;
/** Topics that are looked at side by side, and heads that each of these reads side by side: half of the connections, since others publish. */
export const LOOKS_PARALLEL_MAX = 4;
export const SAMPLES_PARALLEL_MAX = 8;
/** A head that was read so lately says nothing new: what came since is too little to be a rate. */
export const SAMPLE_MS_MIN = 1_000;
/** One look at one topic, with its changes. */
export const LOOK_MS_MAX = 60_000;

/** Segments that a broker names as having too much to do: the worst of them, in its item and in what it tells the leader. */
export const PRESSED_SEGMENTS_MAX = 16;
/** So long a segment that had too much to do is named for it; whole seconds, as it is counted in. */
export const PRESSURE_WINDOW_MS = 10_000;
/** How long a segment's load has to be many times over its target before the leader is told: shorter, one large request is a flood. */
export const SEVERE_WINDOW_MS = 2_000;
/** Refused writes in that time from which on a segment is throttled: a single one may be the table's own affair, such as its growing. */
export const THROTTLED_WRITES_MIN = 2;
/** A queue that is shorter than that is how groups come together. */
export const QUEUED_MS_MIN = 1_000;
/** How often the leader is told of a topic's segments: its answer takes a second or two to show. */
export const NUDGE_MS = 2_000;
/** Segments whose commits are counted: more of them in ten seconds are too many for any of them to have much. */
export const METERED_SEGMENTS_MAX = 4_096;
/** How long the leader may take to say what it knows of a topic's loads: an answer does without them. */
export const LOADS_ASK_MS_MAX = 500;
/** One attempt to have all topics looked at: every open head may be read. */
export const REBALANCE_ATTEMPT_MS_MAX = 20_000;
/** Changes, hot keys and segments held back of one answer about all topics: 200 bytes each, of what a broker, or a function, may answer. */
export const PLANS_LINES_MAX = 10_000;
