import { type Configuration, readConfiguration } from '../../src/cli/configuration.ts';
import { createHttpServer } from '../../src/cli/http-server.ts';
import { takeDataFolder } from './data-folder.ts';
import { removeJoinEnvironment, writeJoinEnvironment } from './join-environment.ts';
import { type PortBlock, takePorts } from './ports.ts';
import { type Child, createChildren } from './processes.ts';
import { removeRunning, writeRunning } from './running.ts';
import { keptSecret } from './secrets.ts';
import { type Brokers, checkShared, namePrefix, startBrokers } from './start-brokers.ts';
import { startStores, STORE_PORT, TABLE_PORT } from './start-stores.ts';

const SPARE_PORT = TABLE_PORT + 1;
const STORES_STOP_MS = 2_000;

export type StartOptions = {
  readonly dataDir: string;
  /** Default: 1. */
  readonly brokers?: number;
  /** Names as in the documentation (`KELP_PORT` …); stores that it doesn't name are started here. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly say: (line: string) => void;
  /** Ends the start; once it has succeeded, `stop` does. */
  readonly signal: AbortSignal;
};

export type Kelp = {
  readonly url: string;
  readonly rootToken: string;
  readonly brokers: readonly { readonly id: string; readonly url: string }[];
  /** Resolves with a process that ended without being asked. */
  readonly failed: Promise<Child>;
  /** Restarts the brokers one after the other, so that somebody always serves. Error `unavailable`/`not-ready`. */
  restartBrokers(signal: AbortSignal): Promise<void>;
  /** Ends everything within ten seconds; where stores run elsewhere, brokers hand over what they have first. */
  stop(): Promise<void>;
};

/** Starts all of Kelp on this machine: the stores that the environment doesn't name, then the brokers. */
export async function startKelp(options: StartOptions): Promise<Kelp> {
  const { say, signal, brokers: count = 1 } = options;
  const undo: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    checkShared(count, options.environment);
    const folder = await takeDataFolder(options.dataDir, say, signal);
    undo.push(() => folder.release());
    const ports = await takePorts(SPARE_PORT + 1);
    undo.push(() => ports.release());
    const own = { store: !options.environment['KELP_S3_ENDPOINT'], table: !options.environment['KELP_TABLE_ENDPOINT'] };
    const environment = completeEnvironment(options, folder.dir, ports);
    const configuration = readConfiguration(environment);
    await checkPort(configuration);
    const children = createChildren(folder.dir);
    undo.push(() => children.stopAll(STORES_STOP_MS));
    const stores = await startStores({ ...options, configuration, children, ports });
    const keeping = { children, say, signal };
    const prefix = namePrefix(own.table, folder.dir);
    const brokers = await startBrokers({ count, environment, configuration, prefix, keeping });
    // Brokers elsewhere can't go on without these stores: there is nobody to hand anything to.
    undo.push(() => brokers.stop({ hurried: own.store || own.table }));
    writeJoinEnvironment(folder.dir, environment);
    if (own.store || own.table) undo.push(() => removeJoinEnvironment(folder.dir));
    writeRunning(folder.dir, { pid: process.pid, url: brokers.url, brokers: brokers.kept.map(({ id }) => id) });
    undo.push(() => removeRunning(folder.dir));
    say(`serving on ${brokers.url}`);
    return kelpOf(brokers, configuration, { stores, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

function kelpOf(
  brokers: Brokers,
  { rootToken }: Configuration,
  { stores, stop }: { readonly stores: readonly Child[]; readonly stop: () => Promise<void> },
): Kelp {
  const { url, kept, restartEach } = brokers;
  return { url, rootToken, brokers: kept, failed: Promise.race([brokers.failed, firstToEnd(stores)]), restartBrokers: restartEach, stop };
}

/** The brokers' environment: what is given, and for the rest what is started here. */
function completeEnvironment({ environment }: StartOptions, dir: string, ports: PortBlock): Record<string, string> {
  const ownTable = !environment['KELP_TABLE_ENDPOINT'];
  const given = Object.entries(environment).filter(
    (entry): entry is [string, string] => Boolean(entry[1]) && !(ownTable && entry[0].startsWith('AWS_')), // no business of a local table
  );
  const ownStore = {
    KELP_S3_ENDPOINT: `http://127.0.0.1:${ports.at(STORE_PORT)}`,
    KELP_S3_ACCESS_KEY: 'kelp',
    KELP_S3_SECRET_KEY: keptSecret(dir, 'store-secret'),
  };
  return {
    KELP_ROOT_TOKEN: keptSecret(dir, 'root-token'),
    KELP_SECRET: keptSecret(dir, 'secret'),
    KELP_INTERNAL_SECRET: keptSecret(dir, 'internal-secret'),
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

function firstToEnd(children: readonly Child[]): Promise<Child> {
  return Promise.race(
    children.map(async (child) => {
      await child.exited;
      return child;
    }),
  );
}
