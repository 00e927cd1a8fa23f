import { explainError } from '../../src/cli/explain-error.ts';
import { DATA_DEFAULT, joinCommand, restartCommand } from './join-environment.ts';
import { joinKelp } from './join-kelp.ts';
import { parseOptions, type StartCommand, USAGE } from './options.ts';
import type { Child } from './processes.ts';
import { startKelp } from './start-kelp.ts';
import { startOffline } from './start-offline.ts';
import { welcome, welcomeOffline } from './welcome.ts';

// `npm start`, and `npm run offline`: everything on this machine, until Ctrl-C.
const PARENT_POLL_MS = 500;
const startedMs = performance.now();
const stopping = new AbortController();
let restart = (): Promise<void> => Promise.resolve(say('not serving yet: nothing is restarted'));

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

function main(command: StartCommand): Promise<number> {
  if (command.kind === 'start') return runStart(command.brokers);
  if (command.kind === 'join') return runJoin();
  if (command.kind === 'functions') return runOffline();
  console.log(USAGE);
  return Promise.resolve(0);
}

const dataDir = process.env['KELP_DATA'] ?? DATA_DEFAULT;

async function runStart(count: number): Promise<number> {
  const kelp = await startKelp({ dataDir, brokers: count, environment: process.env, say, signal: stopping.signal });
  console.log(welcome({ ...kelp, join: joinCommand(dataDir), restart: restartCommand(dataDir) }));
  restart = restartOnce(kelp.brokers.length, kelp.restartBrokers);
  return await untilEnd(kelp);
}

async function runJoin(): Promise<number> {
  const joined = await joinKelp({ environment: process.env, say, signal: stopping.signal });
  say(`joined: ${joined.id} serves on ${joined.url}; Ctrl-C has it leave`);
  return await untilEnd(joined);
}

async function runOffline(): Promise<number> {
  const offline = await startOffline({ dataDir, environment: process.env, say, signal: stopping.signal });
  console.log(welcomeOffline(offline));
  restart = () => Promise.resolve(say('functions run here, and no broker: nothing is restarted'));
  return await untilEnd(offline);
}

async function untilEnd(kelp: { readonly failed: Promise<Child>; stop(): Promise<void> }): Promise<number> {
  const { signal } = stopping;
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

/** What a signal asks for: one rolling restart at a time, whose failure ends nothing else. */
function restartOnce(count: number, restartBrokers: (signal: AbortSignal) => Promise<void>): () => Promise<void> {
  let underWay = false;
  return async () => {
    if (count === 1) return say('there is one broker, and nobody to serve while it restarts: nothing is restarted');
    if (underWay) return say('the brokers are being restarted already');
    underWay = true;
    try {
      await restartBrokers(stopping.signal);
      say('all brokers are restarted');
    } catch (error) {
      if (!stopping.signal.aborted) console.error(explainError(error));
    }
    underWay = false;
  };
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stopping.abort());
process.on('SIGUSR2', () => void restart());
watchParent();
try {
  process.exitCode = await main(parseOptions(process.argv.slice(2)));
} catch (error) {
  // A start that was asked to end is no failure.
  if (!stopping.signal.aborted) console.error(explainError(error));
  process.exitCode = stopping.signal.aborted ? 0 : 1;
}
process.exit();
