import { type Configuration, readConfiguration } from '../../src/cli/configuration.ts';
import { createHttpServer } from '../../src/cli/http-server.ts';
import { takeDataFolder } from './data-folder.ts';
import { type PortBlock, takePorts } from './ports.ts';
import { type Child, type Children, createChildren } from './processes.ts';
import { keptSecret } from './secrets.ts';
import { startStores, STORE_PORT, TABLE_PORT } from './start-stores.ts';

const FREE_PORT = TABLE_PORT + 1;
const SPARE_PORT = FREE_PORT + 1;
const STORES_STOP_MS = 2_000;

export type StartOptions = {
  readonly dataDir: string;
  /** Names as in the documentation (`KELP_PORT` …); stores that it doesn't name are started here. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly say: (line: string) => void;
  /** Ends the start; once it has succeeded, `stop` does. */
  readonly signal: AbortSignal;
};

/** What brokers and functions stand on. */
export type Base = {
  /** The data folder. */
  readonly dir: string;
  readonly children: Children;
  /** Of a broker, complete. */
  readonly environment: Readonly<Record<string, string>>;
  readonly configuration: Configuration;
  /** Which stores are started here. */
  readonly own: { readonly store: boolean; readonly table: boolean };
  readonly stores: readonly Child[];
  /** For whatever else listens. */
  readonly sparePort: number;
  /** Ends all children, and leaves the folder and the ports. */
  stop(): Promise<void>;
};

/** Takes data folder and ports, and starts the stores that the environment doesn't name. */
export async function startBase(options: StartOptions): Promise<Base> {
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
    const own = { store: !options.environment['KELP_S3_ENDPOINT'], table: !options.environment['KELP_TABLE_ENDPOINT'] };
    const environment = completeEnvironment(options, folder.dir, ports);
    const configuration = readConfiguration(environment);
    await checkPort(configuration);
    const children = createChildren(folder.dir);
    undo.push(() => children.stopAll(STORES_STOP_MS));
    const stores = await startStores({ ...options, configuration, children, ports });
    return { dir: folder.dir, children, environment, configuration, own, stores, sparePort: ports.at(SPARE_PORT), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What is given, and for the rest what is started here. */
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
    ...(environment['KELP_PORT'] === '0' ? { KELP_PORT: String(ports.at(FREE_PORT)) } : {}),
  };
}

/** Before anything is started: what is wrong with the address shows at once. */
async function checkPort({ host, port }: Configuration): Promise<void> {
  const probe = createHttpServer(() => new Response());
  await probe.listen(host, port);
  await probe.close();
}

export function firstToEnd(children: readonly Child[]): Promise<Child> {
  return Promise.race(
    children.map(async (child) => {
      await child.exited;
      return child;
    }),
  );
}
