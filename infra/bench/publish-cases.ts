import type { PostLoad } from './load.ts';
import { type Bench, measure, warmUp } from './measure.ts';
import { type Bodies, flightsBatches, flightsJson, randomBatches, randomJson, randomSingles, REQUEST_FLIGHTS } from './payloads.ts';
import { describeShape, putBeside, putLoad, recorded, type Shape } from './raw.ts';
import { type Row, withReference } from './row.ts';
import { createTopic, type Topic } from './topic.ts';

const CLIENTS = 8;
const SINGLE_CLIENTS = 64;
const KIBIBYTE = 1_024;

/** (a) JSON of random bytes. */
export async function publishJson(bench: Bench, best: Shape): Promise<void> {
  const topic = await createTopic(bench, 'bench-a', 1);
  const load = postLoad(bench, [topic], randomJson(bench.dir));
  await besideRaw(bench, best, { case: 'a', label: 'JSON, 1,000 × 1 KiB a request, 8 clients', ...load });
}

/** (b) The same as record batches; answers the topic, for (e) to read. */
export async function publishBatches(bench: Bench, best: Shape): Promise<Topic> {
  const topic = await createTopic(bench, 'bench-b', 1);
  const load = postLoad(bench, [topic], await randomBatches(bench.dir, await topic.segments()));
  await besideRaw(bench, best, { case: 'b', label: 'record batches, 1,000 × 1 KiB a request, 8 clients', ...load });
  return topic;
}

/** (c) One message a request, beside raw PUTs of the same size by as many clients. */
export async function publishSingles(bench: Bench): Promise<void> {
  const topic = await createTopic(bench, 'bench-c', 1);
  const { load, payload } = postLoad(bench, [topic], randomSingles(bench.dir));
  const singles: PostLoad = { ...load, targets: [topic.messageUrl], clients: SINGLE_CLIENTS, keyed: true };
  const names = { kind: 'kelp', case: 'c', label: 'one message of 1 KiB a request, 64 clients' } as const;
  await warmUp(bench, singles);
  const shape = { bytes: KIBIBYTE, clients: SINGLE_CLIENTS };
  const raw = await recorded(bench, 'beside', { ...putLoad(bench, shape), seconds: bench.seconds / 2 });
  const row = await measure(bench, { names, load: singles, payload });
  bench.record(withReference(row, { what: `raw PUT ${describeShape(shape)}`, unit: 'requests' }, [raw.messagesPerSecond]));
}

/** (g) Flights. */
export async function publishFlights(bench: Bench, best: Shape): Promise<void> {
  const label = `of ${REQUEST_FLIGHTS} flights a request, 8 clients`;
  const json = await createTopic(bench, 'bench-g-json', 1);
  await besideRaw(bench, best, { case: 'g json', label: `JSON ${label}`, ...postLoad(bench, [json], await flightsJson(bench.dir)) });
  const batches = await createTopic(bench, 'bench-g-batches', 1);
  const bodies = await flightsBatches(bench.dir, await batches.segments());
  await besideRaw(bench, best, { case: 'g batches', label: `zstd record batches ${label}`, ...postLoad(bench, [batches], bodies) });
}

/** (f) Random keys over more and more segments, beside one segment. */
export async function publishToSegments(bench: Bench): Promise<void> {
  for (const form of ['json', 'batches'] as const) await publishToLayouts(bench, form);
}

/** One segment comes twice, so that a machine that gets slower meanwhile isn't taken for the cost of segments. */
const LAYOUTS = [
  { segments: 1, topics: 1 },
  { segments: 16, topics: 1 },
  { segments: 1, topics: 1 },
  { segments: 64, topics: 1 },
  { segments: 64, topics: 4 },
];

async function publishToLayouts(bench: Bench, form: 'json' | 'batches'): Promise<void> {
  const rows: Row[] = [];
  for (const [at, { segments, topics }] of LAYOUTS.entries()) {
    const made = await Promise.all(
      Array.from({ length: topics }, (_, topic) => createTopic(bench, `bench-f-${form}-${at}-${topic}`, segments)),
    );
    const [first] = made;
    if (first === undefined) throw new RangeError('a layout has a topic');
    const bodies = form === 'json' ? randomJson(bench.dir) : await randomBatches(bench.dir, await first.segments());
    const total = segments * topics;
    const label = `${total} segments${topics > 1 ? ` (${topics} topics of ${segments})` : ''}, ${form}, 1,000 × 1 KiB a request`;
    const { load, payload } = postLoad(bench, made, bodies);
    await warmUp(bench, load);
    rows.push(await measure(bench, { names: { kind: 'kelp', case: `f ${form} ${total}`, label }, load, payload }));
  }
  const single = rows.filter(({ case: name }) => name === `f ${form} 1`).map(({ messagesPerSecond }) => messagesPerSecond);
  for (const row of rows) bench.record(withReference(row, { what: 'one segment', unit: 'messages' }, single));
}

type Posting = {
  readonly load: PostLoad;
  readonly payload: (result: { readonly requests: number }) => { messages: number; bytes: number };
};

export function postLoad({ stack, seconds }: Bench, topics: readonly Topic[], bodies: Bodies): Posting {
  const { files, contentType, messages, valueBytes } = bodies;
  const targets = topics.map(({ messagesUrl }) => messagesUrl);
  return {
    load: { mode: 'post', token: stack.token, targets, contentType, bodies: files, clients: CLIENTS, seconds },
    payload: ({ requests }) => ({ messages: requests * messages, bytes: requests * valueBytes }),
  };
}

type Case = Posting & { readonly case: string; readonly label: string };

/** Raw PUTs, Kelp, raw PUTs: what the machine does to one in between, it does to the other. */
async function besideRaw(bench: Bench, best: Shape, { load, payload, ...names }: Case): Promise<void> {
  await warmUp(bench, load);
  const before = await putBeside(bench, best);
  const row = await measure(bench, { names: { kind: 'kelp', ...names }, load, payload });
  const after = await putBeside(bench, best);
  const raw = [before.mebibytesPerSecond, after.mebibytesPerSecond];
  bench.record(withReference(row, { what: `raw PUT ${describeShape(best)}`, unit: 'MiB' }, raw));
}
