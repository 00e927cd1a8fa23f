import { countOperations, type Operations } from '../demo/operations.ts';
import { createKelpClient } from '../demo/kelp-client.ts';
import type { LatencyLoad, Load, Loader, LoadResult, PostLoad, SubmitLoad } from './load.ts';
import { groupCpuSeconds, peakMemoryBytes, resetPeakMemory } from './process-usage.ts';
import { type Costs, type Payload, type Row, type RowNames, toRow } from './row.ts';
import type { BenchStack } from './stack.ts';

/** What every case works with. */
export type Bench = {
  readonly stack: BenchStack;
  /** Makes the load: the native one where it could be built. */
  readonly loader: Loader;
  /** Kelp's own client. */
  readonly lean: Loader;
  readonly seconds: number;
  /** Of the function that is flooded. */
  readonly instances: number;
  /** For request bodies. */
  readonly dir: string;
  readonly say: (line: string) => void;
  /** Keeps a row, in the order in which they are measured. */
  readonly record: (row: Row) => void;
  /** Keeps what is no row of the table, for whoever wants to look closer. */
  readonly note: (line: object) => void;
  readonly signal: AbortSignal;
};

export type Measurement = {
  readonly names: Omit<RowNames, 'client'>;
  readonly load: Load;
  readonly payload: (result: LoadResult) => Payload;
  /** Instead of the bench's own. */
  readonly loader?: Loader;
};

/** Runs the load and counts what it costs each process. The row isn't recorded. */
export async function measure(bench: Bench, { names, load, payload, loader = bench.loader }: Measurement): Promise<Row> {
  const { stack, signal } = bench;
  bench.say(`${names.case}: ${names.label}`);
  const operationsBefore = await readOperations(bench);
  resetPeakMemory(stack.children.broker.pid);
  const cpuBefore = cpuSeconds(stack);
  const result = await loader.run(load, signal);
  const costs = { ...costsSince(stack, cpuBefore), operations: difference(await readOperations(bench), operationsBefore) };
  return toRow({ names: { ...names, client: loader.name }, result, payload: payload(result), costs });
}

/** Runs a load whose result nobody wants: code is compiled, connections and caches are warm. */
export async function warmUp({ loader, say, signal }: Bench, load: PostLoad | LatencyLoad | SubmitLoad): Promise<void> {
  say('warming up');
  await loader.run({ ...load, seconds: 1 }, signal);
}

/** Of raw loads: each request is one object or update. */
export function rawPayload({ requests, bytes }: LoadResult): Payload {
  return { messages: requests, bytes };
}

type Cpu = Costs['cpuSeconds'];

function cpuSeconds({ children }: BenchStack): Cpu {
  const entries = Object.entries(children).map(([name, child]) => [name, groupCpuSeconds(child.pid)] as const);
  return Object.fromEntries(entries.filter(([, seconds]) => seconds !== undefined));
}

function costsSince(stack: BenchStack, before: Cpu): Costs {
  const now = cpuSeconds(stack);
  const spent = Object.entries(now).map(([name, seconds]) => [name, seconds - (before[name as keyof Cpu] ?? 0)]);
  const peak = peakMemoryBytes(stack.children.broker.pid);
  return { cpuSeconds: Object.fromEntries(spent) as Cpu, ...(peak === undefined ? {} : { brokerPeakBytes: peak }) };
}

async function readOperations({ stack: { url, token }, signal }: Bench): Promise<Operations> {
  return countOperations(await createKelpClient({ url, token, topic: 'none', signal }).metrics());
}

function difference(now: Operations, before: Operations): Operations {
  return { puts: now.puts - before.puts, tableOperations: now.tableOperations - before.tableOperations };
}
