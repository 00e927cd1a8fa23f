import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTable } from '../../src/adapters/dynamodb/create-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { apiEvent } from './api-event.ts';
import type { Bench } from './measure.ts';
import { percentile } from './percentile.ts';
import { rowOfTimes } from './row.ts';
import { storeVariables } from './stack.ts';

/** Each in a process of its own. */
const ROUNDS = 10;
const TABLE = 'kelp-functions';
const TOPIC = '/v1/topics/cold';
const INSTANCE = join(import.meta.dirname, 'cold-instance.ts');
const BUILD = join(import.meta.dirname, '..', 'build.ts');

type FunctionCase = { readonly name: string; readonly handler?: string; readonly what: string; readonly event: object };
type Times = { readonly importMs: number; readonly importCpuMs: number; readonly firstMs: number; readonly warmMs: readonly number[] };

const SCHEDULED = { 'detail-type': 'Scheduled Event', source: 'aws.events' };

/** (o) The bundles that are deployed, each in processes that have just begun: until it is loaded, its first event, and later ones. */
export async function measureColdStarts(bench: Bench): Promise<void> {
  const folder = join(bench.dir, 'functions');
  await promisify(execFile)(process.execPath, [BUILD, folder], { signal: bench.signal });
  await createTable({ ...bench.stack.table, table: TABLE }, createSystemClock(), bench.signal);
  const request = requestOf(bench.stack.token);
  const cases: readonly FunctionCase[] = [
    { name: 'leader', what: 'a topic is there already', event: request('PUT', TOPIC, '{"partitionKey":"key"}') },
    { name: 'broker', what: 'one message of 1 KiB', event: request('POST', `${TOPIC}/message?key=a`, 'x'.repeat(1_024)) },
    { name: 'read', handler: 'buffered', what: 'one message', event: request('GET', `${TOPIC}/messages?limit=1`) },
    { name: 'rebalance', what: 'one topic is looked at', event: SCHEDULED },
    { name: 'sweep', what: 'nothing to remove', event: SCHEDULED },
  ];
  for (const one of cases) await measureOne(bench, folder, one);
}

async function measureOne(bench: Bench, folder: string, { name, handler = 'handler', what, event }: FunctionCase): Promise<void> {
  bench.say(`o: ${name}`);
  const called = [join(folder, `${name}.mjs`), handler, JSON.stringify(event)];
  const rounds: Times[] = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await start(bench, called));
  // What others at work don't change.
  const cpuMs = percentile(
    rounds.map(({ importCpuMs }) => importCpuMs),
    0.5,
  );
  bench.record(
    rowOfTimes(
      { case: `o ${name} import`, label: `the bundle is loaded, by ${cpuMs.toFixed(0)} ms of processor time` },
      rounds.map(({ importMs }) => importMs),
    ),
  );
  bench.record(
    rowOfTimes(
      { case: `o ${name} first`, label: `first: ${what}` },
      rounds.map(({ firstMs }) => firstMs),
    ),
  );
  const warm = rounds.map(({ warmMs }) => percentile(warmMs, 0.5));
  bench.record(rowOfTimes({ case: `o ${name} warm`, label: `later: ${what}, the median of each process` }, warm));
}

async function start({ stack, signal }: Bench, called: readonly string[]): Promise<Times> {
  const env = {
    PATH: process.env['PATH'],
    KELP_ROOT_TOKEN: stack.token,
    KELP_SECRET: stack.token,
    ...storeVariables(stack),
    KELP_TABLE: TABLE,
    // As in the stack: the first request registers the fleet, and asks who serves its segment.
    KELP_PUBLIC_URL: 'http://127.0.0.1:1',
    KELP_INTERNAL_SECRET: stack.token,
    KELP_TABLE_ENDPOINT: stack.table.endpoint,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [INSTANCE, ...called], { env, signal });
  return JSON.parse(stdout) as Times;
}

const requestOf = (token: string) => (method: string, target: string, body?: string) => {
  const authorization = `Bearer ${token}`;
  if (body === undefined) return apiEvent({ method, target, headers: { authorization } });
  const headers = { authorization, 'content-type': method === 'PUT' ? 'application/json' : 'text/plain' };
  return apiEvent({ method, target, headers, body: Buffer.from(body) });
};
