import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { offlineService } from '../../infra/local/offline-service.ts';

let dir: string;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'kelp-offline-'))));
afterEach(() => rmSync(dir, { recursive: true }));

const provider = { name: 'aws', runtime: 'nodejs24.x', region: 'eu-west-1', stage: 'dev', environment: { KELP_TABLE: { Ref: 'Table' } } };
const read = {
  handler: 'dist/functions/read.handler',
  timeout: 29,
  memorySize: 1024,
  role: 'ReadRole',
  environment: {
    KELP_PUBLIC_URL: { 'Fn::Sub': 'https://${HttpApi}' },
    KELP_S3_ENDPOINT: '{{resolve:ssm:/kelp/dev/s3-endpoint}}',
    KELP_S3_REGION: '{{resolve:ssm:/kelp/dev/s3-region}}',
    NODE_OPTIONS: '--enable-source-maps',
  },
  events: [{ httpApi: 'GET /v1/topics/{topic}/messages', resolvedMethod: 'GET' }],
  url: { invokeMode: 'RESPONSE_STREAM' },
  package: { artifact: '/packaged/read.zip', patterns: [] },
};
const rebalance = {
  handler: 'dist/functions/rebalance.handler',
  timeout: 55,
  events: [{ schedule: 'rate(1 minute)' }],
  package: { artifact: '/packaged/rebalance.zip' },
};
const environment = {
  KELP_PUBLIC_URL: 'http://127.0.0.1:7333',
  KELP_S3_ENDPOINT: 'http://127.0.0.1:8333',
  KELP_ROOT_TOKEN: 'root-token-of-the-test',
  KELP_TABLE_ENDPOINT: 'http://127.0.0.1:8000',
};

function serviceOf(functions: object, given: Readonly<Record<string, string>> = environment): object {
  writeFileSync(join(dir, 'serverless-state.json'), JSON.stringify({ service: { service: 'kelp', provider, functions } }));
  return offlineService(dir, { environment: given, host: '127.0.0.1', port: 7333, invokePort: 12_000 });
}

test('functions are as packaged, with their routes and schedules; what the stack looks up is what is known here', () => {
  const table = { KELP_TABLE: 'kelp', KELP_TABLE_ENDPOINT: 'http://127.0.0.1:8000' };
  expect(serviceOf({ read, rebalance })).toMatchObject({
    service: 'kelp',
    provider: { name: 'aws', runtime: 'nodejs24.x', region: 'eu-west-1', stage: 'dev' },
    functions: {
      read: {
        handler: 'dist/functions/read.handler',
        timeout: 29,
        memorySize: 1024,
        events: [{ httpApi: 'GET /v1/topics/{topic}/messages' }],
        package: { artifact: '/packaged/read.zip' },
      },
      rebalance: { timeout: 55, events: [{ schedule: 'rate(1 minute)' }] },
    },
    custom: { 'serverless-offline': { host: '127.0.0.1', httpPort: 7333, lambdaPort: 12_000 } },
  });
  const { functions } = serviceOf({ read, rebalance }) as { functions: Record<string, { environment: object; events: object[] }> };
  // No token, which it doesn't ask for; no region, which has a default.
  expect(functions['read']?.environment).toEqual({
    ...table,
    KELP_PUBLIC_URL: 'http://127.0.0.1:7333',
    KELP_S3_ENDPOINT: 'http://127.0.0.1:8333',
    NODE_OPTIONS: '--enable-source-maps',
  });
  expect(functions['rebalance']?.environment).toEqual(table);
  // The configuration takes nothing that it doesn't know.
  expect(functions['read']?.events).toEqual([{ httpApi: 'GET /v1/topics/{topic}/messages' }]);
  expect(functions['read']).not.toHaveProperty('role');
});

test('a table of another name is told to all of them', () => {
  const { functions } = serviceOf({ rebalance }, { ...environment, KELP_TABLE: 'other' }) as { functions: typeof provider };
  expect(functions).toMatchObject({ rebalance: { environment: { KELP_TABLE: 'other' } } });
});

test('a package that is not one is refused', () => {
  expect(() => serviceOf({ read: { ...read, package: {} } })).toThrow('artifact');
});
