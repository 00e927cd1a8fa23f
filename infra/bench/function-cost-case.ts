import type { Context } from 'aws-lambda';
import { randomBytes } from 'node:crypto';
import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createLeanStore } from '../../src/adapters/s3/lean-store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { assembleBrokerFunction } from '../../src/cli/assemble-broker-function.ts';
import { readFunctionConfiguration } from '../../src/cli/function-configuration.ts';
import { apiEvent, invocationContext } from './api-event.ts';
import { costOf } from './function-prices.ts';
import type { Bench } from './measure.ts';
import { meterStores, type Asked } from './metered-stores.ts';
import { percentile } from './percentile.ts';
import { toRow } from './row.ts';
import { storeVariables } from './stack.ts';
import { createTopic } from './topic.ts';

const SHAPES = [
  { messages: 1, requests: 400 },
  { messages: 10, requests: 200 },
  { messages: 100, requests: 100 },
  { messages: 1_000, requests: 40 },
] as const;
const VALUE_BYTES = 1_000;
/** Of serverless.yml. */
const GIGABYTES = 1;
const MILLION = 1_000_000;

/** (p) What one instance of the broker's function asks of both stores for each request, one after the other, and what that costs. */
export async function measureFunctionCosts(bench: Bench): Promise<void> {
  const { stack, signal } = bench;
  const configuration = readFunctionConfiguration({
    KELP_ROOT_TOKEN: stack.token,
    KELP_SECRET: stack.token,
    ...storeVariables(stack),
    KELP_TABLE: stack.table.table,
    KELP_TABLE_ENDPOINT: stack.table.endpoint,
  });
  const clock = createSystemClock();
  const metered = meterStores(createLeanTable({ ...configuration.table, clock }), createLeanStore({ ...configuration.store, clock }));
  const handler = assembleBrokerFunction(configuration, { ...metered, clock, write: () => undefined, onTerminate: () => undefined });
  for (const { messages, requests } of SHAPES) {
    const name = `bench-p-${messages}`;
    await createTopic(bench, name, 1);
    const body = bodyOf(messages);
    const headers = { authorization: `Bearer ${stack.token}`, 'content-type': 'application/json', 'content-length': String(body.length) };
    const event = apiEvent({ method: 'POST', target: `/v1/topics/${name}/messages`, headers, body });
    const publish = async (): Promise<number> => {
      const beganMs = performance.now();
      const result = await handler(event, invocationContext() as Context);
      if (result.statusCode !== 200) throw new RangeError(`the function answered ${JSON.stringify(result)}`);
      return performance.now() - beganMs;
    };
    bench.say(`p: ${requests} requests of ${messages} messages`);
    await publish();
    metered.take();
    const times: number[] = [];
    for (let n = 0; n < requests && !signal.aborted; n += 1) times.push(await publish());
    record(bench, { messages, requests, bytes: body.length }, { asked: metered.take(), times });
  }
}

type Shape = { readonly messages: number; readonly requests: number; readonly bytes: number };
type Measured = { readonly asked: Asked; readonly times: readonly number[] };

function record(bench: Bench, { messages, requests, bytes }: Shape, { asked, times }: Measured): void {
  const each = Object.fromEntries(Object.entries(asked).map(([name, count]) => [name, count / requests])) as Asked;
  const [p50Ms, p99Ms] = [percentile(times, 0.5), percentile(times, 0.99)];
  const cost = costOf({ asked: each, ms: p50Ms, gigabytes: GIGABYTES, bytes });
  const perMillion = (dollars: number): string => `$${((dollars / messages) * MILLION).toPrecision(2)}`;
  const label =
    `${messages} of 1,000 bytes a request: ${each.puts.toFixed(2)} PUTs, ${each.writes.toFixed(2)} writes (${each.writeUnits.toFixed(2)} units), ` +
    `${each.reads.toFixed(2)} reads (${each.readUnits.toFixed(2)} units); a million messages: functions ${perMillion(cost.functions)}, ` +
    `table ${perMillion(cost.table)}, API ${perMillion(cost.gateway)}`;
  const seconds = times.reduce((sum, ms) => sum + ms, 0) / 1_000;
  bench.note({ kind: 'cost', case: 'p', messages, requests, bytes, asked, p50Ms, cost });
  bench.record(
    toRow({
      names: { kind: 'kelp', case: `p ${messages}`, label, client: 'lean' },
      result: { requests, errors: 0, bytes: requests * messages * VALUE_BYTES, seconds, p50Ms, p99Ms, cpuSeconds: 0 },
      payload: { messages: requests * messages, bytes: requests * messages * VALUE_BYTES },
      costs: { cpuSeconds: {}, operations: { puts: asked.puts, tableOperations: asked.writes + asked.reads } },
    }),
  );
}

/** Values that compress by a quarter at most, and keys that lie all over. */
function bodyOf(messages: number): Buffer {
  return Buffer.from(JSON.stringify({ messages: Array.from({ length: messages }, (_, n) => ({ key: `k${n}`, value: randomText() })) }));
}

const randomText = (): string => randomBytes(VALUE_BYTES).toString('base64').slice(0, VALUE_BYTES);
