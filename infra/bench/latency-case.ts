import type { LatencyLoad } from './load.ts';
import { type Bench, measure, rawPayload, warmUp } from './measure.ts';
import { VALUE_BYTES } from './payloads.ts';
import { putLoad } from './raw.ts';
import { createTopic } from './topic.ts';

const PER_SECOND = 200;
/** Enough that a slow answer doesn't keep the next request from leaving in time. */
const CLIENTS = 64;

/** (d) A steady rate that is far from the limit: raw PUT, raw conditional update, then publishes with a reader that waits. */
export async function measureLatency(bench: Bench): Promise<void> {
  const { stack, seconds } = bench;
  const pace = { clients: CLIENTS, seconds, perSecond: PER_SECOND };
  const label = `1 KiB, ${PER_SECOND} a second`;
  const put = { ...putLoad(bench, { bytes: VALUE_BYTES, clients: CLIENTS }), ...pace };
  bench.record(await measure(bench, { names: { kind: 'raw', case: 'd put', label }, load: put, payload: rawPayload }));
  const update = { mode: 'update', table: stack.table, ...pace } as const;
  const updateNames = { kind: 'raw', case: 'd update', label: `conditional update, ${PER_SECOND} a second` } as const;
  bench.record(await measure(bench, { names: updateNames, load: update, payload: rawPayload }));

  const topic = await createTopic(bench, 'bench-d', 1);
  const [segment] = await topic.segments();
  if (segment === undefined) throw new RangeError('a topic has a segment');
  const load: LatencyLoad = {
    mode: 'latency',
    ...pace,
    token: stack.token,
    targets: [topic.messageUrl],
    stream: `${topic.url}/segments/${segment.segment}/messages`,
    contentType: 'text/plain',
    bytes: VALUE_BYTES,
    keyed: true,
  };
  await warmUp(bench, load);
  const names = { kind: 'kelp', case: 'd', label: `${label}, one message a request, a reader waits` } as const;
  bench.record(await measure(bench, { names, load, payload: rawPayload }));
}
