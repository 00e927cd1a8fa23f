import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FunctionFleet, startFunctionFleet } from '../../../infra/bench/function-fleet.ts';
import { type FunctionLoad, runFunctionLoad } from '../../../infra/bench/function-load.ts';
import { startThrottledTable, type ThrottledTable } from '../../../infra/bench/throttled-table.ts';
import { topicOf } from '../../../infra/bench/topic.ts';
import { createKelpClient } from '../../../infra/demo/kelp-client.ts';
import { createChildren } from '../../../infra/local/processes.ts';
import { freshTable, sharedStack } from '../../stack.ts';
import { functionVariables } from '../built-functions.ts';
import { ROOT_TOKEN as token } from '../run-serve.ts';

// The bench's load of functions, smaller: instances of the bundles that are deployed, in processes of their own, on a table that
// throttles each key.

const TEST_MS = 120_000;
const TOPIC = 'load';
const LOAD: FunctionLoad = {
  calm: { instances: 2, seconds: 2, perSecond: 4 },
  flood: { instances: 24, seconds: 14, perSecond: 40 },
  rebalanceMs: 1_000,
};
const { signal } = new AbortController();
const dir = mkdtempSync(join(tmpdir(), 'kelp-function-load-'));
const children = createChildren(dir);
let table: ThrottledTable;
let fleet: FunctionFleet;
beforeAll(async () => {
  const address = await freshTable('dynoxide', AbortSignal.timeout(TEST_MS));
  table = await startThrottledTable({ target: address.endpoint, unitsPerSecond: 50, burstSeconds: 1, nowMs: () => performance.now() });
  const variables = functionVariables(sharedStack().store, { ...address, endpoint: table.url });
  const environment = { ...variables, KELP_INTERNAL_SECRET: 'an-internal-secret-of-the-test' };
  const instances = LOAD.calm.instances + LOAD.flood.instances;
  fleet = await startFunctionFleet({ dir, children, environment, instances, perProcess: 13, signal });
}, TEST_MS);
afterAll(async () => {
  await children.stopAll(0);
  await table.close();
  rmSync(dir, { recursive: true, force: true });
});

test(
  'cold instances flood one segment of a table that throttles: each publish ends acknowledged or may be sent again, segments split, all is in order',
  async () => {
    const settings = { segments: 1, scaling: { maxSegments: 16, targetCommitsPerSecond: 5 } };
    await createKelpClient({ url: fleet.leader, token, topic: TOPIC, signal }).createTopic(settings);
    const { published, findings, rebalanced } = await runFunctionLoad({ fleet, token, topic: TOPIC, signal }, LOAD);
    expect(published.filter(({ outcome, isRetryable }) => outcome === 'failed' && isRetryable !== true)).toEqual([]);
    expect(findings).toEqual([]);
    expect(rebalanced.failed).toEqual([]);
    expect(published.filter(({ outcome }) => outcome === 'acknowledged').length).toBeGreaterThan(published.length / 4);
    // Something was to be relieved; a throttled instance or the schedule has done it.
    expect(table.counts().refused).toBeGreaterThan(0);
    const events = await topicOf({ url: fleet.broker(0), token }, TOPIC, signal).events();
    expect(events.length).toBeGreaterThan(0);
    expect(rebalanced.done).toBeGreaterThan(0);
  },
  TEST_MS,
);
