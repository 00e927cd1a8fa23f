import type { Instant, Run } from './run-trace.ts';
import type { DoneChange } from './world.ts';

/** How uneven a relieved topic may be: its hottest segment by the average one. */
const RELIEVED_RATIO = 1.5;
/** A border that came and went within that time was in vain. */
const OSCILLATION_SECONDS = 600;
/** What may share a segment with a hot partition, and suffer with it. */
const NEIGHBOURS_MAX = 0.5;
const HOUR = 3_600;

export type Relief = {
  readonly at: number;
  /** Until the topic was relieved, by its segments or by the end of the flood. */
  readonly seconds: number;
  /** Whether it was before the next rise, or the end. */
  readonly reached: boolean;
};

export type Score = {
  readonly reliefs: readonly Relief[];
  readonly oscillationsPerHour: number;
  /** A split into n parts, or a merge, is one. */
  readonly changesPerHour: number;
  /** Borders that came or went: a split into n parts has n − 1. */
  readonly cutsPerHour: number;
  /** Segments that publishers and readers had to leave. */
  readonly sealedPerHour: number;
  /** Highest load of a segment, in times its target. */
  readonly peakLoad: number;
  /** Seconds × what segments carried beyond their target and could have been relieved of, in times the target. */
  readonly overloadSeconds: number;
  readonly segmentsMax: number;
  readonly segmentsEnd: number;
  readonly planMsMax: number;
  readonly planMsMean: number;
};

/** Looks at each second as it comes. */
export type Watcher = { watch(instant: Instant): void; score(run: Run): Score };

export function createWatcher(rises: readonly number[]): Watcher {
  const relievedAt = new Map<number, number>();
  const totals = { peakLoad: 0, overloadSeconds: 0, segmentsMax: 0, segmentsEnd: 0 };
  return {
    watch({ second, segments }) {
      const rise = rises.findLast((at) => at <= second);
      if (rise !== undefined && !relievedAt.has(rise) && isRelieved(segments)) relievedAt.set(rise, second);
      totals.segmentsMax = Math.max(totals.segmentsMax, segments.length);
      totals.segmentsEnd = segments.length;
      for (const { load, hottest } of segments) {
        totals.peakLoad = Math.max(totals.peakLoad, load);
        totals.overloadSeconds += Math.max(0, load - Math.max(1, hottest));
      }
    },
    score({ seconds, changes, planMs }) {
      const hours = seconds / HOUR;
      const sum = (value: (change: DoneChange) => number): number => changes.reduce((total, change) => total + value(change), 0);
      return {
        reliefs: rises.map((at, n) => reliefOf(at, relievedAt.get(at), rises[n + 1] ?? seconds)),
        oscillationsPerHour: countOscillations(changes) / hours,
        changesPerHour: changes.length / hours,
        cutsPerHour: sum(({ cuts }) => cuts.length) / hours,
        sealedPerHour: sum(({ sealed }) => sealed) / hours,
        ...totals,
        planMsMax: planMs.reduce((max, one) => Math.max(max, one), 0),
        planMsMean: planMs.reduce((total, one) => total + one, 0) / Math.max(1, planMs.length),
      };
    },
  };
}

function reliefOf(at: number, relievedAt: number | undefined, end: number): Relief {
  return { at, seconds: (relievedAt ?? end) - at, reached: relievedAt !== undefined };
}

/**
 * No segment carries more than half as much again as the average one, and the average one not more than that beyond its
 * target; where the average is below it, a segment at its target needs no relief. Left out: who carries one partition and
 * little beside it, since nothing relieves that one.
 */
export function isRelieved(segments: Instant['segments']): boolean {
  const loads = segments.filter(({ load, hottest }) => load <= 1 || load - hottest > NEIGHBOURS_MAX).map(({ load }) => load);
  if (loads.length === 0) return true;
  const mean = loads.reduce((total, load) => total + load, 0) / loads.length;
  return mean <= RELIEVED_RATIO && loads.every((load) => load <= Math.max(1, RELIEVED_RATIO * mean));
}

/** Borders that a split made and a merge took away again before long. */
export function countOscillations(changes: readonly DoneChange[]): number {
  const made = new Map<number, number>();
  let count = 0;
  for (const { kind, cuts, second } of changes) {
    for (const cut of cuts) {
      const madeAt = made.get(cut) ?? Number.NEGATIVE_INFINITY;
      if (kind === 'split') made.set(cut, second);
      else if (second - madeAt < OSCILLATION_SECONDS) count += 1;
    }
  }
  return count;
}

/** Of several topics with the same trace: what one has on average, and the worst of what has a worst. */
export function combineScores(scores: readonly Score[]): Score {
  const mean = (value: (score: Score) => number): number => scores.reduce((total, score) => total + value(score), 0) / scores.length;
  const max = (value: (score: Score) => number): number => scores.reduce((most, score) => Math.max(most, value(score)), 0);
  return {
    reliefs: scores.flatMap(({ reliefs }) => reliefs),
    oscillationsPerHour: mean((score) => score.oscillationsPerHour),
    changesPerHour: mean((score) => score.changesPerHour),
    cutsPerHour: mean((score) => score.cutsPerHour),
    sealedPerHour: mean((score) => score.sealedPerHour),
    peakLoad: max((score) => score.peakLoad),
    overloadSeconds: mean((score) => score.overloadSeconds),
    segmentsMax: max((score) => score.segmentsMax),
    segmentsEnd: max((score) => score.segmentsEnd),
    planMsMax: max((score) => score.planMsMax),
    planMsMean: mean((score) => score.planMsMean),
  };
}

/** Mean over the rises; undefined: there was none. */
export function meanRelief({ reliefs }: Score): number | undefined {
  return reliefs.length === 0 ? undefined : reliefs.reduce((total, { seconds }) => total + seconds, 0) / reliefs.length;
}
