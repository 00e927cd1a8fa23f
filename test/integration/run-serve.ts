import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { StoreAddress, TableAddress } from '../stack.ts';
import { bareEnvironment } from './bare-environment.ts';

const ENTRY = join(import.meta.dirname, '..', '..', 'src', 'cli', 'serve.ts');
export const ROOT_TOKEN = 'root-token-of-the-test';

export type Served = {
  readonly url: string;
  readonly pid: number;
  signal(name: NodeJS.Signals): void;
  readonly exited: Promise<{ readonly code: number | null; readonly errors: string }>;
};

export type ServeOptions = {
  readonly store: StoreAddress;
  readonly table: TableAddress;
  /** Default: any free one. */
  readonly port?: number;
  /** Besides what every broker of a test has. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Modules that are loaded before the broker's own. */
  readonly imports?: readonly string[];
  /** Where its log goes; default: to the test. */
  readonly log?: number;
};

/** Runs the broker's process on these stores; resolves once it listens. */
export async function runServe({ store, table, port = 0, environment = {}, imports = [], log }: ServeOptions): Promise<Served> {
  const child = spawn(process.execPath, [...imports.flatMap((file) => ['--import', file]), ENTRY], {
    env: {
      ...bareEnvironment(),
      KELP_PORT: String(port),
      KELP_ROOT_TOKEN: ROOT_TOKEN,
      KELP_SECRET: 'a-secret-of-the-test',
      KELP_S3_ENDPOINT: store.endpoint,
      KELP_S3_BUCKET: store.bucket,
      KELP_S3_REGION: store.region,
      KELP_S3_ACCESS_KEY: store.accessKey,
      KELP_S3_SECRET_KEY: store.secretKey,
      KELP_TABLE_ENDPOINT: table.endpoint,
      KELP_TABLE: table.table,
      // At no time of its own, where a test counts or spoils requests.
      KELP_SWEEP_MS: '0',
      KELP_ARCHIVE_MS: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', log ?? 'pipe'],
  });
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk));
  const exited = new Promise<Awaited<Served['exited']>>((resolve) => child.once('close', (code) => resolve({ code, errors })));
  const url = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      const found = /serving on (http:\S+)/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('close', () => reject(new Error(`ended before it served: ${errors}`)));
  });
  return { url, pid: child.pid ?? 0, signal: (name) => void child.kill(name), exited };
}

/** A client of one server, as the root. */
export function callerOf({ url }: Pick<Served, 'url'>): (method: string, path: string, body?: unknown) => Promise<Response> {
  return (method, path, body) =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${ROOT_TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
}
