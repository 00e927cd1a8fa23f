import type { GetLoad, PutLoad } from './load.ts';
import { type Bench, measure, rawPayload } from './measure.ts';
import type { Row } from './row.ts';

const KIBIBYTE = 1_024;
const SIZES = [64, 256, 1_024, 4_096].map((kibibytes) => kibibytes * KIBIBYTE);
const CLIENTS = [1, 4, 8];
/** Part of a load's time that each combination gets. */
const SWEEP_PART = 1 / 6;
const SWEEP_SECONDS_MIN = 0.5;
const FINALISTS = 3;
const LEAN_READ_BYTES = 268_435_456;

export type Shape = { readonly bytes: number; readonly clients: number };
/** The shapes that moved most bytes a second. */
export type Best = { readonly put: Shape; readonly get: Shape };

let prefixes = 0;

/** Tries all sizes and numbers of clients for a moment each, and records them. */
export async function findBest(bench: Bench): Promise<Best> {
  const shapes = SIZES.flatMap((bytes) => CLIENTS.map((clients) => ({ bytes, clients })));
  const counts = new Map<string, number>();
  const loads = shapes.map((shape) => putLoad(bench, shape));
  const put = await fastestOf(loads, async (load, seconds) => {
    // Under a prefix of its own again: an object is never overwritten.
    const fresh = counts.has(load.prefix) ? putLoad(bench, load) : load;
    const row = await recorded(bench, 'sweep', { ...fresh, seconds });
    counts.set(fresh.prefix, row.requests);
    return row;
  });
  const reads = loads.map((load) => getLoad(load, counts.get(load.prefix) ?? 0));
  const get = await fastestOf(reads, (load, seconds) => recorded(bench, 'sweep', { ...load, seconds }));
  return { put, get };

  /** The fastest few get more time, so that luck doesn't choose: a reference that is too slow would flatter Kelp. */
  async function fastestOf<L extends Shape>(all: readonly L[], measureFor: (load: L, seconds: number) => Promise<Row>): Promise<Shape> {
    const first = await ranked(all, (load) => measureFor(load, Math.max(SWEEP_SECONDS_MIN, bench.seconds * SWEEP_PART)));
    const [best] = await ranked(first.slice(0, FINALISTS), (load) => measureFor(load, bench.seconds / 2));
    if (best === undefined) throw new RangeError('nothing was measured');
    return { bytes: best.bytes, clients: best.clients };
  }
}

/** The fastest first. */
async function ranked<L>(all: readonly L[], run: (load: L) => Promise<Row>): Promise<L[]> {
  const measured: { load: L; row: Row }[] = [];
  for (const load of all) measured.push({ load, row: await run(load) });
  return measured.toSorted((a, b) => b.row.mebibytesPerSecond - a.row.mebibytesPerSecond).map(({ load }) => load);
}

/** Raw PUTs of the best size, for half of a load's time: what a case is held against, before and after it. */
export function putBeside(bench: Bench, shape: Shape): Promise<Row> {
  return recorded(bench, 'beside', { ...putLoad(bench, shape), seconds: bench.seconds / 2 });
}

/** Kelp's own client at the best shapes, to see what the native one gains. */
export async function measureLean(bench: Bench, { put, get }: Best): Promise<void> {
  if (bench.lean === bench.loader) return;
  const load = { ...putLoad(bench, put), seconds: bench.seconds / 2 };
  await recorded(bench, 'raw', load, bench.lean);
  await recorded(bench, 'raw', await objectsOf(bench, get, LEAN_READ_BYTES), bench.lean);
}

/** Stores so many bytes in objects of one size; answers the load that reads them. */
export async function objectsOf(bench: Bench, shape: Shape, bytes: number): Promise<GetLoad> {
  const count = Math.max(shape.clients, Math.ceil(bytes / shape.bytes));
  const load = { ...putLoad(bench, { ...shape, clients: Math.max(...CLIENTS) }), count };
  bench.say(`raw: storing ${count} objects of ${describeBytes(shape.bytes)} to read`);
  await bench.loader.run(load, bench.signal);
  return { ...getLoad(load, count), clients: shape.clients };
}

type Why = Exclude<Row['kind'], 'kelp'>;

export async function recorded(bench: Bench, why: Why, load: PutLoad | GetLoad, loader = bench.loader): Promise<Row> {
  const checksum = load.mode === 'put' && load.checksum === true ? ' with SHA-256' : '';
  const names = { kind: why, case: `raw ${load.mode}`, label: `${describeShape(load)}${checksum}` } as const;
  const row = await measure(bench, { names, load, payload: rawPayload, loader });
  bench.record(row);
  return row;
}

export function describeShape({ bytes, clients }: Shape): string {
  return `${describeBytes(bytes)} × ${clients} clients`;
}

function describeBytes(bytes: number): string {
  const kibibytes = bytes / KIBIBYTE;
  return kibibytes < KIBIBYTE ? `${kibibytes} KiB` : `${Number((kibibytes / KIBIBYTE).toFixed(1))} MiB`;
}

/** Under a prefix of its own: an object is never overwritten. */
export function putLoad({ stack: { store } }: Bench, { bytes, clients }: Shape): PutLoad {
  prefixes += 1;
  return { mode: 'put', store, prefix: `raw/${String(prefixes).padStart(6, '0')}`, bytes, clients };
}

function getLoad({ store, prefix, bytes, clients }: PutLoad, count: number): GetLoad {
  return { mode: 'get', store, prefix, bytes, clients, count };
}
