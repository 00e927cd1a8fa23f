import type { BrokerId, SegmentId, TopicId } from '../../model/ids.ts';
import { MOVED_AT_ONCE_MAX } from '../../model/limits.ts';
import { orAbort } from '../../state/abortable.ts';

export type Reported = { readonly topic: TopicId; readonly segment: SegmentId; readonly broker: BrokerId };
export type Gathered = { readonly topic: TopicId; readonly broker: BrokerId; readonly segments: readonly SegmentId[] };

/** A batch that has not begun yet, or has. */
type Gathering = { readonly segments: Set<SegmentId>; begun: boolean; readonly done: Promise<void> };

/**
 * A dead broker is reported for all of its segments at once, by everybody. The first report of a topic is acted upon at once;
 * those that come meanwhile go together in the next batch, so that its item is not written for each.
 */
export function gatherReports(move: (gathered: Gathered) => Promise<void>): (reported: Reported, signal: AbortSignal) => Promise<void> {
  const last = new Map<string, Gathering>();

  function begin(key: string, { topic, broker }: Reported, after: Gathering | undefined): Gathering {
    const segments = new Set<SegmentId>();
    const work = async (): Promise<void> => {
      // How the one before has ended is its own callers' business.
      await after?.done.catch(() => undefined);
      gathering.begun = true;
      try {
        await move({ topic, broker, segments: [...segments] });
      } finally {
        if (last.get(key) === gathering) last.delete(key);
      }
    };
    const { promise, resolve } = Promise.withResolvers<void>();
    const gathering: Gathering = { segments, begun: false, done: promise.then(work) };
    last.set(key, gathering);
    resolve();
    return gathering;
  }

  return (reported, signal) => {
    const key = `${reported.broker}/${reported.topic}`;
    const there = last.get(key);
    const joins = there !== undefined && !there.begun && there.segments.size < MOVED_AT_ONCE_MAX;
    const gathering = joins ? there : begin(key, reported, there);
    gathering.segments.add(reported.segment);
    return orAbort(gathering.done, signal);
  };
}
