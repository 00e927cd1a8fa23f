import { createTable } from '../../src/adapters/dynamodb/create-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { Configuration } from '../../src/cli/configuration.ts';
import { KelpError } from '../../src/model/errors.ts';
import { makeBucket } from './make-bucket.ts';
import type { PortBlock } from './ports.ts';
import type { Child, Children } from './processes.ts';
import { SEAWEEDFS_PORTS, startSeaweedFs } from './seaweedfs.ts';
import { startTable } from './table.ts';
import { CACHE_DIR, findWeed } from './tools.ts';
import { readUploadOrigins } from './upload-origins.ts';

export const STORE_PORT = 3;
export const TABLE_PORT = SEAWEEDFS_PORTS;
const SERVICE_MS = 10_000;

export type StoresOptions = {
  /** As given: a store that it names is not started here. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly configuration: Configuration;
  readonly children: Children;
  readonly ports: PortBlock;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
};

/** Starts the stores that the environment doesn't name, and makes bucket and table in the others. */
export async function startStores(options: StoresOptions): Promise<Child[]> {
  const started = await Promise.allSettled([startStore(options), startItsTable(options)]);
  // Both have ended one way or the other: nothing starts behind the back of the stop that follows a failure.
  return started.flatMap((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

async function startStore({ environment, configuration, children, ports, say, signal }: StoresOptions): Promise<Child[]> {
  const origins = readUploadOrigins(environment);
  if (environment['KELP_S3_ENDPOINT']) {
    await usable('the store', configuration.store.endpoint, (limited) => makeBucket(configuration.store, origins, limited), signal);
    return [];
  }
  const { bucket, accessKey = '', secretKey = '' } = configuration.store;
  const weed = await findWeed({ cacheDir: CACHE_DIR, children, say, signal });
  say('starting SeaweedFS');
  const allowed = origins === undefined ? {} : { origins };
  const store = await startSeaweedFs({ dir: children.dir, weed, ports, children, bucket, accessKey, secretKey, ...allowed, signal });
  return [store.child];
}

async function startItsTable({ environment, configuration, children, ports, signal }: StoresOptions): Promise<Child[]> {
  if (environment['KELP_TABLE_ENDPOINT']) {
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
