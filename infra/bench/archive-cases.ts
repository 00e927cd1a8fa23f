import { type ArchiveStack, startArchiveStack } from './archive-stack.ts';
import type { PostLoad, ReadLoad } from './load.ts';
import { type Bench, measure } from './measure.ts';
import { ndjsonGzSize } from './ndjson-size.ts';
import { type Bodies, flightsBatches, randomBatches, tinyBatches } from './payloads.ts';
import { postLoad } from './publish-cases.ts';
import { BATCHES, JSON_TYPE, readAll, READERS, sharesOf } from './read-case.ts';
import { type Row, withReference } from './row.ts';
import { createTopic, type Segment, type Topic } from './topic.ts';

const MEBIBYTE = 1_048_576;
/** Of a topic's messages, one of which is read before figures count. */
const WARM_UP_PARTS = 8;

/** What is published and archived. `name`: of its row; `mebibytes`: of values. */
type Kind = {
  readonly name: string;
  readonly label: string;
  readonly mebibytes: number;
  readonly bodies: (dir: string, segments: readonly Segment[]) => Promise<Bodies>;
};
type Published = { readonly topic: Topic; readonly bodies: Bodies; readonly messages: number; readonly batchBytes: number };

const random = (dir: string, segments: readonly Segment[]): Promise<Bodies> => randomBatches(dir, segments, 'zstd');
const RANDOM: Kind = { name: 't', label: '1 KiB of random bytes', mebibytes: 512, bodies: random };
const FLIGHTS: Kind = { name: 't flights', label: 'flights', mebibytes: 256, bodies: flightsBatches };
const LARGE: Kind = { ...RANDOM, name: 't 2 GiB', mebibytes: 2_048 };
const TINY: Kind = { name: 't tiny', label: '16 random bytes', mebibytes: 32, bodies: tinyBatches };
/** Those that are read as well, by the names of their rows then. */
const READ = [
  { kind: RANDOM, name: 'u' },
  { kind: FLIGHTS, name: 'u flights' },
];

/** A stack, and what of {@link READ} is in files there. */
export type Archived = { readonly stack: ArchiveStack; readonly topics: Map<Kind, Published> };

export const startArchived = async (bench: Bench): Promise<Archived> => ({ stack: await startArchiveStack(bench), topics: new Map() });

/** (t) Archiving, by a process of its own: each kind of messages alone, one segment, all that there is. */
export async function measureArchive(archived: Archived): Promise<void> {
  for (const kind of [RANDOM, FLIGHTS, LARGE, TINY]) archived.stack.bench.record(await archive(archived, kind));
}

/** (u) All of a topic is read from files, and before and after that as much from batch objects, in turn for each number of readers. */
export async function readArchived(archived: Archived): Promise<void> {
  for (const { kind } of READ) if (!archived.topics.has(kind)) await archive(archived, kind);
  await archived.stack.sweep();
  const left: [Kind, Published][] = [];
  for (const { kind } of READ) left.push([kind, await publish(archived.stack.bench, kind, `${topicName(kind)}-batches`)]);
  const batches = new Map(left);
  const { bench } = await archived.stack.restarted();
  for (const { kind, name } of READ) {
    const [inFiles, inBatches] = [archived.topics.get(kind), batches.get(kind)];
    if (inFiles === undefined || inBatches === undefined) throw new RangeError('both were published');
    for (const accept of [BATCHES, JSON_TYPE]) {
      for (const { topic } of [inBatches, inFiles]) await readSome(bench, topic, accept);
      for (const readers of READERS) await readBoth(bench, { name, label: kind.label, inFiles, inBatches, accept, readers });
    }
  }
}

const topicName = ({ name }: Kind): string => `bench-${name.replaceAll(' ', '-').toLowerCase()}`;

async function archive({ stack, topics }: Archived, kind: Kind): Promise<Row> {
  const { bench, archiver } = stack;
  const published = await publish(bench, kind, topicName(kind));
  const { topic, messages, batchBytes, bodies } = published;
  const ndjsonGz = await ndjsonGzSize(bench, topic);
  const bytes = (messages / bodies.messages) * (bodies.valueBytes + bodies.keyBytes);
  const names = { kind: 'kelp', case: kind.name, label: `archiving ${kind.mebibytes} MiB, messages of ${kind.label}` } as const;
  const row = await measure(bench, { names, ...archiver, payload: () => ({ messages, bytes }) });
  const files = await topic.files();
  const rows = files.reduce((sum, file) => sum + file.rows, 0);
  if (rows !== messages) throw new RangeError(`${rows} of ${messages} messages are in files`);
  topics.set(kind, published);
  const fileBytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { ...row, files: { count: files.length, bytes: fileBytes, batchBytes, ndjsonGzBytes: ndjsonGz * messages } };
}

async function publish(bench: Bench, { label, mebibytes, bodies: make }: Kind, name: string): Promise<Published> {
  const topic = await createTopic(bench, name, 1);
  const bodies = await make(bench.dir, await topic.segments());
  const { seconds: _, ...posting } = postLoad(bench, [topic], bodies).load;
  const load: PostLoad = { ...posting, count: Math.ceil((mebibytes * MEBIBYTE) / bodies.valueBytes) };
  bench.say(`publishing ${mebibytes} MiB, messages of ${label}`);
  const { requests, errors, firstError, bytes } = await bench.loader.run(load, bench.signal);
  if (errors > 0) throw new RangeError(`${errors} requests failed: ${firstError}`);
  // Batches are stored as they are sent.
  return { topic, bodies, messages: requests * bodies.messages, batchBytes: bytes };
}

/** Code is compiled then. */
async function readSome(bench: Bench, topic: Topic, accept: string): Promise<void> {
  const { shares } = await sharesOf(topic, WARM_UP_PARTS);
  const load: ReadLoad = { mode: 'read', token: bench.stack.token, accept, shares: shares.slice(0, 1), clients: 1 };
  bench.say('warming up');
  await bench.loader.run(load, bench.signal);
}

type Both = {
  readonly name: string;
  readonly label: string;
  readonly inFiles: Published;
  readonly inBatches: Published;
  readonly accept: string;
  readonly readers: number;
};

async function readBoth(bench: Bench, { name, label, inFiles, inBatches, accept, readers }: Both): Promise<void> {
  const form = accept === BATCHES ? 'record batches' : 'JSON';
  const valueBytes = inFiles.bodies.valueBytes / inFiles.bodies.messages;
  const read = (kind: 'kelp' | 'beside', from: string, { topic }: Published): Promise<Row> => {
    const names = { kind, case: accept === BATCHES ? name : `${name} json`, label: `${label} from ${from} as ${form}, ${readers} readers` };
    return readAll(bench, topic, { names, readers, accept, valueBytes });
  };
  const before = await read('beside', 'batch objects', inBatches);
  const row = await read('kelp', 'files', inFiles);
  const after = await read('beside', 'batch objects', inBatches);
  bench.record(before);
  bench.record(withReference(row, { what: 'batch objects', unit: 'MiB' }, [before.mebibytesPerSecond, after.mebibytesPerSecond]));
  bench.record(after);
}
