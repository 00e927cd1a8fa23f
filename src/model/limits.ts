// Every bound of the product, with its reason. Units are last in the name.

/** One message's value. Above it, pass by reference is cheaper for everybody. */
export const MESSAGE_BYTES_MAX = 1_048_576;
/** One request, before and after decompression; what a broker holds in memory for one caller. */
export const REQUEST_BYTES_MAX = 16_777_216;
/** Messages of one request: bounds the answer's size and one commit's work. */
export const REQUEST_MESSAGES_MAX = 10_000;
export const KEY_BYTES_MAX = 4_096;
export const HEADERS_MAX = 64;
/** Names and values of one message's headers together. */
export const HEADERS_BYTES_MAX = 16_384;
/** Deeper JSON has no use here and costs a parser its stack. */
export const JSON_DEPTH_MAX = 64;
/** End of the year 9999; later dates break file names and date types of most readers. */
export const TIMESTAMP_MS_MAX = 253_402_300_799_999;
export const PARTITIONS = 65_536;
/** Segments a topic is created with; more come by splitting. */
export const SEGMENTS_AT_CREATION_MAX = 64;
/** Open segments of a topic: keeps the topic item under 100 KB. */
export const SEGMENTS_OPEN_MAX = 1_024;

/** Entries at which a head is spilled: the head stays under 4 KB, what one partition of the table can rewrite often. */
export const HEAD_ENTRIES_SPILL = 16;
/** Entries at which a commit is refused: bounds a head whose spills lag, and a walk for the fate of a commit. */
export const HEAD_ENTRIES_MAX = 64;
/** Producer lines that a head holds. */
export const HEAD_LINES_MAX = 8;
/** Batches of a line that are remembered with their offsets, for answers to repeats. */
export const LINE_BATCHES_MAX = 5;
/** Buckets of the load histogram within a segment's range. */
export const LOAD_BUCKETS = 16;

/** One table expression; DynamoDB's own limits, which emulators don't count. */
export const EXPRESSION_BYTES_MAX = 4_096;
export const EXPRESSION_OPERATORS_MAX = 300;
/** One item of the table; DynamoDB's own limit. */
export const ITEM_BYTES_MAX = 409_600;
/** One answer of the table: a page of 1 MB, as JSON with bytes in base64. */
export const TABLE_ANSWER_BYTES_MAX = 8_388_608;
/** One list or error answer of the store. */
export const STORE_ANSWER_BYTES_MAX = 4_194_304;
/** Connections to the table, and to the store; more requests than that would only queue there. */
export const CONNECTIONS_MAX = 64;
/** An idle connection is closed before the other side may do it, which would look like a lost answer. */
export const CONNECTION_IDLE_MS = 10_000;

/** Members (requests) of one group and segment: bounds the member mask (32 bytes) in the head. */
export const GROUP_MEMBERS_MAX = 256;
/** Bytes of one batch object; larger groups are cut. Large enough for storage's best throughput. */
export const GROUP_BYTES_MAX = 4_194_304;
/** Groups of one topic in flight on one broker. */
export const GROUPS_IN_FLIGHT_MAX = 4;
/** How long a gathering group waits behind slow ones before it starts all the same. */
export const GROUP_LINGER_MS = 20;
/** Bytes of publishes that a broker holds un-acked; above it, 503. */
export const QUEUE_BYTES_MAX = 67_108_864;

/** A caller without a deadline gets this one. */
export const TIMEOUT_MS_DEFAULT = 30_000;
export const TIMEOUT_MS_MAX = 60_000;
/** One attempt at the table or the store, within the caller's own deadline. */
export const ATTEMPT_MS_MAX = 5_000;
export const BACKOFF_MS_MIN = 50;
export const BACKOFF_MS_MAX = 6_000;
/** How long a long-poll may wait. */
export const WAIT_MS_MAX = 25_000;
/** Stopping: how long publishes in flight may take. */
export const STOP_MS_MAX = 10_000;
/** Each step of a detached clean-up. */
export const CLEANUP_STEP_MS_MAX = 60_000;

export const READ_MESSAGES_DEFAULT = 1_000;
export const READ_MESSAGES_MAX = 10_000;
export const READ_BYTES_DEFAULT = 4_194_304;
export const READ_BYTES_MAX = 16_777_216;
/** Kept for a repeated Idempotency-Key. */
export const IDEMPOTENCY_MS = 86_400_000;
/** Heads an instance remembers (a few KB each). */
export const HEADS_KNOWN_MAX = 4_096;
/** How long a resolved topic name is believed without asking. */
export const TOPIC_KNOWN_MS_MAX = 5_000;
export const TOPICS_LIST_DEFAULT = 100;
export const TOPICS_LIST_MAX = 1_000;
export const IDEMPOTENCY_KEY_BYTES_MAX = 255;
export const PRODUCER_ID_LENGTH_MAX = 64;
/** Commit ids that one group may use up: each was overtaken by a spill or a kill. */
export const COMMIT_IDS_MAX = 16;
/** Sends under one commit id; the deadline usually ends it earlier. */
export const COMMIT_ATTEMPTS_MAX = 64;
/** Pages that are searched, newest first, for the offsets of a repeated producer batch. */
export const DUPLICATE_PAGES_MAX = 8;
/** How often a publish follows successors, or uploads anew behind a floor. */
export const MOVES_MAX = 16;
/** Uploads of one object, each under a key of its own. */
export const PUT_ATTEMPTS_MAX = 8;
/** A commit that has no deadline of its own. */
export const COMMIT_MS_MAX = 30_000;
/** One spill, in the background. */
export const SPILL_MS_MAX = 15_000;
/** Gathered bytes that start a group beside others in flight: large enough for storage to be efficient. */
export const GROUP_BYTES_EAGER = 1_048_576;
/** Immutable ranges of objects that an instance keeps for its readers. */
export const READ_CACHE_BYTES_MAX = 67_108_864;
/** One GET of neighbouring runs: larger ones gain no throughput. A single longer run is still one GET. */
export const READ_RANGE_BYTES_MAX = 4_194_304;
/** Unwanted bytes between two runs that cost less than a second GET. */
export const READ_GAP_BYTES_MAX = 65_536;
/** GETs of one read that are in flight at once. */
export const READ_RANGES_PARALLEL_MAX = 4;
/** Segments of a topic that one read looks at side by side. */
export const READ_SEGMENTS_PARALLEL_MAX = 8;
/** Turns that the segments of a topic get within one read, so that small shares don't become many. */
export const READ_ROUNDS_MAX = 4;
/** How often a read begins again from a fresh head: a spill or a clean-up may have overtaken it. */
export const READ_ATTEMPTS_MAX = 3;
/** Index pages of one query (a few KB each). */
export const INDEX_PAGES_READ_MAX = 16;
/** Halvings of a segment of 2^53 offsets, and a few more. */
export const TIMESTAMP_STEPS_MAX = 64;
/** Pause between two looks at the head that somebody waits on: grows from the first to the second. */
export const TAIL_POLL_MS_MIN = 50;
export const TAIL_POLL_MS_MAX = 500;
/** Pause for each segment that is waited on: bounds an instance's polls at 500 a second. */
export const TAIL_POLL_SPACING_MS = 2;
/** Segment items of one query (some 100 bytes each). */
export const SEGMENTS_READ_MAX = 1_000;
