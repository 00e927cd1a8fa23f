import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { KelpError } from '../../src/model/errors.ts';

export type Credentials = { readonly endpoint: string; readonly region: string; readonly accessKey: string; readonly secretKey: string };
export type StoreAddress = Credentials & { readonly bucket: string };
export type TableAddress = Credentials & { readonly table: string };

/** How a load runs: `clients` at a time for `seconds`; with `perSecond`, at that rate, and latencies count from when a request was due. */
type Pace = { readonly clients: number; readonly seconds: number; readonly perSecond?: number };

/** Stores objects of `bytes` random bytes under `prefix`, for `seconds`, or `count` of them; with `checksum` the same ones, and their SHA-256. */
export type PutLoad = Partial<Pace> & {
  readonly mode: 'put';
  readonly clients: number;
  readonly store: StoreAddress;
  readonly prefix: string;
  readonly bytes: number;
  readonly count?: number;
  readonly checksum?: true;
};
/** Reads the first `count` objects of a put load: each once, or for `seconds`, in turn. */
export type GetLoad = Omit<PutLoad, 'mode' | 'perSecond'> & { readonly mode: 'get'; readonly count: number };
/** Updates the item (`bench`, `head`) on a condition that holds. */
export type UpdateLoad = Pace & { readonly mode: 'update'; readonly table: TableAddress };
/** Publishes the files `bodies` in turn, `count` of them or for `seconds`. Each client has one of `targets`; `keyed`: each request another `?key=`. */
export type PostLoad = Partial<Pace> & {
  readonly mode: 'post';
  readonly clients: number;
  readonly count?: number;
  readonly token: string;
  readonly targets: readonly string[];
  readonly contentType: string;
  readonly bodies: readonly string[];
  readonly keyed?: boolean;
};
export type Share = { /** Of a segment's messages. */ readonly url: string; readonly from: number; readonly to: number };
/** Reads all shares to their ends, `clients` at a time. */
export type ReadLoad = {
  readonly mode: 'read';
  readonly token: string;
  readonly accept: string;
  readonly shares: readonly Share[];
  readonly clients: number;
};
/** A file, so many times one after the other, and another one with what publishes it: an id's place is marked there. */
export type UploadPayload = {
  readonly file: string;
  readonly repeat: number;
  readonly bytes: number;
  readonly sha256: string;
  readonly envelope: string;
};
/** Uploads the payloads in turn, each to the store itself, and publishes its id to the topic at the target. */
export type SubmitLoad = Partial<Pace> & {
  readonly mode: 'submit';
  readonly clients: number;
  readonly token: string;
  readonly targets: readonly [string];
  readonly payloads: readonly UploadPayload[];
  readonly count?: number;
};
/** Publishes single messages of `bytes` while a reader waits for them on the stream of events at `stream`. */
export type LatencyLoad = Required<Pace> & {
  readonly mode: 'latency';
  readonly token: string;
  readonly targets: readonly [string];
  readonly stream: string;
  readonly contentType: 'text/plain';
  readonly bytes: number;
  readonly keyed: true;
};
/** What clients do. */
export type ClientLoad = PutLoad | GetLoad | UpdateLoad | PostLoad | ReadLoad | SubmitLoad | LatencyLoad;
/** Archives all that there is, as a function with this environment that is invoked again and again. */
export type ArchiveLoad = { readonly mode: 'archive'; readonly environment: Readonly<Record<string, string>> };
export type Load = ClientLoad | ArchiveLoad;

const LoadResult = z.object({
  requests: z.int().min(1),
  errors: z.int(),
  firstError: z.string().optional(),
  /** Sent or received, bodies only. */
  bytes: z.int(),
  seconds: z.number().positive(),
  p50Ms: z.number(),
  p99Ms: z.number(),
  cpuSeconds: z.number(),
  /** Of resident memory, where it is told. */
  peakBytes: z.int().optional(),
  endToEndP50Ms: z.number().optional(),
  endToEndP99Ms: z.number().optional(),
});
export type LoadResult = z.infer<typeof LoadResult>;

/** A program that runs loads. `lean` is Kelp's own client in a Node process, `archiver` Kelp's archiver in another one. */
export type Loader = { readonly name: 'native' | 'lean' | 'archiver'; run(load: Load, signal: AbortSignal): Promise<LoadResult> };

/** A load that lasts longer hangs. */
const LOAD_MS_MAX = 900_000;

/** Each load is a process of its own: the description on its standard input, the result on its standard output. */
export function createLoader(name: Loader['name'], file: string, args: readonly string[]): Loader {
  return {
    name,
    async run(load, signal) {
      const bounds = AbortSignal.any([signal, AbortSignal.timeout(LOAD_MS_MAX)]);
      const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'], signal: bounds });
      const [output, problem, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close') as Promise<[number | null]>,
        // A child that has ended early says why on its standard error.
        new Promise((resolve) => child.stdin.on('error', resolve).end(JSON.stringify(load), () => resolve(undefined))),
      ]);
      if (code === 0) return LoadResult.parse(JSON.parse(output));
      throw new KelpError('unavailable', 'load-failed', `${name} ${load.mode} failed: ${problem.trim()}`);
    },
  };
}
