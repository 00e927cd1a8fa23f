import type { BrokerAddress } from '../model/broker.ts';
import type { SegmentId } from '../model/ids.ts';
import type { Topic } from '../model/topic.ts';
import type { Part, PartOutcome } from './part.ts';

/** Who else serves a segment, and how to hand it messages: given by whoever puts the broker together. */
export type Routes = {
  /**
   * The brokers to ask, in this order; empty: this one commits (it serves the segment, nobody does yet, or whoever does is
   * gone). At once where this instance knows; it asks the stores only where it has not seen the segment before.
   */
  of(topic: Topic, segment: SegmentId, signal: AbortSignal): readonly BrokerAddress[] | Promise<readonly BrokerAddress[]>;
  /**
   * An outcome for each part, in order. Errors as of `Peers.send`; also `unavailable`/`peer-busy`: it answered that it takes
   * nothing now, and has begun nothing.
   */
  send(broker: BrokerAddress, forward: Forward, signal: AbortSignal): Promise<readonly PartOutcome[]>;
  /** It surely took nothing, since nobody is there: it gets nothing new for a while. It may come back, and is reported by nobody. */
  refused(broker: BrokerAddress): void;
  /**
   * It keeps a caller waiting: the leader is told. Answers whether it is dead, as soon as anybody
   * knows; false if nobody can say. Never rejects.
   */
  suspect(topic: Topic, segment: SegmentId, broker: BrokerAddress): Promise<boolean>;
};

export type Forward = {
  readonly topic: Topic;
  readonly parts: readonly Part[];
  /** Milliseconds that the caller has left. */
  readonly timeoutMs: number;
};
