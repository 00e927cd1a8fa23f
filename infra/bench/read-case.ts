import type { ReadLoad, Share } from './load.ts';
import { type Bench, type Measurement, measure } from './measure.ts';
import { VALUE_BYTES } from './payloads.ts';
import { describeShape, objectsOf, recorded, type Shape } from './raw.ts';
import { type Row, withReference } from './row.ts';
import type { Topic } from './topic.ts';

export const READERS = [1, 4, 8];
export const BATCHES = 'application/vnd.kelp.batch';
export const JSON_TYPE = 'application/json';

/** (e) Reads all of a topic, by one reader and by several, beside raw GETs of as many bytes in objects of the best size. */
export async function readCatchUp(bench: Bench, topic: Topic, best: Shape): Promise<void> {
  const messages = (await topic.segments()).reduce((sum, { tail }) => sum + tail, 0);
  const objects = await objectsOf(bench, best, messages * VALUE_BYTES);
  const before = await recorded(bench, 'beside', objects);
  const rows: Row[] = [];
  for (const readers of READERS) rows.push(await read(bench, topic, { readers, accept: BATCHES, label: 'record batches' }));
  const json = await read(bench, topic, { readers: READERS.at(-1) ?? 1, accept: JSON_TYPE, label: 'JSON' });
  const after = await recorded(bench, 'beside', objects);
  const raw = [before.mebibytesPerSecond, after.mebibytesPerSecond];
  for (const row of [...rows, json]) bench.record(withReference(row, { what: `raw GET ${describeShape(best)}`, unit: 'MiB' }, raw));
}

type Reading = { readonly readers: number; readonly accept: string; readonly label: string };

function read(bench: Bench, topic: Topic, { readers, accept, label }: Reading): Promise<Row> {
  const names = { kind: 'kelp', case: accept === JSON_TYPE ? 'e json' : 'e', label: `catch-up as ${label}, ${readers} readers` } as const;
  return readAll(bench, topic, { names, readers, accept, valueBytes: VALUE_BYTES });
}

export type AllRead = {
  readonly names: Measurement['names'];
  readonly readers: number;
  readonly accept: string;
  /** Of a message. */
  readonly valueBytes: number;
};

/** All messages of a topic, each once. */
export async function readAll(bench: Bench, topic: Topic, { names, readers, accept, valueBytes }: AllRead): Promise<Row> {
  const { shares, messages } = await sharesOf(topic, readers);
  const load: ReadLoad = { mode: 'read', token: bench.stack.token, accept, shares, clients: readers };
  return await measure(bench, { names, load, payload: () => ({ messages, bytes: messages * valueBytes }) });
}

/** Each segment in as many parts as there are readers. */
export async function sharesOf(topic: Topic, readers: number): Promise<{ shares: Share[]; messages: number }> {
  const segments = await topic.segments();
  const shares = segments.flatMap(({ segment, tail }) => {
    const url = `${topic.url}/segments/${segment}/messages`;
    const at = (part: number): number => Math.floor((tail * part) / readers);
    return Array.from({ length: readers }, (_, part) => ({ url, from: at(part), to: at(part + 1) }));
  });
  return { shares: shares.filter(({ from, to }) => from < to), messages: segments.reduce((sum, { tail }) => sum + tail, 0) };
}
