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

/** The bundles that are deployed. */
export type BuiltFunctions = {
  /** A fresh instance of the broker: the module is run anew, as at a cold start. */
  broker(store: StoreAddress, table: TableAddress): Promise<FunctionHandler>;
  /** The same of the rebalancer, which knows of no store; `environment`: besides the table's. */
  rebalance(table: TableAddress, environment?: Readonly<Record<string, string>>): Promise<ScheduleHandler>;
  remove(): void;
};

export async function buildFunctions(): Promise<BuiltFunctions> {
  const dir = mkdtempSync(join(tmpdir(), 'kelp-function-'));
  await promisify(execFile)(process.execPath, [join(ROOT, 'infra', 'build.ts'), dir], { cwd: ROOT });
  let instances = 0;

  async function coldStart<H>(name: string, environment: Readonly<Record<string, string>>): Promise<H> {
    for (const variable of Object.keys(process.env))
      if (/^KELP_(S3|TABLE|ROOT|SECRET|INTERNAL)/.test(variable)) delete process.env[variable];
    Object.assign(process.env, environment);
    instances += 1;
    const bundle = (await import(`${pathToFileURL(join(dir, `${name}.mjs`)).href}?${instances}`)) as { handler: H };
    return bundle.handler;
  }

  return {
    broker: (store, table) => coldStart('broker', { ...tableVariables(table), ...storeVariables(store), ...SECRETS }),
    rebalance: (table, environment = {}) => coldStart('rebalance', { ...tableVariables(table), ...environment }),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

const SECRETS = { KELP_ROOT_TOKEN: ROOT_TOKEN, KELP_SECRET: 'a-secret-of-the-test' };

const tableVariables = ({ endpoint, table }: TableAddress) => ({ KELP_TABLE_ENDPOINT: endpoint, KELP_TABLE: table });

const storeVariables = (store: StoreAddress) => ({
  KELP_S3_ENDPOINT: store.endpoint,
  KELP_S3_BUCKET: store.bucket,
  KELP_S3_REGION: store.region,
  KELP_S3_ACCESS_KEY: store.accessKey,
  KELP_S3_SECRET_KEY: store.secretKey,
});
