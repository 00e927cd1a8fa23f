import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { StoreAddress } from '../../stack.ts';

const SCRIPT = join(import.meta.dirname, 'read-live.py');

export const READERS = ['duckdb', 'pyarrow', 'polars'] as const;
export type ReaderName = (typeof READERS)[number];

/** Files of a topic: those in its folder by then, or some of them. Without the bucket. `newest`: one that has all columns. */
export type Where = { readonly folder: string; readonly newest: string; readonly files?: readonly string[] };
/** Messages, and sums of `value_delay` and `value_distance`. */
export type Sums = readonly [count: number, delay: number | null, distance: number | null];
export type FoundFlights = {
  /** By the date of `kelp_timestamp`, in UTC. */
  readonly byDate: Readonly<Record<string, Sums>>;
  readonly onDate: Sums;
  readonly ofKey: Sums;
  readonly ofOrigin: Sums;
  readonly byCommit: Readonly<Record<string, number>>;
  readonly places: readonly (readonly [segment: string, offset: number, row: number])[];
};
/** `hour`: of midnight in UTC, by the reader's clock. Times are milliseconds, bytes hexadecimal digits. */
export type FoundRows = {
  readonly hour: number;
  readonly columns: Readonly<Record<string, string>>;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
};

export type LiveReader = {
  /** Of the demo's flights. `date`: the one that `onDate` is of; the key that `ofKey` is of is SEA. */
  flights(where: Where & { readonly date: string }): Promise<FoundFlights>;
  /** By segment and offset. */
  all(where: Where): Promise<FoundRows>;
  stop(): void;
};

/** A program that reads files of the bucket, on a machine in Berlin. `modules`: folder of Python modules; `home`: a folder of nobody's. */
export function startReader(name: ReaderName, store: StoreAddress, at: { readonly modules: string; readonly home: string }): LiveReader {
  const env = { ...process.env, PYTHONPATH: at.modules, PYTHONDONTWRITEBYTECODE: '1', TZ: 'Europe/Berlin', HOME: at.home };
  const child = spawn(process.env['PYTHON'] ?? 'python3', [SCRIPT, name, JSON.stringify(store)], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const ask = questionsOf(child, name);
  return {
    flights: (question) => ask({ ask: 'flights', ...question }) as Promise<FoundFlights>,
    all: (question) => ask({ ask: 'all', ...question }) as Promise<FoundRows>,
    stop: () => void child.kill(),
  };
}

/** One question at a time. */
function questionsOf(child: ChildProcess, name: string): (question: object) => Promise<unknown> {
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk));
  const ended = new Promise<never>((_, reject) => child.once('close', () => reject(new Error(`${name} has ended: ${errors}`))));
  // It may end while nobody asks.
  ended.catch(() => undefined);
  const answers = child.stdout === null ? undefined : createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async (question) => {
    child.stdin?.write(`${JSON.stringify(question)}\n`);
    const answer = await Promise.race([answers?.next(), ended]);
    if (answer === undefined || answer.done === true) return ended;
    return JSON.parse(answer.value) as unknown;
  };
}
