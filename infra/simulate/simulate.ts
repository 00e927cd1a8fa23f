import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { explainError } from '../../src/cli/explain-error.ts';
import { KelpError } from '../../src/model/errors.ts';
import { createSeededRandom } from '../../test/simulation/seeded-random.ts';
import { parseOptions, type SimulateOptions, USAGE } from './options.ts';
import { measurePlans, type PlanTimes, type Times } from './plan-time.ts';
import { type Aim, formatAims, formatRows, judge, judgePlan, type Row } from './report.ts';
import { runBoth } from './run-both.ts';
import { makeTrace } from './traces.ts';

// `npm run simulate`: a table of all traces, what was aimed at, and a chart a trace. Progress goes to standard error.
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const SEGMENTS_ALONE = [1_000, 10_000];

/** Processor time of this thread: others on the machine don't change the figures. */
function stopwatch(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function main({ traces, seed, out }: SimulateOptions): void {
  mkdirSync(out, { recursive: true });
  const rows: Row[] = [];
  const aims: Aim[] = [];
  for (const name of traces) {
    const random = createSeededRandom(seed).fork(name);
    const { ours, theirs, chart } = runBoth(makeTrace(name, random.fork('keys')), random, stopwatch);
    rows.push(ours, theirs);
    aims.push(...judge(ours, theirs));
    writeFileSync(join(out, `${name}.svg`), chart);
    console.error(`[${(performance.now() / 1_000).toFixed(0)} s] ${name}`);
  }
  const alone = SEGMENTS_ALONE.map((segments) => measurePlans(segments, seed, stopwatch));
  aims.push(...alone.map(({ segments, plan }) => judgePlan(segments, plan.medianMs)));
  console.log(`seed ${seed}, charts in ${out}\n\n${formatRows(rows)}\n\n${alone.map(describe).join('\n')}\n\n${formatAims(aims)}`);
}

function describe({ segments, changes, sample, plan }: PlanTimes): string {
  return `planning alone, ${segments} segments: a plan ${inMs(plan)} (${changes} changes); taking in their samples ${inMs(sample)}`;
}

const inMs = ({ medianMs, longestMs }: Times): string => `${medianMs.toFixed(1)} ms, at most ${longestMs.toFixed(1)}`;

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === undefined) console.log(USAGE);
  else main(options);
} catch (error) {
  console.error(explainError(error));
  process.exitCode = error instanceof KelpError && error.code === 'invalid-option' ? EXIT_USAGE : EXIT_FAILED;
}
