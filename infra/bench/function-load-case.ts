import { randomBytes } from 'node:crypto';
import { createTable } from '../../src/adapters/dynamodb/create-table.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createKelpClient } from '../demo/kelp-client.ts';
import { type FunctionFleet, startFunctionFleet } from './function-fleet.ts';
import { type Load, runFunctionLoad } from './function-load.ts';
import type { Bench } from './measure.ts';
import { recordFlood } from './flood-rows.ts';
import { storeVariables } from './stack.ts';
import { startThrottledTable, type ThrottledTable } from './throttled-table.ts';
import { topicOf } from './topic.ts';
import { watchProcessors } from './watch-processors.ts';
import { watchTable } from './watch-table.ts';

/** Two cores can't run 200 processes, and memory would not take them. */
const PER_PROCESS = 10;
const UNITS_PER_SECOND = 50;
const BURST_SECONDS = 1;
const TARGET_COMMITS_PER_SECOND = 10;
const TOPIC = 'bench-n';
const SECRET_BYTES = 24;
const SEGMENTS_MAX = 64;
const SECOND_MS = 1_000;
const CALM: Load = { instances: 8, seconds: 20, perSecond: 8 };
const FLOOD: Omit<Load, 'instances'> = { seconds: 120, perSecond: 40 };
const REBALANCE_MS = 3_000;

/**
 * (n) Instances of the broker's function, all of them cold, publish to one segment on a table that takes so much of each key
 * and no more, while the schedule has it rebalanced.
 */
export async function measureFunctionLoad(bench: Bench): Promise<void> {
  const { stack, dir, instances, signal } = bench;
  const name = 'kelp-function-load';
  await createTable({ ...stack.table, table: name }, createSystemClock(), signal);
  const table = await startThrottledTable({
    target: stack.table.endpoint,
    unitsPerSecond: UNITS_PER_SECOND,
    burstSeconds: BURST_SECONDS,
    nowMs: () => performance.now(),
  });
  try {
    bench.say(`n: ${instances} instances of the function, ${PER_PROCESS} a process`);
    const environment = { ...environmentOf(bench), KELP_TABLE: name, KELP_TABLE_ENDPOINT: table.url };
    const all = instances + CALM.instances;
    const fleet = await startFunctionFleet({ dir, children: stack.all, environment, instances: all, perProcess: PER_PROCESS, signal });
    try {
      await load(bench, fleet, table);
    } finally {
      await fleet.stop();
    }
  } finally {
    await table.close();
  }
}

async function load(bench: Bench, fleet: FunctionFleet, table: ThrottledTable): Promise<void> {
  const { stack, instances, signal, say, note } = bench;
  const { token } = stack;
  await createKelpClient({ url: fleet.leader, token, topic: TOPIC, signal }).createTopic({
    segments: 1,
    scaling: { maxSegments: SEGMENTS_MAX, targetCommitsPerSecond: TARGET_COMMITS_PER_SECOND },
  });
  const topic = topicOf({ url: fleet.broker(instances), token }, TOPIC, signal);
  const watched = watchTable(table);
  const used = watchProcessors(fleet);
  const flooding = { calm: CALM, flood: { ...FLOOD, instances }, rebalanceMs: REBALANCE_MS };
  const run = await runFunctionLoad({ fleet, token, topic: TOPIC, signal }, flooding).finally(() => (watched.stop(), used.stop()));
  const { done, failed } = run.rebalanced;
  say(`n: ${done} starts of the rebalancer, ${failed.length} failed${failed[0] === undefined ? '' : ` (${failed[0]})`}`);
  for (const line of used.lines(run.beginMs + CALM.seconds * SECOND_MS)) note({ kind: 'processors', case: 'n', ...line });
  const [segments, events] = [await topic.segments(), await topic.events()];
  const writers = { before: CALM.instances, during: instances };
  recordFlood(bench, 'n', { ...run, writers, table: watched.moments, segments, events });
}

function environmentOf({ stack }: Bench): Record<string, string> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return {
    KELP_ROOT_TOKEN: stack.token,
    KELP_SECRET: secret,
    KELP_INTERNAL_SECRET: secret,
    ...storeVariables(stack),
    AWS_REGION: stack.table.region,
    AWS_ACCESS_KEY_ID: stack.table.accessKey,
    AWS_SECRET_ACCESS_KEY: stack.table.secretKey,
  };
}
