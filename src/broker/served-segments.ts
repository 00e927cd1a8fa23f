import type { BrokerId, SegmentId, TopicId } from '../model/ids.ts';
import { ROUTES_KNOWN_MAX, TIMEOUT_MS_DEFAULT } from '../model/limits.ts';
import type { Topic } from '../model/topic.ts';
import type { Clock } from '../ports/clock.ts';
import { orAbort } from '../state/abortable.ts';
import type { Heads } from '../state/heads.ts';

type BrokerIds = readonly BrokerId[];

/** Who serves each segment, as this instance has seen it. Once there, a segment's brokers never change. */
export type ServedSegments = {
  /** Empty: nobody, when it was looked at last. Undefined: it was not looked at yet. */
  known(topic: Topic, segment: SegmentId): BrokerIds | undefined;
  /** Reads the head; all who want it at a time share one read. A segment without a head is served by nobody. */
  read(topic: Topic, segment: SegmentId, signal: AbortSignal): Promise<BrokerIds>;
  learn(topic: TopicId, segment: SegmentId, brokers: BrokerIds): void;
};

const NOBODY: BrokerIds = [];

export function createServedSegments({ heads, clock }: { readonly heads: Heads; readonly clock: Clock }): ServedSegments {
  // Two levels, so that a look-up makes no key.
  const topics = new Map<TopicId, Map<SegmentId, BrokerIds>>();
  const reading = new Map<string, Promise<BrokerIds>>();
  let size = 0;

  function learn(topic: TopicId, segment: SegmentId, brokers: BrokerIds): void {
    const segments = topics.get(topic) ?? new Map<SegmentId, BrokerIds>();
    if (!segments.has(segment)) size += 1;
    segments.set(segment, brokers);
    topics.set(topic, segments);
    if (size <= ROUTES_KNOWN_MAX) return;
    // All are asked for anew; each costs one read.
    topics.clear();
    size = 0;
  }

  async function read(topic: TopicId, segment: SegmentId): Promise<BrokerIds> {
    // Nobody's own signal: a caller who leaves must not take the answer away from the others.
    const head = await heads.read(topic, segment, clock.deadline(TIMEOUT_MS_DEFAULT));
    const brokers = head?.brokers ?? NOBODY;
    if (head !== undefined) learn(topic, segment, brokers);
    return brokers;
  }

  return {
    learn,
    known(topic, segment) {
      const brokers = topics.get(topic.id)?.get(segment);
      if (brokers !== undefined && brokers.length > 0) return brokers;
      // A commit's answer may have shown it since.
      const seen = heads.known(topic.id, segment)?.brokers;
      if (seen !== undefined && (seen.length > 0 || brokers === undefined)) learn(topic.id, segment, seen);
      return seen ?? brokers;
    },
    read(topic, segment, signal) {
      const key = `${topic.id}/${segment}`;
      const pending = reading.get(key) ?? read(topic.id, segment).finally(() => reading.delete(key));
      reading.set(key, pending);
      return orAbort(pending, signal);
    },
  };
}
