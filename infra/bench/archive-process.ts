import { json } from 'node:stream/consumers';
import { explainError } from '../../src/cli/explain-error.ts';
import { invocationContext } from './api-event.ts';
import type { ArchiveLoad, LoadResult } from './load.ts';
import { percentile } from './percentile.ts';

// The function that archives, in a process that does nothing else: an archive load on standard input, the result on standard output.
// It is invoked until nothing is left that is due.

/** Of an invocation, as it is deployed. */
const EVENT_MS_MAX = 290_000;
const KIBIBYTE = 1_024;

async function run({ environment }: ArchiveLoad): Promise<LoadResult> {
  Object.assign(process.env, environment);
  const { handler } = await import('../../functions/archive.ts');
  const timesMs: number[] = [];
  // What it takes to load the function is not the archiver's work.
  const usedBefore = process.cpuUsage();
  for (let isComplete = false; !isComplete;) {
    const beganMs = performance.now();
    const { complete, busy } = await handler({}, invocationContext(EVENT_MS_MAX));
    if (busy !== 0) throw new RangeError('somebody else archives as well');
    timesMs.push(performance.now() - beganMs);
    isComplete = complete === true;
  }
  const { user, system } = process.cpuUsage(usedBefore);
  return {
    requests: timesMs.length,
    errors: 0,
    bytes: 0,
    seconds: timesMs.reduce((sum, ms) => sum + ms, 0) / 1_000,
    p50Ms: percentile(timesMs, 0.5),
    p99Ms: percentile(timesMs, 0.99),
    cpuSeconds: (user + system) / 1e6,
    peakBytes: process.resourceUsage().maxRSS * KIBIBYTE,
  };
}

const print = console.log;
// A function writes its log there.
console.log = console.error;
try {
  print(JSON.stringify(await run((await json(process.stdin)) as ArchiveLoad)));
} catch (error) {
  console.error(explainError(error));
  process.exitCode = 1;
}
process.exit();
