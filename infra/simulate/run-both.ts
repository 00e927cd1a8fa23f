import type { ScalingSettings } from '../../src/model/scaling.ts';
import type { SeededRandom } from '../../test/simulation/seeded-random.ts';
import { createPanel, drawChart } from './chart.ts';
import { createIntervalScaler } from './interval-scaler.ts';
import { createKelpScaler } from './kelp-scaler.ts';
import type { Row } from './report.ts';
import { runTrace } from './run-trace.ts';
import type { Scaler } from './scaler.ts';
import { combineScores, createWatcher } from './score.ts';
import type { Trace } from './trace.ts';

export type Both = { readonly ours: Row; readonly theirs: Row; readonly chart: string };

/** One trace under both scalers: the same load, and the same chance for as long as their segments are the same. */
export function runBoth(trace: Trace, random: SeededRandom, stopwatch: () => number): Both {
  const runs = [createKelpScaler, createIntervalScaler].map((create) => runTopics({ trace, create, random, stopwatch }));
  const [ours, theirs] = runs as [Ran, Ran];
  return { ours: ours.row, theirs: theirs.row, chart: drawChart(trace.name, trace.seconds, [ours.panel, theirs.panel]) };
}

type Ran = { readonly row: Row; readonly panel: ReturnType<typeof createPanel> };
type Options = {
  readonly trace: Trace;
  readonly create: (settings: ScalingSettings) => Scaler;
  readonly random: SeededRandom;
  readonly stopwatch: () => number;
};

/** The chart shows the first topic. */
function runTopics({ trace, create, random, stopwatch }: Options): Ran {
  const { name } = create(trace.settings);
  const panel = createPanel(name, trace.seconds);
  const scores = Array.from({ length: trace.topics }, (_, topic) => {
    const watcher = createWatcher(trace.rises);
    const run = runTrace({
      trace,
      scaler: create(trace.settings),
      random: random.fork(String(topic)),
      stopwatch,
      watch(instant) {
        watcher.watch(instant);
        if (topic === 0) panel.watch(instant);
      },
    });
    return watcher.score(run);
  });
  return { row: { trace: trace.name, scaler: name, score: combineScores(scores) }, panel };
}
