import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Installing } from '../infra/local/install-python.ts';
import { takePorts } from '../infra/local/ports.ts';
import { type Children, createChildren } from '../infra/local/processes.ts';
import { type SeaweedFs, SEAWEEDFS_PORTS, startSeaweedFs } from '../infra/local/seaweedfs.ts';
import { startTable, type Table } from '../infra/local/table.ts';
import { CACHE_DIR, findMinistack, findWeed } from '../infra/local/tools.ts';
import type { StoreAddress, TableAddress } from './stack.ts';

const START_MS = 60_000;

export type OwnStack = {
  readonly dir: string;
  readonly children: Children;
  readonly store: StoreAddress;
  readonly filer: string;
  /** On disk: it keeps what was acknowledged through a kill. */
  readonly table: TableAddress;
  /** SIGKILL of SeaweedFS. */
  killStore(): Promise<void>;
  /** Starts it on the same data and ports; resolves once it takes writes. */
  restartStore(): Promise<void>;
  /** Lines for SeaweedFS's own shell, under its lock; answers what it says. */
  weedShell(...lines: readonly string[]): string;
  killTable(): Promise<void>;
  restartTable(): Promise<void>;
  /** Ends everything and removes the folder. */
  stop(): Promise<void>;
};

/** SeaweedFS and a table of one test's own, which it may kill. */
export async function startOwnStack(): Promise<OwnStack> {
  const dir = mkdtempSync(join(tmpdir(), 'kelp-test-'));
  const children = createChildren(dir);
  const ports = await takePorts(SEAWEEDFS_PORTS + 1);
  const weed = await findWeed(installing(children));
  const startStore = (): Promise<SeaweedFs> =>
    startSeaweedFs({ dir, weed, ports, children, ...storeNames, signal: AbortSignal.timeout(START_MS) });
  const startItsTable = (): Promise<Table> =>
    startTable({ kind: 'dynoxide', dir, port: ports.at(SEAWEEDFS_PORTS), table: 'kelp', children, signal: AbortSignal.timeout(START_MS) });
  let [store, table] = await Promise.all([startStore(), startItsTable()]);
  return {
    dir,
    children,
    store: storeAddress(store),
    filer: store.filer,
    table: tableAddress(table),
    killStore: () => store.kill(),
    weedShell: (...lines) => {
      const addresses = [`-master=127.0.0.1:${ports.at(0)}`, `-filer=127.0.0.1:${ports.at(2)}`];
      const input = ['lock', ...lines, 'unlock', 'exit', ''].join('\n');
      return execFileSync(weed, ['shell', ...addresses], { input, encoding: 'utf8', timeout: START_MS });
    },
    killTable: () => table.kill(),
    restartStore: async () => void (store = await startStore()),
    restartTable: async () => void (table = await startItsTable()),
    stop: () => end(dir, children),
  };
}

/** As {@link startOwnStack}, with both kinds of table, in memory: what the integration tests of a run share. */
export async function startSharedStack(): Promise<{ stack: import('./stack.ts').Stack; stop(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), 'kelp-test-'));
  const children = createChildren(dir);
  const ports = await takePorts(SEAWEEDFS_PORTS + 2);
  const signal = AbortSignal.timeout(600_000);
  const [weed, modules] = await Promise.all([findWeed(installing(children)), findMinistack(installing(children))]);
  const common = { table: 'kelp', children, signal };
  const [store, dynoxide, ministack] = await Promise.all([
    startSeaweedFs({ dir, weed, ports, children, ...storeNames, signal }),
    startTable({ kind: 'dynoxide', port: ports.at(SEAWEEDFS_PORTS), ...common }),
    startTable({ kind: 'ministack', modules, port: ports.at(SEAWEEDFS_PORTS + 1), ...common }),
  ]);
  const stack = { store: storeAddress(store), filer: store.filer, dynoxide: tableAddress(dynoxide), ministack: tableAddress(ministack) };
  return { stack, stop: () => end(dir, children) };
}

const storeNames = { bucket: 'kelp', accessKey: 'kelp', secretKey: 'kelp-test-secret' };

function installing(children: Children): Installing {
  return { cacheDir: CACHE_DIR, children, say: (line) => console.error(`[stack] ${line}`), signal: AbortSignal.timeout(600_000) };
}

async function end(dir: string, children: Children): Promise<void> {
  await children.stopAll(0); // nobody needs the data any more
  rmSync(dir, { recursive: true, force: true });
}

const storeAddress = ({ endpoint, bucket, region, accessKey, secretKey }: SeaweedFs): StoreAddress => ({
  endpoint,
  bucket,
  region,
  accessKey,
  secretKey,
});

const tableAddress = ({ endpoint, table, region, accessKey, secretKey }: Table): TableAddress => ({
  endpoint,
  table,
  region,
  accessKey,
  secretKey,
});
