import type { Topic } from '../../model/topic.ts';
import type { SegmentId } from '../../model/ids.ts';
import type { ArchivesDeps } from '../../state/archives.ts';
import type { SpillDeps } from '../../state/spill.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import type { SettleSubmitting } from '../archive-deps.ts';

/** Reads of the table are retried by whoever made it. */
export type RetentionDeps = ArchivesDeps & SpillDeps & { readonly telemetry: Telemetry; readonly settleSubmitting: SettleSubmitting };

export type SegmentPlace = { readonly topic: Topic; readonly segment: SegmentId };
