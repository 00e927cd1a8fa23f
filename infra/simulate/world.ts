import type { Load } from '../../src/model/head.ts';
import { LOAD_BUCKETS, PARTITIONS } from '../../src/model/limits.ts';
import type { Range } from '../../src/model/topic.ts';
import { bucketStart } from '../../src/control/scaling/split-point.ts';
import { equalRanges } from '../../src/topology/plan-change.ts';
import type { SeededRandom } from '../../test/simulation/seeded-random.ts';
import { BYTES_A_MESSAGE, type Flow } from './trace.ts';

/** A segment of the simulated topic: its lineage, and the counters that its head would have. */
export type SimulatedSegment = Range & {
  readonly id: number;
  readonly bornSecond: number;
  readonly cameBy: 'split' | 'merge' | 'other';
  load: Load;
  /** Messages by bucket that came since the counters were written last, before chance. */
  readonly coming: number[];
};

/** What a scaler wants. `cuts`: first partitions of all parts but the first. */
export type Decision =
  | { readonly kind: 'split'; readonly id: number; readonly cuts: readonly number[] }
  | { readonly kind: 'merge'; readonly ids: readonly [number, number] };

/** What was done: `cuts` are the borders that came or went. */
export type DoneChange = {
  readonly second: number;
  readonly kind: 'split' | 'merge';
  readonly cuts: readonly number[];
  readonly sealed: number;
  readonly made: number;
};

export type Life = Range & { readonly id: number; readonly from: number; until: number };

/** One topic: segments that tile, and change at the border of two seconds. */
export type World = {
  readonly segments: readonly SimulatedSegment[];
  readonly lives: readonly Life[];
  readonly changes: readonly DoneChange[];
  /** One second of load. */
  pass(flow: Flow): void;
  /** Heads are written: what came is counted, as many as chance wants. */
  count(): void;
  apply(decisions: readonly Decision[], second: number): void;
};

/** Groups a second that one segment has commits of, at most: as many as a broker's PUTs allow. */
const GROUPS_PER_SECOND = 40;
/** Above it, chance is drawn from a normal distribution. */
const POISSON_SMALL = 30;

export function createWorld(count: number, second: number, random: SeededRandom): World {
  let segments = equalRanges(count, 0).map(({ lo, hi }, id) => newSegment({ lo, hi }, { id, second, cameBy: 'other' }));
  let nextId = count;
  const lives: Life[] = segments.map(lifeOf);
  const changes: DoneChange[] = [];

  function replace(
    parents: readonly SimulatedSegment[],
    ranges: readonly Range[],
    done: Pick<DoneChange, 'kind' | 'cuts' | 'second'>,
  ): void {
    const children = ranges.map((range) => newSegment(range, { id: nextId++, second: done.second, cameBy: done.kind }));
    for (const { id } of parents) for (const life of lives) if (life.id === id) life.until = done.second;
    lives.push(...children.map(lifeOf));
    segments = [...segments.filter((segment) => !parents.includes(segment)), ...children].toSorted((a, b) => a.lo - b.lo);
    changes.push({ ...done, sealed: parents.length, made: children.length });
  }

  return {
    get segments() {
      return segments;
    },
    lives,
    changes,
    pass({ messagesPerSecond, weights }) {
      for (const segment of segments) {
        for (let bucket = 0; bucket < LOAD_BUCKETS; bucket += 1) {
          const range = { lo: bucketStart(segment, bucket), hi: bucketStart(segment, bucket + 1) - 1 };
          segment.coming[bucket] = (segment.coming[bucket] ?? 0) + messagesPerSecond * weights.of(range);
        }
      }
    },
    count() {
      for (const segment of segments) segment.load = counted(segment, random);
    },
    apply(decisions, at) {
      const byId = new Map(segments.map((segment) => [segment.id, segment]));
      for (const decision of decisions) {
        const ids = decision.kind === 'split' ? [decision.id] : decision.ids;
        const parents = ids.map((id) => taken(byId, id));
        const [first, last = first] = parents as [SimulatedSegment, SimulatedSegment?];
        const cuts = decision.kind === 'split' ? decision.cuts : [last.lo];
        const ranges = decision.kind === 'split' ? cutRange(first, cuts) : [{ lo: first.lo, hi: last.hi }];
        replace(parents, ranges, { kind: decision.kind, cuts, second: at });
      }
      assertTiles(segments);
    },
  };
}

/** Each segment is in one change at a time. */
function taken(byId: Map<number, SimulatedSegment>, id: number): SimulatedSegment {
  const segment = byId.get(id);
  if (segment === undefined) throw new Error(`a change of segment ${id}, which is gone`);
  byId.delete(id);
  return segment;
}

function newSegment(range: Range, born: { id: number; second: number; cameBy: SimulatedSegment['cameBy'] }): SimulatedSegment {
  const buckets = Array.from({ length: LOAD_BUCKETS }, () => 0);
  const load = { messages: 0, bytes: 0, commits: 0, buckets };
  return { ...range, id: born.id, bornSecond: born.second, cameBy: born.cameBy, load, coming: [...buckets] };
}

const lifeOf = ({ id, lo, hi, bornSecond }: SimulatedSegment): Life => ({ id, lo, hi, from: bornSecond, until: Number.POSITIVE_INFINITY });

function cutRange({ lo, hi }: Range, cuts: readonly number[]): Range[] {
  const starts = [lo, ...cuts];
  return starts.map((start, n) => ({ lo: start, hi: (starts[n + 1] ?? hi + 1) - 1 }));
}

/** Invariant 4, at every version. */
function assertTiles(segments: readonly Range[]): void {
  const next = segments.reduce((expected, { lo, hi }) => (lo === expected && hi >= lo ? hi + 1 : Number.NaN), 0);
  if (next !== PARTITIONS) throw new Error('the open segments do not tile the partitions');
}

function counted({ load, coming }: SimulatedSegment, random: SeededRandom): Load {
  const came = coming.map((mean) => poisson(mean, random));
  coming.fill(0);
  const messages = came.reduce((sum, count) => sum + count, 0);
  return {
    messages: load.messages + messages,
    bytes: load.bytes + messages * BYTES_A_MESSAGE,
    commits: load.commits + Math.round(Math.min(messages, GROUPS_PER_SECOND)),
    buckets: load.buckets.map((count, bucket) => count + (came[bucket] ?? 0)),
  };
}

function poisson(mean: number, random: SeededRandom): number {
  if (mean === 0) return 0;
  if (mean > POISSON_SMALL) {
    const normal = Math.sqrt(-2 * Math.log(1 - random.fraction())) * Math.cos(2 * Math.PI * random.fraction());
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal));
  }
  const end = Math.exp(-mean);
  let count = -1;
  for (let product = 1; product > end; product *= random.fraction()) count += 1;
  return count;
}
