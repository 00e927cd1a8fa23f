import type { SegmentId } from './ids.ts';
import type { MergeReason, SplitReason } from './scaling.ts';

/** `hand`: somebody asked for it. `planner`: by load, by the topic's settings, or by an expected flood. */
export type ScaleCause =
  | { readonly by: 'hand' }
  | { readonly by: 'planner'; /** Loads are in times the target, to three decimals. */ readonly reason: SplitReason | MergeReason };

/** A split or a merge that was published; for people. */
export type ScaleEvent = ScaleCause & {
  /** Wall clock of whoever published it. */
  readonly atMs: number;
  readonly parents: readonly SegmentId[];
  readonly children: readonly SegmentId[];
} & ({ readonly kind: 'split'; /** First partition of the upper part. */ readonly at: number } | { readonly kind: 'merge' });
