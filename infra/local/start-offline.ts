import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reachableUrl } from '../../src/cli/reachable-url.ts';
import { offlineService } from './offline-service.ts';
import { OSLS, packageFunctions } from './package-functions.ts';
import type { Child } from './processes.ts';
import { type Base, firstToEnd, startBase, type StartOptions } from './start-base.ts';
import { untilReady } from './until.ts';

const READY_MS = 60_000;

export type Offline = {
  readonly url: string;
  readonly rootToken: string;
  /** What the functions have written. */
  readonly logFile: string;
  /** Resolves with a process that ended without being asked. */
  readonly failed: Promise<Child>;
  stop(): Promise<void>;
};

/** Starts Kelp's packaged functions with HTTP and schedules, on the stores that the environment names or that are started here. */
export async function startOffline(options: StartOptions): Promise<Offline> {
  const base = await startBase(options);
  try {
    const { dir, children, configuration, stores } = base;
    const folder = join(dir, 'functions');
    options.say('packaging the functions');
    await packageFunctions(folder, { children, signal: options.signal });
    const url = reachableUrl(configuration.host, configuration.port);
    const child = await startService(folder, url, base);
    await untilReady({ what: 'serverless-offline', waitMs: READY_MS, signal: options.signal, child }, (signal) => readyAt(url, signal));
    options.say(`serving on ${url}`);
    const { rootToken } = configuration;
    return { url, rootToken, logFile: child.logFile, failed: firstToEnd([...stores, child]), stop: base.stop };
  } catch (error) {
    await base.stop();
    throw error;
  }
}

function startService(folder: string, url: string, { children, configuration, environment, sparePort }: Base): Promise<Child> {
  const { host, port } = configuration;
  const service = offlineService(join(folder, '.serverless'), {
    environment: { KELP_PUBLIC_URL: url, ...environment },
    host,
    port,
    invokePort: sparePort,
  });
  const cwd = join(folder, 'offline');
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'serverless.json'), JSON.stringify(service, undefined, 2), { mode: 0o600 });
  // As the platform does, it gives credentials on to the functions.
  const env = Object.fromEntries(Object.entries(environment).filter(([name]) => name.startsWith('AWS_')));
  return children.start({ name: 'functions', file: process.execPath, args: [OSLS, 'offline', '--noSponsor'], cwd, env });
}

async function readyAt(url: string, signal: AbortSignal): Promise<void> {
  const { status } = await fetch(`${url}/readyz`, { signal });
  if (status !== 200) throw new Error(`/readyz says ${status}`);
}
