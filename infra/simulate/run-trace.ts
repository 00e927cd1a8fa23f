import type { SeededRandom } from '../../test/simulation/seeded-random.ts';
import { type Scaler, TICK_SECONDS } from './scaler.ts';
import type { Flow, Trace } from './trace.ts';
import { createWorld, type Decision, type DoneChange, type Life, type SimulatedSegment, type World } from './world.ts';

/** The loads of all segments at a moment, in times the target. */
export type Instant = {
  readonly second: number;
  readonly segments: readonly { readonly lo: number; readonly hi: number; readonly load: number; readonly hottest: number }[];
};

/** What became of one topic. Of a second below 0 nothing is kept but who lived then. */
export type Run = {
  readonly seconds: number;
  readonly changes: readonly DoneChange[];
  readonly lives: readonly Life[];
  readonly planMs: readonly number[];
};

/** What a change takes from its decision to its last child's opening. */
const APPLY_SECONDS = 1;

type Options = {
  readonly trace: Trace;
  readonly scaler: Scaler;
  readonly random: SeededRandom;
  /** Milliseconds, for how long a decision takes; figures only. */
  readonly stopwatch: () => number;
  readonly watch: (instant: Instant) => void;
};

export function runTrace({ trace, scaler, random, stopwatch, watch }: Options): Run {
  const world = createWorld(trace.segments, -trace.warmUpSeconds, random);
  const planMs: number[] = [];
  let decided: readonly Decision[] = [];
  for (let second = -trace.warmUpSeconds; second < trace.seconds; second += 1) {
    const isTick = second % TICK_SECONDS === 0;
    if (decided.length > 0 && (second - APPLY_SECONDS) % TICK_SECONDS === 0) {
      world.apply(decided, second);
      decided = [];
    }
    if (isTick) {
      const begunMs = stopwatch();
      decided = decide(world, scaler, second);
      if (second >= 0) planMs.push(stopwatch() - begunMs);
    }
    const flow = trace.flowAt(second);
    if (flow.messagesPerSecond > 0) world.pass(flow);
    if (second >= 0) watch({ second, segments: world.segments.map((segment) => measured(trace, flow, segment)) });
  }
  return { seconds: trace.seconds, changes: world.changes.filter(({ second }) => second >= 0), lives: world.lives, planMs };
}

function decide(world: World, scaler: Scaler, second: number): readonly Decision[] {
  world.count();
  return scaler.decide(world.segments, second);
}

function measured(trace: Trace, { messagesPerSecond, weights }: Flow, { lo, hi }: SimulatedSegment): Instant['segments'][0] {
  const times = messagesPerSecond / trace.settings.targetMessagesPerSecond;
  return { lo, hi, load: times * weights.of({ lo, hi }), hottest: times * weights.hottest({ lo, hi }) };
}
