import { setTimeout as sleep } from 'node:timers/promises';
import { countUploadsChecked } from '../demo/operations.ts';
import { createKelpClient } from '../demo/kelp-client.ts';
import type { LoadResult, ReadLoad, SubmitLoad, UploadPayload } from './load.ts';
import { type Bench, measure, warmUp } from './measure.ts';
import { groupCpuSeconds } from './process-usage.ts';
import { describeShape, objectsOf, putLoad, recorded, type Shape } from './raw.ts';
import { sharesOf } from './read-case.ts';
import { VALUE_BYTES } from './payloads.ts';
import { type Row, withReference } from './row.ts';
import { createTopic, type Topic } from './topic.ts';
import { batchUploads, valueUpload } from './uploads.ts';

const MEBIBYTE = 1_048_576;
const GIBIBYTE_MEBIBYTES = 1_024;
const UPLOAD_BATCHES = 16;
const CLIENTS = 4;
const READERS = [1, 4, 8];
const REFERENCES = 'application/vnd.kelp.references+json';
const CHECK_POLL_MS = 200;
/** Longer than a look at one upload takes, at the pace that it has. */
const CHECK_QUIET_MS = 4_000;

/** (q) Batches that clients put into the store themselves, beside raw PUTs of as large objects; answers the topic, for (s) to read. */
export async function publishUploads(bench: Bench): Promise<Topic> {
  const topic = await createTopic(bench, 'bench-q', 1);
  const [segment] = await topic.segments();
  if (segment === undefined) throw new RangeError('a topic has a segment');
  const { payloads, messages } = await batchUploads(bench.dir, segment, UPLOAD_BATCHES);
  const submitting = { ...submitLoad(bench, topic, payloads), clients: CLIENTS, seconds: bench.seconds };
  const label = `uploads of ${UPLOAD_BATCHES} record batches, ${describeBytes(payloads)} each, ${CLIENTS} clients`;
  await warmUp(bench, submitting);
  const shape = { bytes: payloads[0]?.bytes ?? 0, clients: CLIENTS };
  await submitBeside(bench, shape, { case: 'q', label, load: submitting, messages });
  return topic;
}

/** (r) Large values by reference, beside raw PUTs of as large objects. */
export async function publishLargeValues(bench: Bench): Promise<void> {
  const topic = await createTopic(bench, 'bench-r', 1);
  const values = [
    { name: 'r 16 MiB', mebibytes: 16, clients: CLIENTS, bound: { seconds: bench.seconds } },
    { name: 'r 1 GiB', mebibytes: GIBIBYTE_MEBIBYTES, clients: 1, bound: { count: 2 } },
  ];
  for (const { name, mebibytes, clients, bound } of values) {
    const load = { ...submitLoad(bench, topic, [valueUpload(bench.dir, mebibytes)]), clients, ...bound };
    const label = `values of ${mebibytes} MiB by reference, ${clients} clients`;
    await submitBeside(bench, { bytes: mebibytes * MEBIBYTE, clients }, { case: name, label, load, messages: 1 });
  }
}

type Submitting = { readonly case: string; readonly label: string; readonly load: SubmitLoad; readonly messages: number };

/**
 * Raw PUTs, Kelp, raw PUTs. What was uploaded is looked at before the last ones begin: they would be slower for it, and Kelp faster.
 * The broker's peak beside is what it has while it does nothing.
 */
async function submitBeside(bench: Bench, shape: Shape, { load, messages, ...names }: Submitting): Promise<void> {
  const { seconds, count } = load;
  const raw = (): Promise<Row> => {
    const bound = count === undefined ? { seconds: (seconds ?? bench.seconds) / 2 } : { count };
    return recorded(bench, 'beside', { ...putLoad(bench, shape), ...bound });
  };
  await settled(bench);
  const before = await raw();
  const payload = ({ requests, bytes }: LoadResult) => ({ messages: requests * messages, bytes });
  const row = await measure(bench, { names: { kind: 'kelp', ...names }, load, payload });
  const brokerBefore = brokerSeconds(bench);
  await settled(bench);
  const behind = brokerBefore === undefined ? {} : { brokerBehindSeconds: (brokerSeconds(bench) ?? 0) - brokerBefore };
  const after = await raw();
  if (count === undefined) await recorded(bench, 'raw', { ...putLoad(bench, shape), seconds: bench.seconds / 2, checksum: true });
  const beside = [before.mebibytesPerSecond, after.mebibytesPerSecond];
  const idle = before.brokerPeakBytes;
  const more = idle === undefined || row.brokerPeakBytes === undefined ? {} : { brokerMoreBytes: row.brokerPeakBytes - idle };
  bench.record({ ...withReference(row, { what: `raw PUT ${describeShape(shape)}`, unit: 'MiB' }, beside), ...more, ...behind });
}

const brokerSeconds = ({ stack: { children } }: Bench): number | undefined => groupCpuSeconds(children.broker.pid);

/** The broker looks at no upload any more: for a while, their number has been the same. */
async function settled({ stack: { url, token }, say, signal }: Bench): Promise<void> {
  const client = createKelpClient({ url, token, topic: 'none', signal });
  let checked = -1;
  for (let quietMs = 0; quietMs < CHECK_QUIET_MS; quietMs += CHECK_POLL_MS) {
    const now = countUploadsChecked(await client.metrics());
    if (now !== checked) {
      if (checked !== -1) say(`waiting for checks: ${now} so far`);
      checked = now;
      quietMs = 0;
    }
    await sleep(CHECK_POLL_MS, undefined, { signal });
  }
}

/** (s) Reads all of a topic from the store itself, beside raw GETs of as many bytes in objects of the best size. */
export async function readReferences(bench: Bench, topic: Topic, { name, label, best }: Referenced): Promise<void> {
  const { messages } = await sharesOf(topic, 1);
  await settled(bench);
  const objects = await objectsOf(bench, best, messages * VALUE_BYTES);
  const before = await recorded(bench, 'beside', objects);
  const rows: Row[] = [];
  for (const readers of READERS) {
    const { shares } = await sharesOf(topic, readers);
    const load: ReadLoad = { mode: 'read', token: bench.stack.token, accept: REFERENCES, shares, clients: readers };
    const names = { kind: 'kelp', case: name, label: `by reference, ${label}, ${readers} readers` } as const;
    rows.push(await measure(bench, { names, load, payload: ({ bytes }) => ({ messages, bytes }) }));
  }
  const after = await recorded(bench, 'beside', objects);
  const raw = [before.mebibytesPerSecond, after.mebibytesPerSecond];
  for (const row of rows) bench.record(withReference(row, { what: `raw GET ${describeShape(best)}`, unit: 'MiB' }, raw));
}

type Referenced = { readonly name: string; readonly label: string; readonly best: Shape };

const describeBytes = (payloads: readonly UploadPayload[]): string => `${((payloads[0]?.bytes ?? 0) / MEBIBYTE).toFixed(1)} MiB`;

const submitLoad = ({ stack }: Bench, topic: Topic, payloads: readonly UploadPayload[]): Omit<SubmitLoad, 'clients'> => ({
  mode: 'submit',
  token: stack.token,
  targets: [topic.url],
  payloads,
});
