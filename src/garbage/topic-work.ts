import type { Archive } from '../model/archive.ts';
import type { SegmentId } from '../model/ids.ts';
import type { SweptGarbage } from '../model/sweep-report.ts';
import type { Topic } from '../model/topic.ts';
import type { ObjectStore } from '../ports/object-store.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { TopologyDeps } from '../topology/apply-change.ts';

export type GarbageDeps = TopologyDeps & { readonly store: ObjectStore; readonly telemetry: Telemetry };

export type GarbageCounts = { -readonly [Kind in keyof SweptGarbage]: number };

/** A topic that is swept. */
export type TopicWork = {
  readonly topic: Topic;
  readonly dryRun: boolean;
  /** Wall clock: what was stored, archived or over by then may go. */
  readonly beforeMs: number;
  /** Of the segments of which anything was archived or dropped. As it was read: it only goes forward. */
  readonly archives: ReadonlyMap<SegmentId, Archive>;
  /** Added to as it goes. */
  readonly counts: GarbageCounts;
};
