// Bounds of what hundreds of instances do about one segment, all of which find the same at about the same time, with their reasons.

/**
 * Attempts over which the waits for a throttled segment grow, to 3,200 ms. What it may have, it has by the second, so whoever is alone
 * with it waits less than that; where hundreds wait, each attempt costs all of them more than it helps.
 */
export const THROTTLED_BACKOFF_MAX = 7;
/** Entries from which everybody spills who commits: a full head keeps all of them waiting. */
export const HEAD_ENTRIES_CROWDED = 56;
/** How long a publisher leaves a pending segment to whoever makes it, at first; opening takes that one two round trips. */
export const PENDING_WAIT_MS = 100;
/** So often it looks, each time after twice as long, before it opens the segment itself: hundreds may wait for one, and must not all do it. */
export const PENDING_LOOKS_MAX = 2;
/** How long a change of segments was pending before whoever only passes by carries it on. */
export const CARRY_ON_AFTER_MS = 2_000;
/** Over so long a time an instance that is throttled waits before it leads to look at a topic: of a crowd, a few have looked by then. */
export const LOOK_CROWD_MS = 1_000;
/** How long it waits for the lease. */
export const LOOK_LEASE_MS_MAX = 1_000;
