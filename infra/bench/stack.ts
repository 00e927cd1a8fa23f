import { randomBytes } from 'node:crypto';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { readConfiguration } from '../../src/cli/configuration.ts';
import { startBroker } from '../local/broker.ts';
import { checkSpace } from '../local/data-folder.ts';
import { takePorts } from '../local/ports.ts';
import { type Child, type Children, createChildren } from '../local/processes.ts';
import { SEAWEEDFS_PORTS, startSeaweedFs } from '../local/seaweedfs.ts';
import { startTable } from '../local/table.ts';
import { CACHE_DIR, findWeed } from '../local/tools.ts';
import { ITEM_KEY } from './lean-raw.ts';
import type { StoreAddress, TableAddress } from './load.ts';

/** What all cases together write, with room: SeaweedFS stops taking writes on a full disk. */
const FREE_BYTES_MIN = 17_179_869_184;
const BROKER_PORT = SEAWEEDFS_PORTS + 1;
const TOKEN_BYTES = 24;

export type BenchStack = {
  readonly store: StoreAddress;
  readonly table: TableAddress;
  /** The broker's. */
  readonly url: string;
  readonly token: string;
  readonly children: { readonly broker: Child; readonly table: Child; readonly weed: Child };
  /** Where more processes are started, which `stop` ends as well. */
  readonly all: Children;
  stop(): Promise<void>;
};

export type BenchStackOptions = { readonly dir: string; readonly say: (line: string) => void; readonly signal: AbortSignal };

/** SeaweedFS, the table and the broker as `npm start` runs them, with addresses known so that raw loads meet the same ones. */
export async function startBenchStack({ dir, say, signal }: BenchStackOptions): Promise<BenchStack> {
  checkSpace(dir, FREE_BYTES_MIN);
  const children = createChildren(dir);
  const ports = await takePorts(BROKER_PORT + 1);
  const stop = async (): Promise<void> => {
    await children.stopAll();
    ports.release();
  };
  try {
    const weed = await findWeed({ cacheDir: CACHE_DIR, children, say, signal });
    const names = { bucket: 'kelp', accessKey: 'kelp', secretKey: randomSecret() };
    const store = await startSeaweedFs({ dir, weed, ports, children, ...names, signal });
    const table = await startTable({ kind: 'dynoxide', dir, port: ports.at(SEAWEEDFS_PORTS), table: 'kelp', children, signal });
    await createLeanTable({ ...table, clock: createSystemClock() }).put(ITEM_KEY, { v: 1, state: 'open', tail: 0, object: '' }, [], signal);
    const environment = {
      KELP_PORT: String(ports.at(BROKER_PORT)),
      KELP_ROOT_TOKEN: randomSecret(),
      KELP_SECRET: randomSecret(),
      KELP_S3_ENDPOINT: store.endpoint,
      KELP_S3_ACCESS_KEY: store.accessKey,
      KELP_S3_SECRET_KEY: store.secretKey,
      KELP_TABLE_ENDPOINT: table.endpoint,
      KELP_SWEEP_MS: '0',
      KELP_ARCHIVE_MS: '0',
    };
    const broker = await startBroker({ configuration: readConfiguration(environment), environment, children, signal });
    return {
      store: { ...credentialsOf(store), bucket: store.bucket },
      table: { ...credentialsOf(table), table: table.table },
      url: broker.url,
      token: environment.KELP_ROOT_TOKEN,
      children: { broker: broker.child, table: table.child, weed: store.child },
      all: children,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Where the messages of whatever else is started on this stack are. */
export const storeVariables = ({ store }: Pick<BenchStack, 'store'>): Readonly<Record<string, string>> => ({
  KELP_S3_ENDPOINT: store.endpoint,
  KELP_S3_BUCKET: store.bucket,
  KELP_S3_REGION: store.region,
  KELP_S3_ACCESS_KEY: store.accessKey,
  KELP_S3_SECRET_KEY: store.secretKey,
});

type Credentials = Pick<StoreAddress, 'endpoint' | 'region' | 'accessKey' | 'secretKey'>;

function credentialsOf({ endpoint, region, accessKey, secretKey }: Credentials): Credentials {
  return { endpoint, region, accessKey, secretKey };
}

function randomSecret(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}
