import { SEGMENTS_OPEN_MAX } from '../../src/model/limits.ts';
import type { ScalingSettings } from '../../src/model/scaling.ts';
import { type Scaler, TICK_SECONDS } from './scaler.ts';
import type { Decision, SimulatedSegment } from './world.ts';

const MINUTE = 60;
const COOL_DOWN_SECONDS = 10 * MINUTE;
const COLD_AGE_SECONDS = 20 * MINUTE;
const HOT_RULES = [
  { minutes: 2, times: 5 },
  { minutes: 5, times: 2 },
  { minutes: 10, times: 1 },
] as const;
const KEPT_TICKS = COLD_AGE_SECONDS / TICK_SECONDS;

type Averages = {
  record(segments: readonly SimulatedSegment[]): void;
  /** Of the newest minutes, in times the target; of a younger segment: over its life. */
  of(segment: SimulatedSegment, minutes: number): number;
};
type Split = Decision & { readonly kind: 'split' };

/**
 * The opponent, with the rules that Pravega publishes: averages over 2, 5, 10 and 20 minutes; hot segments are cut into equal
 * parts, cold neighbours are merged whatever they carry together, nothing happens to a segment within ten minutes.
 */
export function createIntervalScaler(settings: ScalingSettings): Scaler {
  const averages = createAverages(settings.targetMessagesPerSecond);
  return {
    name: 'interval',
    decide(segments, second) {
      averages.record(segments);
      const room = Math.min(settings.maxSegments, SEGMENTS_OPEN_MAX) - segments.length;
      const free = segments.filter(({ bornSecond }) => second - bornSecond >= COOL_DOWN_SECONDS);
      const cold = new Set(free.filter((segment) => isCold(averages, segment, second)));
      // What is split now is hot, and so never cold.
      return [...splitsOf(averages, free, room), ...mergesOf(segments, cold, segments.length - settings.minSegments)];
    },
  };
}

function createAverages(target: number): Averages {
  /** Messages a second in each tick of a segment's life, the newest last. */
  let known = new Map<number, { counted: number; readonly rates: number[] }>();
  return {
    record(segments) {
      const next: typeof known = new Map();
      for (const { id, load } of segments) {
        const { counted, rates } = known.get(id) ?? { counted: 0, rates: [] };
        rates.push((load.messages - counted) / TICK_SECONDS);
        if (rates.length > KEPT_TICKS) rates.shift();
        next.set(id, { counted: load.messages, rates });
      }
      known = next;
    },
    of({ id }, minutes) {
      const rates = known.get(id)?.rates.slice((-minutes * MINUTE) / TICK_SECONDS) ?? [];
      return rates.reduce((sum, rate) => sum + rate, 0) / Math.max(1, rates.length) / target;
    },
  };
}

/** The rate that makes it hot; undefined: it isn't. */
function hotRate(averages: Averages, segment: SimulatedSegment): number | undefined {
  const rates = HOT_RULES.map(({ minutes, times }) => ({ rate: averages.of(segment, minutes), times }));
  return rates.find(({ rate, times }) => rate > times)?.rate;
}

function isCold(averages: Averages, segment: SimulatedSegment, second: number): boolean {
  const isOld = second - segment.bornSecond > COLD_AGE_SECONDS;
  return isOld && [2, 5, 10].every((minutes) => averages.of(segment, minutes) < 1) && averages.of(segment, 20) < 0.5;
}

function splitsOf(averages: Averages, segments: readonly SimulatedSegment[], roomFor: number): Split[] {
  let room = roomFor;
  return segments.flatMap((segment) => {
    const rate = hotRate(averages, segment);
    if (rate === undefined) return [];
    const parts = Math.min(Math.max(2, Math.floor(rate)), segment.hi - segment.lo + 1, room + 1);
    if (parts < 2) return [];
    room -= parts - 1;
    return [{ kind: 'split' as const, id: segment.id, cuts: equalCuts(segment, parts) }];
  });
}

function mergesOf(segments: readonly SimulatedSegment[], cold: ReadonlySet<SimulatedSegment>, countMax: number): Decision[] {
  const merges: Decision[] = [];
  const used = new Set<SimulatedSegment>();
  for (const [n, upper] of segments.entries()) {
    const lower = segments[n - 1];
    if (merges.length === countMax) break;
    if (lower === undefined || used.has(lower) || !cold.has(lower) || !cold.has(upper)) continue;
    used.add(lower).add(upper);
    merges.push({ kind: 'merge', ids: [lower.id, upper.id] });
  }
  return merges;
}

function equalCuts({ lo, hi }: SimulatedSegment, parts: number): number[] {
  return Array.from({ length: parts - 1 }, (_, n) => lo + Math.ceil(((n + 1) * (hi - lo + 1)) / parts));
}
