import { setTimeout as sleep } from 'node:timers/promises';
import { explainError } from '../../src/cli/explain-error.ts';
import { KelpError } from '../../src/model/errors.ts';
import { findRun } from './data-folder.ts';
import { DATA_DEFAULT, readRootToken } from './join-environment.ts';
import { type Endpoint, listBrokers, type Registered } from './list-brokers.ts';
import { startTimeOf } from './process-table.ts';
import { readRunning, type Running } from './running.ts';

// `npm run rolling-restart`: the brokers of the `npm start` that runs on KELP_DATA, one after the other; somebody always serves.
const POLL_MS = 200;
/** Of one broker: it hands over its segments, ends, and comes back. */
const RESTART_MS_MAX = 60_000;

const stopping = new AbortController();

function failure(code: string, message: string, cause?: unknown): KelpError {
  return new KelpError('unavailable', code, message, { cause });
}

/** What is to be restarted. Errors `not-running`, `one-broker`. */
async function findKelp(folder: string): Promise<Running & Endpoint> {
  const { dir, pid } = (await findRun(folder)) ?? {};
  if (dir === undefined) throw failure('not-running', `no kelp is running on ${folder} (KELP_DATA names the folder of one that does)`);
  const running = readRunning(dir);
  const nobody = `the kelp on ${dir} has no brokers to restart: it runs functions, does not serve yet, or is stopping`;
  if (running?.pid !== pid || running === undefined) throw failure('not-running', nobody);
  const alone = `the kelp on ${dir} has one broker, and nobody to serve while it restarts (npm start -- --brokers 3 starts three)`;
  if (running.brokers.length === 1) throw failure('one-broker', alone);
  return { ...running, rootToken: readRootToken(dir) };
}

/** Those of them that have begun since. */
async function restarted(kelp: Endpoint, ids: readonly string[], sinceMs: number): Promise<Registered[]> {
  const brokers = await listBrokers(kelp, stopping.signal);
  return brokers.filter(({ id, startedMs }) => ids.includes(id) && startedMs >= sinceMs);
}

async function follow(kelp: Running & Endpoint, sinceMs: number): Promise<void> {
  const left = new Set(kelp.brokers);
  const startTime = startTimeOf(kelp.pid);
  let deadlineMs = performance.now() + RESTART_MS_MAX;
  let last: unknown;
  while (left.size > 0) {
    if (startTime === undefined || startTimeOf(kelp.pid) !== startTime) throw failure('not-running', 'it has ended meanwhile');
    const names = [...left].join(', ');
    if (performance.now() > deadlineMs) throw failure('too-slow', `not restarted within ${RESTART_MS_MAX / 1_000} s: ${names}`, last);
    try {
      for (const { id, url, startedMs } of await restarted(kelp, [...left], sinceMs)) {
        left.delete(id);
        deadlineMs = performance.now() + RESTART_MS_MAX;
        console.log(`${id} is restarted and serves on ${url} (${((startedMs - sinceMs) / 1_000).toFixed(1)} s)`);
      }
    } catch (error) {
      // The broker that was asked is the one that restarts; the next look asks another one.
      last = error;
    }
    await sleep(POLL_MS, undefined, { signal: stopping.signal });
  }
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(name, () => stopping.abort(failure('stopped', 'not followed to its end')));
try {
  const [unknown] = process.argv.slice(2);
  if (unknown !== undefined)
    throw failure('invalid-options', `${unknown}: a rolling restart takes no options (KELP_DATA names the folder)`);
  const kelp = await findKelp(process.env['KELP_DATA'] ?? DATA_DEFAULT);
  const sinceMs = Date.now();
  process.kill(kelp.pid, 'SIGUSR2');
  await follow(kelp, sinceMs);
  console.log(`all ${kelp.brokers.length} brokers are restarted`);
} catch (error) {
  console.error(explainError(stopping.signal.aborted ? stopping.signal.reason : error));
  process.exitCode = 1;
}
process.exit();
