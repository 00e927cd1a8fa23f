import { explainError } from '../../src/cli/explain-error.ts';
import { startKelp } from './start-kelp.ts';
import { welcome } from './welcome.ts';

// `npm start`: everything on this machine, until Ctrl-C.
const PARENT_POLL_MS = 500;
const startedMs = performance.now();
const stopping = new AbortController();

function say(line: string): void {
  console.log(`[${((performance.now() - startedMs) / 1000).toFixed(1)} s] ${line}`);
}

/** `npm` that is killed with -9 can't tell us. Under `exec node …` it is our parent, and we end with it. */
function watchParent(): void {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stopping.abort();
  }, PARENT_POLL_MS).unref();
}

async function main(): Promise<number> {
  const { signal } = stopping;
  const kelp = await startKelp({ dataDir: process.env['KELP_DATA'] ?? '.kelp', environment: process.env, say, signal });
  console.log(welcome(kelp.url, kelp.rootToken));
  const asked = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const failed = await Promise.race([asked, kelp.failed]);
  say(failed === undefined ? 'stopping' : `${failed.name} has ended by itself (see ${failed.logFile}): stopping`);
  await kelp.stop();
  say('stopped');
  return failed === undefined ? 0 : 1;
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stopping.abort());
watchParent();
try {
  process.exitCode = await main();
} catch (error) {
  // A start that was asked to end is no failure.
  if (!stopping.signal.aborted) console.error(explainError(error));
  process.exitCode = stopping.signal.aborted ? 0 : 1;
}
process.exit();
