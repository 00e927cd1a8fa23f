import { RETENTION_UNITS_AHEAD_MAX, RETENTION_UNITS_MAX } from '../../model/archive-limits.ts';
import type { SegmentId } from '../../model/ids.ts';
import { SWEEP_PARALLEL_MAX } from '../../model/limits.ts';
import { inParallel } from '../../state/in-parallel.ts';
import { type Cut, type Kept, planRetention, type RetentionBounds, type Unit } from './plan-retention.ts';

/** A segment of which it is not known yet how much goes. */
export type SegmentWalk = { kept: Kept; readonly units: AsyncIterator<Unit, void> };

export type TopicPlan = {
  /** One for each segment and reason. */
  readonly cuts: readonly Cut[];
  /** Whether all was looked at that may have to go. */
  readonly complete: boolean;
};

type Walks = {
  readonly walks: readonly SegmentWalk[];
  readonly bounds: RetentionBounds;
  /** Tells what is wrong with a segment, which is left out from then on. */
  readonly onFailed: (segment: SegmentId, error: unknown) => void;
};

/** What goes of a topic's segments: no more of them is read than it takes to know, and no more is held than a few units each. */
export async function planWalks({ walks, bounds, onFailed }: Walks, signal: AbortSignal): Promise<TopicPlan> {
  let left = [...walks];
  const budget = { units: RETENTION_UNITS_MAX };
  const planned: Cut[] = [];
  // Bounded: each turn but the last one takes units out, of which there are only so many.
  for (;;) {
    const failed = new Set<SegmentWalk>();
    await inParallel(left, SWEEP_PARALLEL_MAX, async (walk) => {
      try {
        await lookAhead(walk, bounds, budget);
      } catch (error) {
        signal.throwIfAborted();
        failed.add(walk);
        onFailed(walk.kept.segment, error);
      }
    });
    left = left.filter((walk) => !failed.has(walk));
    const cuts = planRetention(
      left.map(({ kept }) => kept),
      bounds,
    );
    planned.push(...cuts);
    for (const walk of left) walk.kept = cuts.filter(({ segment }) => segment === walk.kept.segment).reduce(without, walk.kept);
    if (cuts.length === 0 || budget.units <= 0) return { cuts: joined(planned), complete: cuts.length === 0 && budget.units > 0 };
  }
}

/** Up to the first unit that is young enough, and some more where those of several segments are compared. */
async function lookAhead(
  walk: SegmentWalk,
  { committedMs = -Infinity, bytesMax }: RetentionBounds,
  budget: { units: number },
): Promise<void> {
  const units = [...walk.kept.units];
  let { more } = walk.kept;
  const ahead = bytesMax === undefined ? 1 : RETENTION_UNITS_AHEAD_MAX;
  const isOld = (unit: Unit | undefined): boolean => unit !== undefined && unit.committedMs <= committedMs;
  while (more && budget.units > 0 && (isOld(units.at(-1)) || units.length < ahead)) {
    const next = await walk.units.next();
    budget.units -= 1;
    if (next.done === true) {
      more = false;
      continue;
    }
    // All that are old go at once, so the last one of them says it all.
    if (isOld(next.value)) units.length = 0;
    units.push(next.value);
  }
  walk.kept = { ...walk.kept, units, more };
}

const without = (kept: Kept, { to }: Cut): Kept => ({
  ...kept,
  start: to.end,
  goneBytes: to.bytes,
  units: kept.units.filter(({ end }) => end > to.end),
});

/** Those of one segment and reason that follow each other as one. */
function joined(cuts: readonly Cut[]): readonly Cut[] {
  const byName = new Map<string, Cut>();
  for (const cut of cuts) {
    const name = `${cut.segment} ${cut.reason}`;
    const before = byName.get(name);
    byName.set(name, before === undefined ? cut : { ...cut, from: before.from, bytes: before.bytes + cut.bytes });
  }
  return [...byName.values()];
}
