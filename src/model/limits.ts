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
/**
 * What the records of one stored batch unpack to: those of a whole request, whose keys may stand there twice (a key found
 * by pointer is also in the value), and some bytes of framing for each message.
 */
export const BATCH_RECORDS_BYTES_MAX = 2 * REQUEST_BYTES_MAX + 64 * REQUEST_MESSAGES_MAX;
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
/** Of the brokers that commit to a head longer than that, one in so many commits spills: the one before it may have been stopped, or be late. */
export const HEAD_ENTRIES_SPILL_AGAIN = 8;
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
/** The same behind a single one: about half of what a small group takes. */
export const GROUP_LINGER_MS_MIN = 2;
/** How long a group's commits keep what comes next back: its neighbours must not wait longer, nor what is for a throttled segment. */
export const GROUP_SLOT_MS_MAX = 1_000;
/** Bytes of publishes that a broker holds un-acked; above it, 503. */
export const QUEUE_BYTES_MAX = 67_108_864;
/** A caller without a deadline gets this one. */
export const TIMEOUT_MS_DEFAULT = 30_000;
export const TIMEOUT_MS_MAX = 60_000;
/** One attempt at the table or the store, within the caller's own deadline. */
export const ATTEMPT_MS_MAX = 5_000;
/** Attempts of one read of the table or the store: about ten seconds of waits, unless the caller's deadline comes first. */
export const STORED_READ_ATTEMPTS_MAX = 10;
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
/** How long the answer of a commit is waited for once its caller's time is over: one that comes spares him an unknown outcome. */
export const COMMIT_GRACE_MS = 50;
/** Pages that are searched, newest first, for the offsets of a repeated producer batch. */
export const DUPLICATE_PAGES_MAX = 8;
/** Of a commit, refusals for the head's rate from which on the head is read before each send: a single one tells of no crowd. */
export const THROTTLED_LOOK_FROM = 2;
/** How often a publish follows successors, or uploads anew behind a floor. */
export const MOVES_MAX = 16;
/** Looks at an upload before it is left: each finds what somebody else has written there meanwhile. */
export const CLAIM_LOOKS_MAX = 16;
/** Uploads of one object, each under a key of its own. */
export const PUT_ATTEMPTS_MAX = 8;
/** One group: its PUT, and its commits with all their attempts. It ends earlier with the last caller that waits for it. */
export const COMMIT_MS_MAX = 30_000;
/** One spill, in the background. */
export const SPILL_MS_MAX = 15_000;
/** Gathered bytes that start a group beside others in flight: large enough for storage to be efficient. */
export const GROUP_BYTES_EAGER = 1_048_576;
/** For each as many open segments, that much and that long again: a group has a commit for each segment. */
export const GROUP_SEGMENTS_EAGER = 4;
/** But no more than so often: a caller waits for its group. */
export const GROUP_PATIENCE_MAX = 8;
/** Immutable ranges of objects that an instance keeps for its readers. */
export const READ_CACHE_BYTES_MAX = 33_554_432;
/** Decoded batches that an instance keeps for readers whose pages end within them. */
export const READ_DECODED_BYTES_MAX = 16_777_216;
/** One GET of neighbouring runs: larger ones gain no throughput. A single longer run is still one GET. */
export const READ_RANGE_BYTES_MAX = 4_194_304;
/** Unwanted bytes between two runs that cost less than a second GET. */
export const READ_GAP_BYTES_MAX = 65_536;
/** GETs of one read that are in flight at once. */
export const READ_RANGES_PARALLEL_MAX = 4;
/** The same for a reader of a whole topic: what lies between belongs to other segments, and is wanted soon. */
export const READ_TOPIC_GAP_BYTES_MAX = 1_048_576;
/** Segments of a topic that one read looks at side by side. */
export const READ_SEGMENTS_PARALLEL_MAX = 8;
/** Segments of a topic that share one page: with more of them, one GET of an object serves more. */
export const READ_PARTS_MAX = 64;
/** Turns that the segments of a topic get within one read, where the first ones leave much of the room. */
export const READ_ROUNDS_MAX = 4;
/** How often a read begins again from a fresh head: a spill or a clean-up may have overtaken it. */
export const READ_ATTEMPTS_MAX = 3;
/** Index pages that an instance remembers (some KB each in memory). */
export const INDEX_PAGES_KNOWN_MAX = 1_024;
/** Index pages of one query (a few KB each). */
export const INDEX_PAGES_READ_MAX = 16;
/** Halvings of a segment of 2^53 offsets, and a few more. */
export const TIMESTAMP_STEPS_MAX = 64;
/** Pause between two looks at the head that somebody waits on: grows from the first to the second. */
export const TAIL_POLL_MS_MIN = 50;
export const TAIL_POLL_MS_MAX = 500;
/** Pause for each segment that is waited on: bounds an instance's polls at 500 a second. */
export const TAIL_POLL_SPACING_MS = 2;

/** Bodies that a broker holds for requests that it has not answered yet: with the publishers' queue, most of its memory. */
export const BODIES_BYTES_MAX = 100_663_296;
/** Long-polls and streams that wait at a time: a few KB each. Above it, 429. */
export const WAITERS_MAX = 4_096;
/** A stream's comment, early enough for the 15 s that proxies and clients are promised. */
export const STREAM_COMMENT_MS = 12_000;
/** A problem document: an error never costs more than the request that caused it. */
export const PROBLEM_BYTES_MAX = 4_096;
/** What a retry should leave a busy or failing broker, where the error doesn't know better. */
export const RETRY_AFTER_MS = 1_000;
/** A probe of the stores, and how long its result is believed: readiness is open to everybody. */
export const PROBE_MS_MAX = 2_000;
export const PROBE_KNOWN_MS_MAX = 1_000;
/** Longer than the 60 s after which common balancers drop an idle connection: the server is never the first to close. */
export const CONNECTION_IDLE_MS_MAX = 75_000;
/** Request line and headers: a key of 4 KiB percent-encoded, 16 KiB of message headers, and room. */
export const REQUEST_HEADERS_BYTES_MAX = 65_536;

/** How long a request's headers may take; above CONNECTION_IDLE_MS_MAX, or a kept connection could end in its next request's headers. */
export const REQUEST_HEADERS_MS_MAX = 80_000;
/** Requests of one connection that wait for the one before: each costs memory before anything has looked at it. */
export const PIPELINED_REQUESTS_MAX = 64;
/** Stopping: how long answers may take after the publishes have ended. */
export const STOP_CLOSE_MS_MAX = 1_000;
/**
 * Stopping, once a broker's segments are with others: how long it still answers before it closes connections that idle, so that
 * whoever keeps one learns from an answer that it is the last.
 */
export const STOP_LINGER_MS = 1_000;
/** Attempts at one write of the control plane; its deadline usually ends it earlier. */
export const WRITE_ATTEMPTS_MAX = 16;
/** The same of one that relieves an item which the table throttles, each soon after the one before: some ten seconds of them. */
export const THROTTLED_WRITE_ATTEMPTS_MAX = 200;
/** How often a change of topology starts over because somebody else changed the topic meanwhile. */
export const CHANGE_ATTEMPTS_MAX = 32;
/** Carrying on in the background what somebody was stopped in. */
export const CARRY_ON_MS_MAX = 30_000;
/** Heads that one change writes side by side. */
export const CHANGE_PARALLEL_MAX = 16;
/** Objects that one step of a clean-up lists and deletes. */
export const CLEANUP_PAGE_MAX = 500;
export const CLEANUP_PARALLEL_MAX = 8;
/** Names or deletions that a sweep reads at a time, and topics that it cleans up side by side. */
export const SWEEP_PAGE_MAX = 200;
export const SWEEP_PARALLEL_MAX = 4;
/** A clean-up after a deletion; what it leaves goes with the next sweep. */
export const CLEANUP_MS_MAX = 600_000;
/** Topics an instance remembers by name. */
export const TOPICS_KNOWN_MAX = 4_096;
/** Items of one query while segments are listed. */
export const SEGMENTS_LIST_PAGE = 500;
/** Of a reader's deadline, kept for answering it with nothing instead of a timeout. */
export const WAIT_MARGIN_MS = 250;
/** What a stream reads at a time, and so holds for a reader who is slow. */
export const STREAM_PAGE_BYTES_MAX = 1_048_576;
/** A header's name or a JSON Pointer of a topic's partition key: part of the topic item. */
export const KEY_PLACE_BYTES_MAX = 256;
/** What a publish's answer says of brokers, in a header: proxies take few KB of all headers, and who writes to more segments asks. */
export const HINTED_SEGMENTS_MAX = 8;
export const HINTED_BYTES_MAX = 2_048;
/** Bodies of requests about brokers: one small member. */
export const CONTROL_REQUEST_BYTES_MAX = 4_096;
/** Objects that an instance has stored last and still has in memory: whoever waits at a tail reads them from there. */
export const RECENT_OBJECTS_BYTES_MAX = 16_777_216;

/** How long the leader's lease is valid after the sending of its last renewal. */
export const LEASE_MS = 3_000;
/** How often it is renewed: twice before it ends. */
export const LEASE_RENEW_MS = 1_500;
/** A holder stops so much before its lease ends. */
export const LEASE_MARGIN_MS = 500;
/** One attempt to read, take or renew a lease: a server that hangs must leave time for another. */
export const LEASE_ATTEMPT_MS_MAX = 1_000;
/** Attempts to take a lease that were not answered, and may have been done: each has a nonce by which it is found. */
export const LEASE_CLAIMS_MAX = 8;
/** One attempt to release a lease; ignores that its caller has gone. */
export const LEASE_RELEASE_MS_MAX = 3_000;
/** How often a process that does not lead asks the leader for a sign of life, and reads the lease if there is none. */
export const LEADER_WATCH_MS = 500;
/** How often it reads the lease all the same. */
export const LEASE_READ_MS = 6_000;
/** Longest pause between two looks for a leader. */
export const LEADER_POLL_MS_MAX = 200;
/** How long a leader that was found is believed. */
export const LEADER_KNOWN_MS_MAX = 1_000;
/** How often a broker writes that it lives; a leader's lease says so too. */
export const HEARTBEAT_MS = 2_000;
export const LEADER_HEARTBEAT_MS = 10_000;
/** How often the leader asks each process for a sign of life, and reads all brokers' items, where all of them answer. */
export const BROKER_PROBE_MS = 1_000;
export const BROKERS_READ_MS = 6_000;
/** A probe of a broker. */
export const BROKER_PROBE_MS_MAX = 1_000;
/** Failed probes in a row, by which a fleet is dead. */
export const FLEET_PROBES_MAX = 3;
/** How long this instance believes what it has read of all brokers. */
export const BROKERS_KNOWN_MS_MAX = 3_000;
/** Brokers of one Kelp; all of them are read at once. */
export const BROKERS_MAX = 256;
/** Brokers that serve one segment. */
export const REPLICAS_DEFAULT = 2;
export const REPLICAS_MAX = 8;
/** Segments that one write of a topic item moves: their pending changes stand in it. */
export const MOVED_AT_ONCE_MAX = 32;
/** Segments a second that a drain moves if it isn't told. */
export const DRAIN_PER_SECOND_DEFAULT = 20;
export const DRAIN_PER_SECOND_MAX = 1_000;
/** How long brokers may take to finish what they have of a segment that is about to be sealed. */
export const FLUSH_MS_MAX = 500;
/** How long a broker that was told to stop waits for its segments to be moved. */
export const LEAVE_MS_MAX = 8_000;
/** How often it looks whether they are. */
export const LEAVE_POLL_MS = 200;
/** A forward that takes longer makes its target a suspect. */
export const FORWARD_SUSPECT_MS = 1_000;
/** Busy percent that a broker is meant to have, from which the number of brokers desired follows. */
export const BUSY_PERCENT_TARGET = 60;
/** How far the clocks of two brokers may be apart before a signed request is signed again by the other one's. */
export const SIGNATURE_SKEW_MS_MAX = 300_000;
/** A request of a broker to another one: a client's whole publish as record batches, and room for what frames it. What is larger isn't forwarded. */
export const PEER_REQUEST_BYTES_MAX = REQUEST_BYTES_MAX + 1_048_576;
/** Its answer: an offset for each message, or the successors of each segment. */
export const PEER_ANSWER_BYTES_MAX = 4_194_304;
/** How long a forwarded publish waits for a connection: nothing was sent by then, so it may as well be committed here. */
export const PEER_CONNECT_MS_MAX = 1_000;
/** How often this broker asks the leader to give a segment brokers. */
export const ASSIGN_ASK_MS_MIN = 5_000;
/** So many such questions at a time: a topic may have a thousand segments. */
export const ASSIGN_ASKS_MAX = 16;
/** How often it tells the leader of a suspect, and how long it sends that one nothing new. */
export const SUSPECT_MS_MIN = 1_000;
/** One question to the leader in the background: it may have to be found, and then probes. */
export const LEADER_ASK_MS_MAX = 10_000;
/** Segments of which this instance remembers who serves them. */
export const ROUTES_KNOWN_MAX = 16_384;
/** Of a broker that is left: segments whose heads are read before the first of them moves; the rest comes after these. */
export const MOVES_PLANNED_MAX = 8_192;
/** Heads that are read side by side for it: half of the connections, since others publish meanwhile. */
export const MOVES_READ_PARALLEL_MAX = 32;
/** Topics whose segments move side by side: one whose item can't be written must not keep the others. */
export const MOVES_PARALLEL_MAX = 4;
