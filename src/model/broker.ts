import type { BrokerId, SegmentId } from './ids.ts';
import type { SegmentPressure } from './segment-pressure.ts';
import type { SegmentRange } from './topic.ts';

/** `process`: one that heartbeats. `fleet`: all instances of a function behind one URL, which don't. */
export type BrokerKind = 'process' | 'fleet';

/** What a broker had to do lately. All are integers; a fleet doesn't know, and says 0. */
export type BrokerLoad = {
  /** Requests under way. */
  readonly requests: number;
  readonly bytesPerSecond: number;
  readonly messagesPerSecond: number;
  /** Mean time of a commit, milliseconds. */
  readonly commitMs: number;
  /** How late timers are, milliseconds: the 99th of a hundred. */
  readonly eventLoopDelayMs: number;
  /** How much of the time the one thread was busy, 0 … 100. */
  readonly busyPercent: number;
  /** Resident memory. */
  readonly memoryBytes: number;
};

export const IDLE: BrokerLoad = {
  requests: 0,
  bytesPerSecond: 0,
  messagesPerSecond: 0,
  commitMs: 0,
  eventLoopDelayMs: 0,
  busyPercent: 0,
  memoryBytes: 0,
};

/** How a broker says what it is, and that it lives. */
export type BrokerRecord = {
  readonly id: BrokerId;
  /** Where other brokers and clients reach it: an origin. */
  readonly url: string;
  readonly kind: BrokerKind;
  /** Brokers of one zone may fail together; `''`: not told. */
  readonly zone: string;
  /** Random, of this life of the process: whoever registers under the same id later has another one. */
  readonly instance: string;
  /** Raised by every write of the item. That it moves is the sign of life; nobody compares clocks. */
  readonly version: number;
  /** Segments are moved away, as many a second; undefined: it is not being drained. */
  readonly drainPerSecond?: number;
  /** It was drained and has left: no broker, until it starts again. Of a fleet only: nobody could tell it from one that was taken for dead. */
  readonly drained?: true;
  readonly load: BrokerLoad;
  /** The segments that had the most too much to do lately, the worst first; a fleet doesn't know of any. */
  readonly pressure: readonly SegmentPressure[];
  /** Wall clock of the broker, when it began and when it wrote last: for people. */
  readonly startedMs: number;
  readonly heartbeatMs: number;
};

export const isDraining = (broker: BrokerRecord): boolean => broker.drainPerSecond !== undefined;

/** Where a broker is. */
export type BrokerAddress = { readonly id: BrokerId; readonly url: string };

/** The lease of the leader, as stored. Released: `holder` is empty. */
export type Lease = {
  /** A nonce of this very attempt to take it; `''`: nobody. */
  readonly holder: string;
  readonly broker: BrokerId;
  readonly url: string;
  /** Raised whenever the lease is taken; never goes back. */
  readonly epoch: number;
  /** Raised by every write. */
  readonly version: number;
  /** How long a write of the holder counts, from its sending. Whoever waits times it for so long, whatever its own lease would be. */
  readonly leaseMs: number;
  /** Wall clock at which a holder that does not renew gives it up by itself; absent for those that renew. */
  readonly expiresMs?: number;
};

/** Who leads. */
export type Leader = BrokerAddress & { readonly epoch: number };

/** Whether there is one that can be asked: who leads for a call alone may have no address. */
export const isReached = (leader: Leader | undefined): leader is Leader => leader !== undefined && leader.url !== '';

/** Which brokers serve a segment. Once it is sealed, `brokers` is empty and `successors` say who goes on. */
export type Assignment = {
  readonly segment: SegmentId;
  readonly brokers: readonly BrokerAddress[];
  readonly successors: readonly AssignedRange[];
};
export type AssignedRange = SegmentRange & { readonly addresses: readonly BrokerAddress[] };
