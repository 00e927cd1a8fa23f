import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OSLS, packageFunctions } from '../../infra/local/package-functions.ts';
import { takePorts } from '../../infra/local/ports.ts';
import { type Children, createChildren, lastLogLine } from '../../infra/local/processes.ts';
import { CACHE_DIR, findMinistack } from '../../infra/local/tools.ts';
import { untilReady } from '../../infra/local/until.ts';
import { createHttpServer } from '../../src/cli/http-server.ts';
import type { StoreAddress } from '../stack.ts';
import { ROOT_TOKEN } from './run-serve.ts';

const START_MS = 120_000;
const STAGE = 'dev';
/** What stands for a minute of the schedule. */
const MINUTE_S = 5;
/** The platform's own user: it may do anything. */
const DEPLOYER = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_REGION: 'us-east-1' };
/** Of one connection. */
const HOP_HEADERS = ['host', 'connection', 'keep-alive', 'transfer-encoding'];
const LAUNCH = `
import ministack.services.eventbridge as events, runpy
rate = events._parse_rate_seconds
events._SCHEDULER_TICK_INTERVAL = 1
events._parse_rate_seconds = lambda text: ${MINUTE_S} * seconds // 60 if (seconds := rate(text)) else None
runpy.run_module('ministack', run_name='__main__')
`;

export type Invoked = { readonly status: number; /** Where the function has failed. */ readonly failed: boolean; readonly payload: string };

export type DeployedStack = {
  /** Of the HTTP API. */
  readonly url: string;
  /** Calls a function by its name, with what a schedule sends, and waits for it. */
  invoke(name: string): Promise<Invoked>;
  /** What a function has written, lines of the platform between. */
  logOf(name: string): Promise<string>;
  /** What the platform has written. */
  readonly logFile: string;
  stop(): Promise<void>;
};

/**
 * The stack of serverless.yml, made by `osls deploy` in ministack as it would be in an account: parameters and secret first, then
 * the packaged functions by CloudFormation. The platform checks each call's signature and the role of whoever makes it. What
 * ministack can't do is done here: a minute of the schedule takes five seconds; functions are told by its own environment where the
 * table is, which in an account they know; the HTTP API has a domain of its own (`publicUrl`), since nobody reaches the one that
 * the template would give it. Concurrency isn't reserved there, so that as many run at once as are started; and nothing streams.
 */
export async function deployStack(store: StoreAddress): Promise<DeployedStack> {
  const dir = mkdtempSync(join(tmpdir(), 'kelp-deployed-'));
  const children = createChildren(dir);
  let api = '';
  const domain = createHttpServer((request) => handOn(request, api));
  const stop = async (): Promise<void> => {
    await children.stopAll(0); // nobody needs the data any more
    await domain.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  try {
    const ports = await takePorts(1);
    const endpoint = `http://127.0.0.1:${ports.at(0)}`;
    const url = `http://127.0.0.1:${await domain.listen('127.0.0.1', 0)}`;
    const folder = join(dir, 'functions');
    const [logFile] = await Promise.all([
      startMinistack(children, endpoint),
      packageFunctions(folder, { children, settings: { publicUrl: url }, signal: AbortSignal.timeout(START_MS) }),
    ]);
    await putSettings(endpoint, store);
    await deploy(children, folder, endpoint);
    api = `${endpoint}/_aws/execute-api/${await apiId(endpoint)}/$default`;
    return {
      url,
      invoke: (name) => invoke(endpoint, name),
      logOf: (name) => logOf(endpoint, name),
      logFile,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** With its body whole, and its length: that is how the platform takes it. */
async function handOn(request: Request, api: string): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const body = Buffer.from(await request.arrayBuffer());
  const headers = Object.fromEntries([...request.headers].filter(([name]) => !HOP_HEADERS.includes(name)));
  return fetch(`${api}${pathname}${search}`, { method: request.method, headers, ...(body.length === 0 ? {} : { body }) });
}

async function startMinistack(children: Children, endpoint: string): Promise<string> {
  const signal = AbortSignal.timeout(START_MS);
  const modules = await findMinistack({ cacheDir: CACHE_DIR, children, say: (line) => console.error(`[stack] ${line}`), signal });
  const env = {
    PYTHONPATH: modules,
    BIND_HOST: '127.0.0.1',
    GATEWAY_PORT: new URL(endpoint).port,
    LAMBDA_EXECUTOR: 'local',
    IOT_MTLS_ENABLED: 'false',
    AUTH: 'true',
    // Where the functions' code goes, and would stay.
    TMPDIR: children.dir,
    // The functions get what it has itself.
    KELP_TABLE_ENDPOINT: endpoint,
  };
  const child = await children.start({ name: 'ministack', file: process.env['PYTHON'] ?? 'python3', args: ['-c', LAUNCH], env });
  const attempt = (own: AbortSignal): Promise<unknown> => fetch(`${endpoint}/_ministack/health`, { signal: own });
  await untilReady({ what: 'ministack', waitMs: START_MS, signal, child }, attempt);
  return child.logFile;
}

/** What infra/README.md says must be there before. */
async function putSettings(endpoint: string, store: StoreAddress): Promise<void> {
  const parameters = { 's3-endpoint': store.endpoint, 's3-bucket': store.bucket, 's3-region': store.region };
  for (const [name, Value] of Object.entries(parameters))
    await call(endpoint, 'ssm', 'AmazonSSM.PutParameter', { Name: `/kelp/${STAGE}/${name}`, Value, Type: 'String' });
  const secret = {
    rootToken: ROOT_TOKEN,
    secret: 'a-secret-of-the-test',
    internalSecret: 'an-internal-secret-of-the-test',
    s3AccessKey: store.accessKey,
    s3SecretKey: store.secretKey,
  };
  await call(endpoint, 'secretsmanager', 'secretsmanager.CreateSecret', { Name: `/kelp/${STAGE}`, SecretString: JSON.stringify(secret) });
}

async function deploy(children: Children, folder: string, endpoint: string): Promise<void> {
  const env = { ...DEPLOYER, AWS_ENDPOINT_URL: endpoint, SLS_AWS_MONITORING_FREQUENCY: '200' };
  const args = [OSLS, 'deploy', '--package', '.serverless'];
  const child = await children.start({ name: 'deploy', file: process.execPath, args, cwd: folder, env });
  const { code } = await child.exited;
  if (code !== 0) throw new Error(`osls deploy: ${lastLogLine(child)} (see ${child.logFile})`);
}

async function apiId(endpoint: string): Promise<string> {
  const { items } = JSON.parse(await ask('apigateway', `${endpoint}/v2/apis`)) as { items: { apiId: string }[] };
  if (items.length !== 1) throw new Error(`there are ${items.length} HTTP APIs`);
  return items[0]?.apiId ?? '';
}

async function logOf(endpoint: string, name: string): Promise<string> {
  const asked = { logGroupName: `/aws/lambda/kelp-${STAGE}-${name}`, limit: 10_000 };
  const { events } = JSON.parse(await call(endpoint, 'logs', 'Logs_20140328.FilterLogEvents', asked)) as { events: { message: string }[] };
  return events.map(({ message }) => message).join('\n');
}

async function invoke(endpoint: string, name: string): Promise<Invoked> {
  const scheduled = { source: 'aws.events', 'detail-type': 'Scheduled Event', detail: {} };
  const path = `/2015-03-31/functions/kelp-${STAGE}-${name}/invocations`;
  const answer = await fetch(`${endpoint}${path}`, { method: 'POST', headers: signedAs('lambda'), body: JSON.stringify(scheduled) });
  return { status: answer.status, failed: answer.headers.has('x-amz-function-error'), payload: await answer.text() };
}

function call(endpoint: string, service: string, operation: string, asked: object): Promise<string> {
  const headers = { 'x-amz-target': operation, 'content-type': 'application/x-amz-json-1.1' };
  return ask(service, endpoint, { method: 'POST', headers, body: JSON.stringify(asked) });
}

type Asking = { readonly method: string; readonly headers: Readonly<Record<string, string>>; readonly body: string };

async function ask(service: string, url: string, { headers = {}, ...asking }: Partial<Asking> = {}): Promise<string> {
  const answer = await fetch(url, { ...asking, headers: { ...signedAs(service), ...headers } });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${service} at ${url}: ${answer.status} ${text}`);
  return text;
}

/** Its own user's signatures aren't checked. */
const signedAs = (service: string) => ({
  authorization: `AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=none`,
});
