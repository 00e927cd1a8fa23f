import type { SegmentId, TopicId } from '../../model/ids.ts';
import { PRESSURE_WINDOW_MS } from '../../model/scaling-limits.ts';
import { isThrottled, type SegmentPressure } from '../../model/segment-pressure.ts';
import type { Clock } from '../../ports/clock.ts';

/** What brokers say of segments that have too much to do: in their items, and by nudges of the last PRESSURE_WINDOW_MS. */
export type Pressures = {
  note(pressures: readonly SegmentPressure[]): void;
  /** Topics of which any broker's item has something to say. */
  topics(): ReadonlySet<TopicId>;
  /** The topic's segments that the table throttles. */
  throttled(topic: TopicId): ReadonlySet<SegmentId>;
};

type PressuresDeps = {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** As the brokers' items say, as read last. */
  readonly pressures: () => readonly SegmentPressure[];
};

export function createPressures({ clock, pressures }: PressuresDeps): Pressures {
  let noted: readonly (SegmentPressure & { readonly atMs: number })[] = [];
  const isRecent = ({ atMs }: { readonly atMs: number }): boolean => clock.monotonicMs() - atMs < PRESSURE_WINDOW_MS;
  return {
    note(told) {
      const atMs = clock.monotonicMs();
      const isTold = (one: SegmentPressure): boolean => told.some(({ topic, segment }) => one.topic === topic && one.segment === segment);
      const others = noted.filter((one) => isRecent(one) && !isTold(one));
      noted = [...others, ...told.filter(isThrottled).map((one) => ({ ...one, atMs }))];
    },
    topics: () => new Set(pressures().map(({ topic }) => topic)),
    throttled(topic) {
      const all = [...pressures().filter(isThrottled), ...noted.filter(isRecent)];
      return new Set(all.flatMap((one) => (one.topic === topic ? [one.segment] : [])));
    },
  };
}
