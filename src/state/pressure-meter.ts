import type { SegmentId, TopicId } from '../model/ids.ts';
import type { ScalingTargets } from '../model/scaling.ts';
import {
  METERED_SEGMENTS_MAX,
  NUDGE_MS,
  PRESSED_SEGMENTS_MAX,
  PRESSURE_WINDOW_MS,
  QUEUED_MS_MIN,
  SEVERE_LOAD,
  SEVERE_WINDOW_MS,
} from '../model/scaling-limits.ts';
import { isThrottled, type SegmentPressure } from '../model/segment-pressure.ts';
import { scalingOf, type Topic } from '../model/topic.ts';
import type { Clock } from '../ports/clock.ts';

/** What publishing tells of the segments that this instance commits to. */
export type PressureNotes = {
  /** The table has refused a write of the segment's head for its rate. */
  throttled(topic: TopicId, segment: SegmentId): void;
  /** A commit begins; how long the oldest of its messages has waited for that. */
  queued(topic: TopicId, segment: SegmentId, ms: number): void;
  /** It has stored them. */
  committed(topic: Topic, segment: SegmentId, stored: { readonly messages: number; readonly bytes: number }): void;
};

export type PressureMeter = PressureNotes & {
  /** The PRESSED_SEGMENTS_MAX that had the most too much to do within PRESSURE_WINDOW_MS, the worst first; mostly none. */
  sample(): readonly SegmentPressure[];
};

export type PressureMeterDeps = {
  readonly clock: Clock;
  /**
   * Told when a segment is throttled, or when this instance alone commits SEVERE_LOAD times its topic's targets to it, of each topic
   * once in NUDGE_MS at most, with what else of it has too much to do; and once in PRESSURE_WINDOW_MS of one that stays over its
   * target: nobody may have looked at its topic for a while.
   */
  readonly onPressed: (topic: TopicId, pressures: readonly SegmentPressure[]) => void;
  /**
   * What one refused write counts as, 1 unless given: an instance of a fleet is one of many that each have few writes, count apart
   * and are told by nobody what others were refused, so that it stands for them.
   */
  readonly writesPerRefusal?: number;
};

/** What happened within one second. */
type Second = { readonly second: number; throttled: number; commits: number; messages: number; bytes: number; queuedMs: number };
/** `seconds`: those of the window in which anything happened, the oldest first. */
type Metered = { readonly topic: TopicId; readonly segment: SegmentId; readonly seconds: Second[] };

const SECOND_MS = 1_000;
const WINDOW_SECONDS = PRESSURE_WINDOW_MS / SECOND_MS;
/** Times the targets, and for how long. */
const SEVERE = { load: SEVERE_LOAD, seconds: SEVERE_WINDOW_MS / SECOND_MS };
const OVER: typeof SEVERE = { load: 1, seconds: WINDOW_SECONDS };

/** Counts by whole seconds; the one that has begun counts as one, so that nothing is severe before it is. */
export function createPressureMeter({ clock, onPressed, writesPerRefusal = 1 }: PressureMeterDeps): PressureMeter {
  // In the order of their last new second.
  const metered = new Map<string, Metered>();
  const toldMs = new Map<TopicId, number>();
  const nowSecond = (): number => Math.floor(clock.monotonicMs() / SECOND_MS);

  function current(topic: TopicId, segment: SegmentId): { readonly now: Second; readonly of: Metered } {
    const key = `${topic}/${segment}`;
    const second = nowSecond();
    const of = metered.get(key) ?? { topic, segment, seconds: [] };
    const last = of.seconds.at(-1);
    if (last?.second === second) return { now: last, of };
    const now: Second = { second, throttled: 0, commits: 0, messages: 0, bytes: 0, queuedMs: 0 };
    of.seconds.push(now);
    forgetSeconds(of, second - WINDOW_SECONDS);
    metered.delete(key);
    metered.set(key, of);
    forgetSilent(metered, second - WINDOW_SECONDS);
    return { now, of };
  }

  function tell({ topic, segment }: Metered, againMs: number): void {
    const nowMs = clock.monotonicMs();
    if (nowMs - (toldMs.get(topic) ?? -Infinity) < againMs) return;
    forgetTold(toldMs, nowMs - PRESSURE_WINDOW_MS);
    toldMs.set(topic, nowMs);
    const own = [...metered.values()].filter((one) => one.topic === topic);
    onPressed(topic, worst(own.map((one) => pressureOf(one, nowSecond())).filter((one) => one.segment === segment || isPressed(one))));
  }

  return {
    throttled(topic, segment) {
      const { now, of } = current(topic, segment);
      now.throttled += writesPerRefusal;
      if (isThrottled(pressureOf(of, now.second))) tell(of, NUDGE_MS);
    },
    queued(topic, segment, ms) {
      const { now } = current(topic, segment);
      now.queuedMs = Math.max(now.queuedMs, Math.ceil(ms));
    },
    committed(topic, segment, { messages, bytes }) {
      const { now, of } = current(topic.id, segment);
      now.commits += 1;
      now.messages += messages;
      now.bytes += bytes;
      const targets = scalingOf(topic.settings);
      if (carries(of, SEVERE, { second: now.second, targets })) tell(of, NUDGE_MS);
      else if (carries(of, OVER, { second: now.second, targets })) tell(of, PRESSURE_WINDOW_MS);
    },
    sample() {
      const second = nowSecond();
      forgetSilent(metered, second - WINDOW_SECONDS);
      return worst([...metered.values()].map((one) => pressureOf(one, second)).filter(isPressed));
    },
  };
}

function forgetSeconds({ seconds }: Metered, through: number): void {
  while (seconds[0] !== undefined && seconds[0].second <= through) seconds.shift();
}

/** Oldest first. Of too many at once those go whose last second began first, though they aren't silent. */
function forgetSilent(metered: Map<string, Metered>, through: number): void {
  for (const [key, { seconds }] of metered) {
    if (metered.size <= METERED_SEGMENTS_MAX && (seconds.at(-1)?.second ?? through) > through) return;
    metered.delete(key);
  }
}

function forgetTold(toldMs: Map<TopicId, number>, throughMs: number): void {
  for (const [topic, ms] of toldMs) if (ms <= throughMs) toldMs.delete(topic);
}

function pressureOf({ topic, segment, seconds }: Metered, nowSecond: number): SegmentPressure {
  let [throttled, queuedMs] = [0, 0];
  for (const one of seconds) {
    if (one.second <= nowSecond - WINDOW_SECONDS) continue;
    throttled += one.throttled;
    queuedMs = Math.max(queuedMs, one.queuedMs);
  }
  return { topic, segment, throttledWrites: throttled, queuedMs };
}

const isPressed = (pressure: SegmentPressure): boolean => isThrottled(pressure) || pressure.queuedMs > QUEUED_MS_MIN;

/** Over the whole span. */
function carries(
  { seconds }: Metered,
  span: typeof SEVERE,
  { second, targets }: { readonly second: number; readonly targets: ScalingTargets },
): boolean {
  let [commits, messages, bytes] = [0, 0, 0];
  for (const one of seconds) {
    if (one.second <= second - span.seconds) continue;
    commits += one.commits;
    messages += one.messages;
    bytes += one.bytes;
  }
  const times = span.load * span.seconds;
  return (
    commits >= times * targets.targetCommitsPerSecond ||
    messages >= times * targets.targetMessagesPerSecond ||
    bytes >= times * targets.targetBytesPerSecond
  );
}

/** Throttling first: the table can do no more, and a queue is what comes of it. */
function worst(pressures: readonly SegmentPressure[]): readonly SegmentPressure[] {
  return pressures
    .toSorted((one, other) => other.throttledWrites - one.throttledWrites || other.queuedMs - one.queuedMs)
    .slice(0, PRESSED_SEGMENTS_MAX);
}
