import type { SegmentId, TopicId } from '../../model/ids.ts';
import type { HotKey } from '../../model/scaling.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LoadWindows } from './load-windows.ts';
import type { ScalingState } from './plan-scaling.ts';
import type { ScaledSegment } from './segment-load.ts';

/** How a segment came to be; for as long as it is open, it stays so. */
export type SegmentOrigin = Pick<ScaledSegment, 'cameBy' | 'parentCommits'>;

/** What is known of a topic from one look to the next. Plain data; times are those of the memory's clock. */
export type TopicMemory = {
  readonly windows: ReadonlyMap<SegmentId, LoadWindows>;
  readonly origins: ReadonlyMap<SegmentId, SegmentOrigin>;
  readonly state: ScalingState;
  readonly hotKeys: readonly HotKey[];
};

/** Where that is kept: in the process that leads, or in the table, where looks are taken by functions. */
export type ScalingMemory = {
  /** Milliseconds on the clock of all that is remembered. */
  nowMs(): number;
  /** Undefined: nothing is known. */
  read(topic: TopicId, signal: AbortSignal): Promise<TopicMemory | undefined>;
  write(topic: TopicId, memory: TopicMemory, signal: AbortSignal): Promise<void>;
  /** Forgets all topics but these. */
  keep(topics: ReadonlySet<TopicId>): void;
};

export function createProcessMemory(clock: Pick<Clock, 'monotonicMs'>): ScalingMemory {
  const topics = new Map<TopicId, TopicMemory>();
  return {
    nowMs: () => clock.monotonicMs(),
    read: (topic) => Promise.resolve(topics.get(topic)),
    write: (topic, memory) => Promise.resolve(void topics.set(topic, memory)),
    keep(known) {
      for (const topic of topics.keys()) if (!known.has(topic)) topics.delete(topic);
    },
  };
}
