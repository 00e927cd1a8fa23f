import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { ScheduleHandler } from '../../src/cli/schedule-handler.ts';
import type { FunctionHandler } from '../../src/http/function-handler.ts';
import type { StoreAddress, TableAddress } from '../stack.ts';
import { ROOT_TOKEN } from './run-serve.ts';

const ROOT = join(import.meta.dirname, '..', '..');

export type HttpFunction = 'broker' | 'read' | 'readBuffered' | 'leader';

/** The one behind API Gateway is another handler of a bundle that has one of its own. */
const BUFFERED = { bundle: 'read', handler: 'buffered' } as const;

/** The bundles that are deployed. */
export type BuiltFunctions = {
  /** Fresh instances of those behind HTTP, by one handler: each event goes to the one whose path it has, as the gateway has it. */
  api(store: StoreAddress, table: TableAddress): Promise<FunctionHandler>;
  /** A fresh instance of one: the module is run anew, as at a cold start. `environment`: besides the stores' and the secrets. */
  one(
    name: HttpFunction,
    store: StoreAddress,
    table: TableAddress,
    environment?: Readonly<Record<string, string>>,
  ): Promise<FunctionHandler>;
  /** The same of the rebalancer, which knows of no store; `environment`: besides the table's. */
  rebalance(table: TableAddress, environment?: Readonly<Record<string, string>>): Promise<ScheduleHandler>;
  /** The same of the one that sweeps. */
  sweep(store: StoreAddress, table: TableAddress): Promise<ScheduleHandler>;
  /** The same of the one that archives. */
  archive(store: StoreAddress, table: TableAddress): Promise<ScheduleHandler>;
  /** Where a bundle is. */
  file(name: string): string;
  remove(): void;
};

export async function buildFunctions(): Promise<BuiltFunctions> {
  const dir = mkdtempSync(join(tmpdir(), 'kelp-function-'));
  await promisify(execFile)(process.execPath, [join(ROOT, 'infra', 'build.ts'), dir], { cwd: ROOT });
  let instances = 0;

  async function coldStart<H>(name: string, environment: Readonly<Record<string, string>>): Promise<H> {
    for (const variable of Object.keys(process.env))
      if (/^KELP_(S3|TABLE|ROOT|SECRET|INTERNAL|PUBLIC)/.test(variable)) delete process.env[variable];
    Object.assign(process.env, environment);
    instances += 1;
    const before = process.listeners('SIGTERM');
    const { bundle, handler } = name === 'readBuffered' ? BUFFERED : { bundle: name, handler: 'handler' };
    const loaded = (await import(`${pathToFileURL(join(dir, `${bundle}.mjs`)).href}?${instances}`)) as Readonly<Record<string, H>>;
    // An instance has a process of its own to end; this one is the test's.
    for (const added of process.listeners('SIGTERM')) if (!before.includes(added)) process.off('SIGTERM', added);
    return loaded[handler] as H;
  }

  const one: BuiltFunctions['one'] = (name, store, table, environment = {}) =>
    coldStart(name, { ...functionVariables(store, table), ...environment });

  return {
    one,
    async api(store, table) {
      const handlers = {
        broker: await one('broker', store, table),
        readBuffered: await one('readBuffered', store, table),
        leader: await one('leader', store, table),
      };
      return (event, context) => handlers[functionOf(event)](event, context);
    },
    rebalance: (table, environment = {}) => coldStart('rebalance', { ...tableVariables(table), ...environment }),
    sweep: (store, table) => coldStart('sweep', { ...tableVariables(table), ...storeVariables(store) }),
    archive: (store, table) => coldStart('archive', { ...tableVariables(table), ...storeVariables(store) }),
    file: (name) => join(dir, `${name}.mjs`),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

const READ = /^\/v1\/topics\/[^/]+\/(?:(?:segments\/[^/]+\/)?messages|files)$/;
const TRUNCATE = /^\/v1\/topics\/[^/]+\/truncate$/;
const LEAD = /^\/v1\/(?:topics\/[^/]+(?:\/segments\/(?:merge|[^/]+\/(?:brokers|split)))?|rebalance|sweep|brokers\/[^/]+\/drain)$/;

/** Where the gateway of the stack sends an event. */
export function functionOf({ rawPath, requestContext }: Parameters<FunctionHandler>[0]): Exclude<HttpFunction, 'read'> {
  const isGet = ['GET', 'HEAD'].includes(requestContext.http.method);
  if (isGet) return READ.test(rawPath) ? 'readBuffered' : 'broker';
  if (TRUNCATE.test(rawPath)) return 'readBuffered';
  return LEAD.test(rawPath) ? 'leader' : 'broker';
}

const SECRETS = { KELP_ROOT_TOKEN: ROOT_TOKEN, KELP_SECRET: 'a-secret-of-the-test' };

/** The environment of those behind HTTP; the others need less. */
export const functionVariables = (store: StoreAddress, table: TableAddress): Record<string, string> => ({
  ...tableVariables(table),
  ...storeVariables(store),
  ...SECRETS,
});

const tableVariables = ({ endpoint, table }: TableAddress) => ({ KELP_TABLE_ENDPOINT: endpoint, KELP_TABLE: table });

const storeVariables = (store: StoreAddress) => ({
  KELP_S3_ENDPOINT: store.endpoint,
  KELP_S3_BUCKET: store.bucket,
  KELP_S3_REGION: store.region,
  KELP_S3_ACCESS_KEY: store.accessKey,
  KELP_S3_SECRET_KEY: store.secretKey,
});
