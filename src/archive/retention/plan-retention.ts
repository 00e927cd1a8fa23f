import type { SegmentId } from '../../model/ids.ts';
import type { RetentionCut } from '../../model/sweep-report.ts';

/** What goes as a whole: a file's messages, or one entry's. */
export type Unit = {
  /** Offset behind it. */
  readonly end: number;
  /** When the last of its messages was committed; never falls from one unit of a segment to the next. */
  readonly committedMs: number;
  /** Of its batches and all that lie below it in the segment, as they were committed. */
  readonly bytes: number;
};

/** What is kept of a segment. */
export type Kept = {
  readonly segment: SegmentId;
  readonly start: number;
  /** Of all of its batches ever, and of those of whole units below `start`. */
  readonly bytes: number;
  readonly goneBytes: number;
  /** From the first that is kept on, in order. `more`: there may be others behind them, as far as anybody has looked. */
  readonly units: readonly Unit[];
  readonly more: boolean;
};

/** What was committed then or before goes; of the rest the oldest, while all that is kept of the topic is more than `bytesMax` without it. */
export type RetentionBounds = { readonly committedMs?: number | undefined; readonly bytesMax?: number | undefined };

/** A stretch from the segment's start to the end of one of its units. */
export type Cut = {
  readonly segment: SegmentId;
  readonly reason: RetentionCut['reason'];
  readonly from: number;
  readonly to: Unit;
  readonly bytes: number;
};

type Walk = { readonly kept: Kept; /** Units that go. */ count: number };

/**
 * Which units go, by what is known: each segment's begin with the first one, and whoever goes, its older ones have gone. None whose age or
 * size has to be compared with units that nobody has looked at. By age first.
 */
export function planRetention(kept: readonly Kept[], bounds: RetentionBounds): readonly Cut[] {
  const walks: Walk[] = kept.map((one) => ({ kept: one, count: 0 }));
  const aged = cutBy(walks, 'max-age', () => walks.forEach((walk) => passAged(walk, bounds.committedMs ?? -Infinity)));
  return [...aged, ...cutBy(walks, 'max-bytes', () => passOversize(walks, bounds.bytesMax ?? Infinity))];
}

/** What a step passes. */
function cutBy(walks: readonly Walk[], reason: Cut['reason'], pass: () => void): Cut[] {
  const before = walks.map(reached);
  pass();
  return walks.flatMap((walk, index) => {
    const from = before[index];
    const to = reached(walk);
    if (from === undefined || to.end <= from.end) return [];
    return [{ segment: walk.kept.segment, reason, from: from.end, to, bytes: to.bytes - from.bytes }];
  });
}

function passAged(walk: Walk, committedMs: number): void {
  const { units } = walk.kept;
  while ((units[walk.count]?.committedMs ?? Infinity) <= committedMs) walk.count += 1;
}

/** The oldest of all segments first. So much is kept in any case: a unit that reaches below `bytesMax` stays as a whole. */
function passOversize(walks: readonly Walk[], bytesMax: number): void {
  let keptBytes = walks.reduce((sum, walk) => sum + walk.kept.bytes - reached(walk).bytes, 0);
  while (keptBytes > bytesMax && walks.every(isKnown)) {
    const oldest = oldestOf(walks);
    if (oldest === undefined) return;
    keptBytes -= oldest.unit.bytes - reached(oldest.walk).bytes;
    if (keptBytes < bytesMax) return;
    oldest.walk.count += 1;
  }
}

const isKnown = ({ kept, count }: Walk): boolean => count < kept.units.length || !kept.more;

function oldestOf(walks: readonly Walk[]): { readonly walk: Walk; readonly unit: Unit } | undefined {
  let oldest: { readonly walk: Walk; readonly unit: Unit } | undefined;
  for (const walk of walks) {
    const unit = walk.kept.units[walk.count];
    if (unit !== undefined && (oldest === undefined || unit.committedMs < oldest.unit.committedMs)) oldest = { walk, unit };
  }
  return oldest;
}

/** The end of the last one that goes. */
function reached({ kept, count }: Walk): Unit {
  return kept.units[count - 1] ?? { end: kept.start, committedMs: -Infinity, bytes: kept.goneBytes };
}
