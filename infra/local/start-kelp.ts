import { createTable } from '../../src/adapters/dynamodb/create-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { type Configuration, readConfiguration } from '../../src/cli/configuration.ts';
import { createHttpServer } from '../../src/cli/http-server.ts';
import { KelpError } from '../../src/model/errors.ts';
import { startBroker } from './broker.ts';
import { takeDataFolder } from './data-folder.ts';
import { makeBucket } from './make-bucket.ts';
import { type PortBlock, takePorts } from './ports.ts';
import { type Child, type Children, createChildren } from './processes.ts';
import { SEAWEEDFS_PORTS, startSeaweedFs } from './seaweedfs.ts';
import { keptSecret } from './secrets.ts';
import { startTable } from './table.ts';
import { CACHE_DIR, findWeed } from './tools.ts';

const TABLE_PORT = SEAWEEDFS_PORTS;
const SPARE_PORT = SEAWEEDFS_PORTS + 1;
/** The broker gets most of the ten seconds in which everything ends; the stores have nothing to finish. */
const BROKER_STOP_MS = 5_500;
const STORES_STOP_MS = 2_000;
const SERVICE_MS = 10_000;

export type StartOptions = {
  readonly dataDir: string;
  /** Names as in the documentation (`KELP_PORT` …); stores that it doesn't name are started here. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly say: (line: string) => void;
  /** Ends the start; once it has succeeded, `stop` does. */
  readonly signal: AbortSignal;
};

export type Kelp = {
  readonly url: string;
  readonly rootToken: string;
  /** Resolves with a process that ended without being asked. */
  readonly failed: Promise<Child>;
  /** Ends everything within ten seconds. */
  stop(): Promise<void>;
};

/** Starts all of Kelp on this machine: the stores that the environment doesn't name, then the broker. */
export async function startKelp(options: StartOptions): Promise<Kelp> {
  const { say, signal } = options;
  const undo: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    const folder = await takeDataFolder(options.dataDir, say, signal);
    undo.push(() => folder.release());
    const ports = await takePorts(SPARE_PORT + 1);
    undo.push(() => ports.release());
    const environment = completeEnvironment(options, folder.dir, ports);
    const configuration = readConfiguration(environment);
    await checkPort(configuration);
    const children = createChildren(folder.dir);
    undo.push(() => children.stopAll(STORES_STOP_MS));
    const stores = await startStores({ options, configuration, children, ports });
    const broker = await startBroker({ configuration, environment, children, signal });
    undo.push(() => broker.child.stop(BROKER_STOP_MS));
    say(`serving on ${broker.url}`);
    return { url: broker.url, rootToken: configuration.rootToken, failed: firstToEnd([...stores, broker.child]), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The broker's environment: what is given, and for the rest what is started here. */
function completeEnvironment({ environment }: StartOptions, dir: string, ports: PortBlock): Record<string, string> {
  const ownTable = !environment['KELP_TABLE_ENDPOINT'];
  const given = Object.entries(environment).filter(
    (entry): entry is [string, string] => Boolean(entry[1]) && !(ownTable && entry[0].startsWith('AWS_')), // no business of a local table
  );
  const ownStore = {
    KELP_S3_ENDPOINT: `http://127.0.0.1:${ports.at(3)}`,
    KELP_S3_ACCESS_KEY: 'kelp',
    KELP_S3_SECRET_KEY: keptSecret(dir, 'store-secret'),
  };
  return {
    KELP_ROOT_TOKEN: keptSecret(dir, 'root-token'),
    KELP_SECRET: keptSecret(dir, 'secret'),
    ...(environment['KELP_S3_ENDPOINT'] ? {} : ownStore),
    KELP_TABLE_ENDPOINT: `http://127.0.0.1:${ports.at(TABLE_PORT)}`,
    ...Object.fromEntries(given),
    // The address is printed and asked for readiness, so a free port is chosen here.
    ...(environment['KELP_PORT'] === '0' ? { KELP_PORT: String(ports.at(SPARE_PORT)) } : {}),
  };
}

/** Before anything is started: what is wrong with the address shows at once. */
async function checkPort({ host, port }: Configuration): Promise<void> {
  const probe = createHttpServer(() => new Response());
  await probe.listen(host, port);
  await probe.close();
}

type Starting = {
  readonly options: StartOptions;
  readonly configuration: Configuration;
  readonly children: Children;
  readonly ports: PortBlock;
};

async function startStores(starting: Starting): Promise<Child[]> {
  const started = await Promise.allSettled([startStore(starting), startItsTable(starting)]);
  // Both have ended one way or the other: nothing starts behind the back of the stop that follows a failure.
  return started.flatMap((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

async function startStore({ options, configuration, children, ports }: Starting): Promise<Child[]> {
  const { say, signal } = options;
  if (options.environment['KELP_S3_ENDPOINT']) {
    await usable('the store', configuration.store.endpoint, (limited) => makeBucket(configuration.store, limited), signal);
    return [];
  }
  const { bucket, accessKey = '', secretKey = '' } = configuration.store;
  const weed = await findWeed({ cacheDir: CACHE_DIR, children, say, signal });
  say('starting SeaweedFS');
  const store = await startSeaweedFs({ dir: children.dir, weed, ports, children, bucket, accessKey, secretKey, signal });
  return [store.child];
}

async function startItsTable({ options, configuration, children, ports }: Starting): Promise<Child[]> {
  const { signal } = options;
  if (options.environment['KELP_TABLE_ENDPOINT']) {
    await usable(
      'the table',
      configuration.table.endpoint,
      (limited) => createTable(configuration.table, createSystemClock(), limited),
      signal,
    );
    return [];
  }
  const { table } = configuration.table;
  const started = await startTable({ kind: 'dynoxide', dir: children.dir, port: ports.at(TABLE_PORT), table, children, signal });
  return [started.child];
}

/** A service that somebody else runs: it must be there, and have or take what we need. */
async function usable(
  name: string,
  url: string | undefined,
  attempt: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await attempt(AbortSignal.any([signal, AbortSignal.timeout(SERVICE_MS)]));
  } catch (cause) {
    signal.throwIfAborted();
    throw new KelpError('unavailable', 'service-unusable', `${name} at ${url} cannot be used: ${reasonOf(cause)}`, { cause });
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return message || code || String(error);
}

function firstToEnd(children: readonly Child[]): Promise<Child> {
  return Promise.race(
    children.map(async (child) => {
      await child.exited;
      return child;
    }),
  );
}
