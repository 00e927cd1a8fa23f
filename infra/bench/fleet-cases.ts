import { setTimeout as sleep } from 'node:timers/promises';
import { LEAVING_STOP_MS } from '../local/broker.ts';
import type { BenchBroker, BenchFleet } from './fleet-stack.ts';
import { postOnce } from './lean-kelp.ts';
import { runLoop } from './lean-loop.ts';
import type { PostLoad } from './load.ts';
import { type Bench, measure, warmUp } from './measure.ts';
import { randomSingles, VALUE_BYTES } from './payloads.ts';
import { postLoad } from './publish-cases.ts';
import { rowOfIdle, type Row, toRow } from './row.ts';
import { createTopic } from './topic.ts';

const SEGMENT = 's0000000';
const FORWARD_PER_SECOND = 200;
const ROLLING_PER_SECOND = 500;
/** Enough that a slow answer doesn't keep the next request from leaving in time. */
const CLIENTS = 64;
const ROLLING_SEGMENTS = 4;
/** Longer than a restart takes: the load ends with the last of them. */
const ROLLING_SECONDS_MAX = 300;
/** Between two restarts, and before the first. */
const CALM_MS = 1_000;
const IDLE_MS = 60_000;

/** The bench as if this were the only broker: what the others cost isn't counted. */
export const benchOf = (bench: Bench, broker: BenchBroker): Bench => ({
  ...bench,
  stack: { ...bench.stack, url: broker.url, children: { ...bench.stack.children, broker: broker.child() } },
});

/** (h) The same steady rate to a broker that serves the segment, to one that hands everything on, and to the first again. */
export async function measureForward(bench: Bench, fleet: BenchFleet): Promise<void> {
  await fleet.whole();
  const topic = 'bench-h';
  const [any] = fleet.brokers as [BenchBroker];
  await any.client.createTopic(topic);
  const assigned = (await any.client.assignment(topic, SEGMENT))?.brokers.map(({ id }) => fleet.byId(id)) ?? [];
  const [serving] = assigned as [BenchBroker];
  const [forwarding] = fleet.others(...assigned);
  const rows: Row[] = [];
  for (const [broker, what] of [
    [serving, 'direct'],
    [forwarding, 'forwarded'],
    [serving, 'direct'],
  ] as const) {
    const own = benchOf(bench, broker);
    const { load, payload } = postLoad(own, [], randomSingles(bench.dir));
    const target = `${broker.url}/v1/topics/${topic}/message`;
    const steady: PostLoad = { ...load, targets: [target], clients: CLIENTS, keyed: true, perSecond: FORWARD_PER_SECOND };
    await warmUp(own, steady);
    const label = `1 KiB, ${FORWARD_PER_SECOND} a second, to a broker that ${what === 'direct' ? 'serves' : 'hands on'}`;
    rows.push(await measure(own, { names: { kind: 'kelp', case: `h ${what}`, label }, load: steady, payload }));
  }
  rows.forEach(bench.record);
}

/** (k) All brokers are restarted, one after the other, while requests go to the others; each is sent once. */
export async function measureRollingRestart(bench: Bench, fleet: BenchFleet): Promise<void> {
  await fleet.whole();
  const [first] = fleet.brokers as [BenchBroker];
  const topic = await createTopic(benchOf(bench, first), 'bench-k', ROLLING_SEGMENTS);
  for (const { segment } of await topic.segments()) await first.client.assignment('bench-k', segment);
  const body = Buffer.alloc(VALUE_BYTES, 'k');
  const over = new AbortController();
  let restarting: BenchBroker | undefined;
  let longestMs = 0;

  const loading = runLoop(
    { clients: CLIENTS, perSecond: ROLLING_PER_SECOND, seconds: ROLLING_SECONDS_MAX, until: over.signal },
    async (n) => {
      const healthy = fleet.others(...(restarting === undefined ? [] : [restarting]));
      const { url } = healthy[n % healthy.length] ?? healthy[0];
      const beganMs = performance.now();
      const load = { token: bench.stack.token, contentType: 'application/octet-stream' };
      const bytes = await postOnce(`${url}/v1/topics/bench-k/message?key=${n}`, load, body);
      longestMs = Math.max(longestMs, performance.now() - beganMs);
      return bytes;
    },
  );
  try {
    await sleep(CALM_MS, undefined, { signal: bench.signal });
    for (const broker of fleet.brokers) {
      bench.say(`k: restarting ${broker.id} under ${ROLLING_PER_SECOND} requests a second`);
      restarting = broker;
      await broker.child().stop(LEAVING_STOP_MS);
      await fleet.whole();
      restarting = undefined;
      await sleep(CALM_MS, undefined, { signal: bench.signal });
    }
  } finally {
    over.abort();
  }
  const result = await loading;
  const label = `rolling restart of ${fleet.brokers.length} brokers, ${ROLLING_PER_SECOND} requests a second`;
  const names = { kind: 'kelp', case: 'k', label, client: 'lean' } as const;
  const payload = { messages: result.requests, bytes: result.bytes };
  bench.record({ ...toRow({ names, result, payload, costs: { cpuSeconds: {} } }), longestMs });
}

/** (l) What three brokers ask of the table while nobody asks anything of them. */
export async function measureIdle(bench: Bench, fleet: BenchFleet): Promise<void> {
  await fleet.whole();
  bench.say(`l: idle for ${IDLE_MS / 1_000} s`);
  const read = (): Promise<number[]> => Promise.all(fleet.brokers.map(({ client }) => client.tableOperations()));
  const before = await read();
  await sleep(IDLE_MS, undefined, { signal: bench.signal });
  const after = await read();
  const perMinute = after.map((count, i) => ((count - (before[i] ?? 0)) * 60_000) / IDLE_MS);
  const label = `idle brokers: ${perMinute.map((count) => count.toFixed(0)).join(', ')} table operations a minute`;
  bench.record(rowOfIdle({ case: 'l', label }, { perMinute, seconds: IDLE_MS / 1_000 }));
}
