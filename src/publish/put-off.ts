import type { SegmentId } from '../model/ids.ts';
import { GROUP_SLOT_MS_MAX } from '../model/limits.ts';
import type { Queued } from './gather.ts';

/** Segments of one topic with a commit that the table has put off: they have had what they may have in a second. */
export type PutOff = {
  note(segment: SegmentId, group: object): void;
  /** The group's commit there is decided. */
  over(segment: SegmentId, group: object): void;
  /**
   * Where another commit would only compete with the one that waits: what comes meanwhile goes together, in one. Of a queue in
   * order of age; once one has waited GROUP_SLOT_MS_MAX, it goes, with all that touches its segments and no other busy one.
   */
  busy<T extends Queued>(queue: readonly T[], waitedMs: (queued: T) => number): ReadonlySet<SegmentId>;
};

const NONE: ReadonlySet<SegmentId> = new Set();

export function createPutOff(): PutOff {
  const groups = new Map<SegmentId, Set<object>>();
  return {
    note(segment, group) {
      groups.set(segment, (groups.get(segment) ?? new Set()).add(group));
    },
    over(segment, group) {
      const waiting = groups.get(segment);
      waiting?.delete(group);
      if (waiting?.size === 0) groups.delete(segment);
    },
    busy(queue, waitedMs) {
      if (groups.size === 0) return NONE;
      const busy = new Set(groups.keys());
      for (const queued of queue) {
        if (waitedMs(queued) < GROUP_SLOT_MS_MAX) break;
        for (const part of queued.submission.parts) busy.delete(part.segment);
      }
      return busy;
    },
  };
}
