export type Address = { readonly segment: string; readonly offset: number };

/**
 * What became of a publish, as its client knows it. `refused`: told so for certain, or never sent. `unknown`: no answer, or one
 * that leaves it open; it may be stored, once.
 */
export type Outcome = 'acked' | 'refused' | 'unknown';

/** One message that a client published, all its retries together. */
export type Publish = {
  /** Which message it is; its value says so too. */
  readonly id: string;
  readonly key: string;
  /** Equal for equal values. */
  readonly digest: string;
  /** A producer's sequence of messages in one segment, and its place there. */
  readonly line?: { readonly name: string; readonly sequence: number };
  /** Numbers of a counter that rises with every event of the history: before the first sending, after the last answer. */
  readonly sentAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
  /** As acknowledged; absent where an acknowledgement doesn't say it. */
  readonly address?: Address;
};

export type Seen = Address & { readonly id: string; readonly key: string; readonly digest: string };

/** One reader's messages, in the order in which it got them. */
export type Read = {
  readonly reader: string;
  /** Began at the beginning of everything after all publishes had ended, and read on to the end. */
  readonly complete: boolean;
  /** Of a reader that began later: it has all that was sent after this event, and read on to the end. */
  readonly since?: number;
  readonly messages: readonly Seen[];
  /** Of all segments, as they were told to a complete reader. */
  readonly tails?: ReadonlyMap<string, number>;
};

/** A segment's range of partitions, and those whose ranges it continues. */
export type Descent = { readonly segment: string; readonly lo: number; readonly hi: number; readonly predecessors: readonly string[] };

/** `segments`: all that the topic ever had, in order of ids, where who continues whom is looked at. */
export type History = { readonly publishes: readonly Publish[]; readonly reads: readonly Read[]; readonly segments?: readonly Descent[] };

/** In the sense of Jepsen's Kafka workload where the names are the same. */
export type FaultName =
  /** Acknowledged, and not read. */
  | 'lost-write'
  /** Read at two addresses. */
  | 'duplicate'
  /** Two messages at one address, or a message elsewhere than acknowledged. */
  | 'inconsistent-offsets'
  /** A reader jumped over offsets. */
  | 'poll-skip'
  /** A reader went back. */
  | 'nonmonotonic-poll'
  /** Acknowledged below something that was sent only after that acknowledgement. */
  | 'nonmonotonic-send'
  /** Refused, and read. */
  | 'G1a'
  /** Read behind a message of its key that was sent only after this one had been acknowledged. */
  | 'key-order'
  /** Read behind a later message of its producer's line. */
  | 'line-order'
  /** Read behind a message of a segment that continues its own. */
  | 'lineage-order'
  /** Another key or value than was sent. */
  | 'changed'
  /** Never published. */
  | 'unknown-message'
  /** A segment's last message is not the one before its tail. */
  | 'wrong-tail';

export type Finding = { readonly fault: FaultName; readonly what: string };
