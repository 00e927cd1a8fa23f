import type { Decision, SimulatedSegment } from './world.ts';

/** Decides by what it can know: the counters of open segments, at each tick. One of its own for each topic. */
export type Scaler = {
  readonly name: string;
  /** Seconds may be below 0: the load before the first one that is scored. */
  decide(segments: readonly SimulatedSegment[], second: number): readonly Decision[];
};

export const TICK_SECONDS = 5;
